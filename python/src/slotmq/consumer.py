"""Consuming: deliveries, which are answered once, and consumers, which are polled."""
import asyncio
import collections
import warnings
from typing import TYPE_CHECKING, Any, Deque, Dict, Iterable, List, Mapping, Optional

from ._native import ffi, lib
from .calls import Handle, Option, Options, call, data_of, decoded, made
from .errors import AnsweredError, FatalError, error_of
from .records import BACKOFF, headers_of

if TYPE_CHECKING:
    from .client import Client

POLLED = 100  # deliveries that a poll of `async for` takes at most
DEFAULT_GAP_MS = 300_000  # max_poll_gap_ms


class Delivery:
    """A claimed message, which the application answers once, from any thread: done(), retry(), reject() or release().

    Until then the library renews its lease.  An answer does not wait for Redis.  It raises LostError or FatalError
    when it came too late: then the message is delivered again, so handlers must be idempotent.  `body`, `key` and
    `id` stay readable; all else can be read until the answer.  A delivery that is dropped without an answer is
    retried, with a ResourceWarning.
    """

    __slots__ = ("body", "key", "id", "_held", "_facts", "_later")

    def __init__(self, handle: Any, info: Any) -> None:
        self._facts = info  # until the answer
        self.body = data_of(info.body)
        self.key = data_of(info.key)
        self.id = data_of(info.id)
        self._held = [handle]
        self._later = False

    @property
    def topic(self) -> str:
        return decoded(self._info().topic)

    @property
    def slot(self) -> int:
        return int(self._info().slot)

    @property
    def attempt(self) -> int:
        """Number of this delivery: 1 is the first.  Deliveries that were released do not count."""
        return int(self._info().attempt)

    @property
    def redelivered(self) -> bool:
        """An earlier delivery was retried, or ended without an answer, as when its process died.  Releases do not
        count."""
        return bool(self._info().redelivered)

    @property
    def retries_left(self) -> int:
        return int(self._info().retries_left)

    @property
    def priority(self) -> int:
        return int(self._info().priority)

    @property
    def due_at_ms(self) -> int:
        """When it was due, in milliseconds since 1970, in topics with times."""
        return int(self._info().due_at_ms)

    @property
    def sent_at_ms(self) -> int:
        """Time of the first send in layout keyed, in milliseconds since 1970."""
        return int(self._info().sent_at_ms)

    @property
    def token(self) -> str:
        """Fencing token of the slot's owner, of which a newer one is larger; "" in a shared topic."""
        return decoded(self._info().token)

    @property
    def headers(self) -> Dict[str, bytes]:
        return headers_of(self._info())

    @property
    def answered(self) -> bool:
        return not self._held

    def done(self) -> None:
        """The message was handled; it is removed."""
        call(lib.smq_done, self._take())

    def retry(self, reason: Optional[str] = None, *, delay_ms: int = BACKOFF) -> None:
        """The attempt failed: deliver the message again after `delay_ms`, by default after the back-off of the
        topic.  Without a retry left it becomes a dead letter.  Of a reason the first 200 bytes are kept."""
        call(lib.smq_retry, self._take(), delay_ms, _reason(reason))

    def reject(self, reason: Optional[str] = None) -> None:
        """The message can never succeed: it becomes a dead letter now."""
        call(lib.smq_reject, self._take(), _reason(reason))

    def release(self, *, delay_ms: int = 0) -> None:
        """Requeue the message as if it was never claimed, claimable after `delay_ms`; this uses no retry."""
        call(lib.smq_release, self._take(), delay_ms)

    def later(self) -> None:
        """In a handler: it will be answered by a call after the handler has returned."""
        self._later = True

    def extend(self, lease_ms: int) -> None:
        """Extend the lease to at least `lease_ms` (1 ms to 1 day) from now, even if this process stalls or ends.
        Blocks: request_timeout_ms.  Raises LostError, FatalError; RetryError (not done), UnknownError."""
        call(lib.smq_extend, self._handle(), lease_ms)

    def check(self) -> None:
        """Raise LostError if another consumer may have the message, FatalError (CLOSED) if the consumer stops.  It
        asks no server."""
        status = lib.smq_delivery_check(self._handle())
        if status != lib.SMQ_OK:
            raise error_of(status)

    def _handle(self) -> Any:
        try:
            return self._held[0]
        except IndexError:
            raise AnsweredError("the delivery was answered before") from None

    def _take(self) -> Any:
        """Of two threads that answer one gets the handle."""
        try:
            return self._held.pop()
        except IndexError:
            raise AnsweredError("the delivery was answered before") from None

    def _info(self) -> Any:
        self._handle()
        return self._facts

    def __del__(self) -> None:
        held = getattr(self, "_held", None)
        if held and lib is not None:
            warnings.warn(f"a delivery with the id {self.id!r} was dropped without an answer; it is retried",
                          ResourceWarning, stacklevel=2)
            lib.smq_retry(held.pop(), BACKOFF, b"dropped without an answer", ffi.NULL)


def _reason(reason: Optional[str]) -> Any:
    return ffi.NULL if reason is None else reason.encode()


def answer_done(deliveries: Iterable[Delivery]) -> None:
    """Answer all with done, in one call.  Raises the error of the first that came too late; the others are stored."""
    handles = [delivery._take() for delivery in deliveries if not delivery.answered]
    call(lib.smq_done_all, ffi.new("smq_delivery *[]", handles), len(handles))


