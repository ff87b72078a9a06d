"""Sending: with a wait for Redis, in batches, and from asyncio."""
import asyncio
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Union

from ._native import ffi, lib
from .calls import (Bytes, Handle, Moment, Option, Options, Span, call, decoded, interruptible, made, number_of,
                    span_ms, text_of, user_of, wait_for)
from .errors import Error, error_of
from .records import Message, Receipt, message_struct

if TYPE_CHECKING:
    from .client import Client

POLLED = 256  # receipts that one poll takes


class Producer(Handle):
    """Sends messages to all topics of a client.  Made by Client.producer().

    Thread: any; send_async() belongs to the event loop that uses it first, until all its sends have ended.
    """

    def __init__(self, client: "Client", options: Mapping[str, Option]) -> None:
        filled = Options("producer", {**options, "poll_receipts": True})
        # Only sends of asyncio wait for room, in Python: a wait in C would hold up the loop that takes the receipts.
        filled.pointer.full_timeout_ms = 0
        self._client = client
        self._owned = made(lib.smq_producer_new, "smq_producer", lib.smq_producer_free, client, filled.pointer,
                           keep=filled)
        self._async: Optional[_AsyncSends] = None

    def send(self, topic: str, message: Union[Message, Bytes], *, key: Optional[Bytes] = None,
             id: Optional[Bytes] = None, priority: int = 0, delay_ms: Span = 0, due_at_ms: Moment = 0,
             ttl_ms: Span = 0, max_retries: int = 0, headers: Optional[Mapping[str, Bytes]] = None) -> Receipt:
        """Send one message, a Message or the body of one with its fields, and wait until it is stored.

        A send whose reply was lost is repeated and stored once.  Blocks: send_timeout_ms.  Raises UnknownError: it
        may be stored; RetryError: FULL, UNAVAILABLE; UsageError: NO_TOPIC, DUPLICATE, a field that the topic has
        not.
        """
        struct, keep = message_struct(
            _whole(message, key, id, priority, delay_ms, due_at_ms, ttl_ms, max_retries, headers=headers))
        out = ffi.new("smq_receipt *")
        wait_for(lib.smq_send, self, text_of(topic, "topic"), struct, out, keep=keep)
        return _receipt(out)

    def send_batch(self, topic: str, messages: Iterable[Union[Message, Bytes]]) -> List[Receipt]:
        """Send several messages and wait for all of them.  The batch as a whole is not atomic: a receipt has an
        `error` for each message that failed.  Blocks: send_timeout_ms."""
        wholes = [_whole(message) for message in messages]
        structs = ffi.new("smq_message[]", len(wholes))
        receipts = ffi.new("smq_receipt[]", len(wholes))
        keep = [whole._fill(structs[i]) for i, whole in enumerate(wholes)]
        status, text = lib.SMQ_OK, ""
        try:
            wait_for(lib.smq_send_batch, self, text_of(topic, "topic"), structs, len(wholes), receipts, keep=keep)
        except Error as error:
            status, text = error.status, str(error)
        found = [_receipt(receipts[i], text if receipts[i].status == status else "") for i in range(len(wholes))]
        if status != lib.SMQ_OK and not any(receipt.error for receipt in found):
            raise error_of(status, text)
        return found

    async def send_async(self, topic: str, message: Union[Message, Bytes], *, key: Optional[Bytes] = None,
                         id: Optional[Bytes] = None, priority: int = 0, delay_ms: Span = 0, due_at_ms: Moment = 0,
                         ttl_ms: Span = 0, max_retries: int = 0,
                         headers: Optional[Mapping[str, Bytes]] = None) -> Receipt:
        """As send(), for asyncio: the loop does not wait.  While max_pending or max_pending_bytes is reached the
        coroutine waits for room.  A coroutine that is cancelled does not take the message back."""
        if not self._async:
            self._async = _AsyncSends(self)
        return await self._async.send(
            self, text_of(topic, "topic"),
            _whole(message, key, id, priority, delay_ms, due_at_ms, ttl_ms, max_retries, headers=headers))

    def flush(self, timeout_ms: Span = 10000) -> None:
        """Wait until every send so far has its receipt.  Blocks: timeout_ms.  Raises TimedOut."""
        wait_for(lib.smq_producer_flush, self, span_ms(timeout_ms, "timeout_ms"))

    def close(self) -> None:
        """Free the producer.  Sends of send_async() that have not ended raise UnknownError.  With send_async() call
        it on the thread of the loop."""
        owned = self._taken()
        if owned:
            if self._async:
                self._async.close()
            interruptible(owned.end)

    def _about(self) -> str:
        return f"of {self._client!r}"