def answer_retry(deliveries: Iterable[Delivery], reason: str) -> None:
    """Answer all with retry after the back-off, in one call.  Raises as answer_done()."""
    handles = [delivery._take() for delivery in deliveries if not delivery.answered]
    answers = ffi.new("smq_answer[]", len(handles))
    text = ffi.new("char[]", reason.encode())
    for answer, handle in zip(answers, handles):
        answer.delivery, answer.verdict, answer.delay_ms, answer.reason = handle, lib.SMQ_RETRY, BACKOFF, text
    call(lib.smq_answer_all, answers, len(handles))


class Consumer(Handle):
    """Consumes a topic by polls.  Made by Client.consumer(); begins to consume at once.

    Poll it from threads, or in asyncio by `async for delivery in consumer`, or wait for fileno() in another loop.
    Thread: any; but `async for` stays in one event loop.
    """

    kind = "consumer"

    def __init__(self, client: "Client", topic: str, options: Mapping[str, Option]) -> None:
        filled = Options("consumer", options, topic=topic)
        self._client = client
        self._gap_ms = int(filled.pointer.max_poll_gap_ms) or DEFAULT_GAP_MS
        self._handle = made(lib.smq_consumer_new, "smq_consumer", client._open(), filled.pointer)
        self._async = _AsyncPolls(self)

    def poll(self, capacity: int = 100, timeout_ms: int = 1000) -> List[Delivery]:
        """Up to `capacity` deliveries; none if none came in time.  A capacity of 0 is a sign of life, by which a
        program that has enough to do keeps its slots.  Blocks: timeout_ms; -1: without an end.
        Raises FatalError: CLOSED (it was stopped and all is answered), or the error that ended the consumer."""
        out, infos = ffi.new("smq_delivery *[]", max(capacity, 1)), ffi.new("smq_message_info *[]", max(capacity, 1))
        count = ffi.new("size_t *")
        call(lib.slotmq_poll, self._open(), out, infos, capacity, count, timeout_ms)
        return [Delivery(out[i], infos[i]) for i in range(count[0])]

    def fileno(self) -> int:
        """A descriptor that is readable while poll() would return deliveries or fail.  Only wait for it."""
        fd = int(lib.smq_consumer_fd(self._open()))
        if fd < 0:
            raise error_of(lib.SMQ_FORKED)
        return fd

    def set_max_in_flight(self, most: int) -> None:
        """Change the limit of unanswered deliveries; 0: claim no more until it is changed again."""
        call(lib.smq_consumer_set_max_in_flight, self._open(), most)

    def flush(self, timeout_ms: int = 10000) -> None:
        """Wait until every answer so far is stored or was refused.  Blocks: timeout_ms.  Raises RetryError:
        TIMED_OUT; LostError: an answer since the last flush came too late; UnknownError."""
        call(lib.smq_consumer_flush, self._open(), timeout_ms)

    def stop(self) -> None:
        """Claim no more.  Answer what was polled, and poll until FatalError (CLOSED), which ends `async for`."""
        lib.smq_consumer_stop(self._open())

    def close(self) -> None:
        """Stop the consumer, store the answers so far, and free it.  What `async for` has polled and not given is
        released; what is not answered is delivered again.  Blocks: request_timeout_ms."""
        handle, self._handle = self._handle, None
        if handle:
            self._async.close()
            lib.smq_consumer_free(handle)

    def __aiter__(self) -> "Consumer":
        return self

    async def __anext__(self) -> Delivery:
        return await self._async.next()


class _AsyncPolls:
    """What `async for` has polled and not given yet.  Everything here runs on the thread of the loop.  It waits for
    the consumer's descriptor only while a coroutine waits, because that is level-triggered; while none does, a timer
    gives signs of life, so that the slots stay as long as the loop turns."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._ready: Deque[Delivery] = collections.deque()
        self._waiting: List["asyncio.Future[None]"] = []
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._fd = -1

    async def next(self) -> Delivery:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._join(loop)
        while True:
            if not self._ready:
                self._poll()
            if self._ready:
                return self._ready.popleft()
            future: "asyncio.Future[None]" = loop.create_future()
            if not self._waiting:
                loop.add_reader(self._fd, self._wake)
            self._waiting.append(future)
            try:
                await future
            finally:
                self._leave(loop, future)

    def _join(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop and not self._loop.is_closed():
            raise RuntimeError("another event loop consumes with this consumer")
        self._waiting.clear()
        self._fd = self._consumer.fileno()
        self._loop = loop
        self._timer = loop.call_later(self._consumer._gap_ms / 3000, self._live)

    def _poll(self) -> None:
        try:
            self._ready.extend(self._consumer.poll(POLLED, 0))
        except FatalError as error:
            if error.status == lib.SMQ_CLOSED:
                raise StopAsyncIteration from None
            raise

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._stop_reading()

    def _leave(self, loop: asyncio.AbstractEventLoop, future: "asyncio.Future[None]") -> None:
        """Also when the coroutine was cancelled."""
        if future in self._waiting:
            self._waiting.remove(future)
            if not self._waiting:
                loop.remove_reader(self._fd)

    def _stop_reading(self) -> None:
        self._waiting.clear()
        if self._loop and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)

    def _live(self) -> None:
        if self._consumer._handle and self._loop:
            err = ffi.new("smq_error *")
            lib.smq_consumer_poll(self._consumer._handle, ffi.NULL, 0, ffi.new("size_t *"), 0, err)
            self._timer = self._loop.call_later(self._consumer._gap_ms / 3000, self._live)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._waiting:
            self._wake()
        while self._ready:
            lib.smq_release(self._ready.popleft()._take(), 0, ffi.NULL)