def _whole(message: Union[Message, Bytes], *fields: Any, headers: Optional[Mapping[str, Bytes]] = None) -> Message:
    if not isinstance(message, Message):
        return Message(message, *fields, *([] if headers is None else [headers]))
    if any(fields) or headers:
        raise TypeError("the fields of a Message are its own: give it the key, id, headers and so on")
    return message


def _receipt(receipt: Any, text: str = "") -> Receipt:
    error = error_of(receipt.status, text) if receipt.status != lib.SMQ_OK else None
    return Receipt(receipt.slot, receipt.merged, ffi.string(receipt.id), error)


class _AsyncSends:
    """The sends of one producer that have no receipt yet.  Everything here runs on the thread of the loop, which
    waits for the producer's descriptor while there are some."""

    def __init__(self, producer: Producer) -> None:
        self._producer = weakref.ref(producer)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._fd = -1
        self._next = 0
        self._pending: Dict[int, "asyncio.Future[Receipt]"] = {}
        self._room: List["asyncio.Future[None]"] = []
        self._receipts = ffi.new("smq_receipt[]", POLLED)
        self._count = ffi.new("size_t *")
        self._err = ffi.new("smq_error *")

    async def send(self, producer: Producer, topic: bytes, message: Message) -> Receipt:
        loop = asyncio.get_running_loop()
        self._join(loop, producer)
        struct, keep = message_struct(message)
        err = self._err
        self._next += 1
        number = self._next
        while True:
            with producer._open() as handle:
                status = lib.smq_send_async(handle, topic, struct, ffi.NULL, user_of(number), err)
            if status != lib.SMQ_FULL:
                break
            await self._wait_for_room(loop)
        del keep
        if status != lib.SMQ_OK:
            raise error_of(status, decoded(err.text))
        future: "asyncio.Future[Receipt]" = loop.create_future()
        self._pending[number] = future
        return await future

    def _join(self, loop: asyncio.AbstractEventLoop, producer: Producer) -> None:
        if self._loop is loop:
            return
        if self._loop and not self._loop.is_closed():
            if self._pending:
                raise RuntimeError("another event loop still sends with this producer; make one for each loop")
            self._loop.remove_reader(self._fd)
        # Of a loop that was closed nobody waits for the rest.
        self._pending.clear()
        self._room.clear()
        with producer._open() as handle:
            self._fd = lib.smq_producer_fd(handle)
        loop.add_reader(self._fd, self._take)
        self._loop = loop

    async def _wait_for_room(self, loop: asyncio.AbstractEventLoop) -> None:
        future: "asyncio.Future[None]" = loop.create_future()
        self._room.append(future)
        await future

    def _take(self) -> None:
        """The descriptor is readable."""
        room, producer = ffi.new("bool *"), self._producer()
        if not producer:
            return
        try:
            call(lib.smq_producer_poll, producer, self._receipts, POLLED, self._count, room, 0)
        except Error as error:
            self._end(error)
            return
        for i in range(self._count[0]):
            receipt = self._receipts[i]
            future = self._pending.pop(number_of(receipt.user), None)
            if future is None or future.done():
                continue
            if receipt.status != lib.SMQ_OK:
                future.set_exception(error_of(receipt.status, decoded(receipt.text)))
            else:
                future.set_result(_receipt(receipt))
        if self._count[0] or room[0]:
            self._wake()

    def _wake(self) -> None:
        waiting, self._room = self._room, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _end(self, error: Exception) -> None:
        """Nothing more comes."""
        if self._loop and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(error)
            self._wake()
        self._pending.clear()
        self._loop = None

    def close(self) -> None:
        self._end(error_of(lib.SMQ_UNKNOWN, "the producer was closed before the receipt came"))
