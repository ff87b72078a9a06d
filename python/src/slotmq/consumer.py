"""Consuming: deliveries, which are answered once, and consumers, which are polled."""
import asyncio
import collections
import contextlib
import warnings
import weakref
from typing import TYPE_CHECKING, Any, ContextManager, Deque, Dict, Iterable, List, Mapping, Optional

from ._native import ffi, lib
from .calls import (Handle, Option, Options, Span, call, data_of, decoded, interruptible, made, number_in, slices,
                    span_ms, text_of, wait_for)
from .errors import AnsweredError, Closed, Error, error_of
from .records import BACKOFF, headers_of

if TYPE_CHECKING:
    from .client import Client

POLLED = 100  # deliveries that a poll of `async for` takes at most
DEFAULT_GAP_MS = 300_000  # max_poll_gap_ms
DELAY_MAX_MS = 1 << 40  # of an answer


class Delivery:
    """A claimed message, which the application answers once, from any thread: done(), retry(), reject() or release().

    Until then the library renews its lease.  An answer does not wait for Redis.  It raises LostError or FatalError
    when it came too late: then the message is delivered again, so handlers must be idempotent.  `body`, `key` and
    `id` stay readable; all else can be read until the answer.  A delivery that is dropped without an answer is
    retried, with a ResourceWarning.
    """

    __slots__ = ("body", "key", "id", "_polled", "_held", "_facts", "_later")

    def __init__(self, polled: Any, place: int, info: Any) -> None:
        self._facts = info  # until the answer
        self.body = data_of(info.body)
        self.key = data_of(info.key)
        self.id = data_of(info.id)
        self._later = False
        self._polled = polled  # has the delivery until its answer takes it
        self._held = polled.held + place

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
        return not self._held[0]

    def done(self) -> None:
        """The message was handled; it is removed."""
        self._answer(lib.SMQ_DONE)

    def retry(self, reason: Optional[str] = None, *, delay_ms: Span = BACKOFF) -> None:
        """The attempt failed: deliver the message again after `delay_ms`, by default after the back-off of the
        topic.  Without a retry left it becomes a dead letter.  Of a reason the first 200 bytes are kept."""
        self._answer(lib.SMQ_RETRY, reason, delay_ms)

    def reject(self, reason: Optional[str] = None) -> None:
        """The message can never succeed: it becomes a dead letter now."""
        self._answer(lib.SMQ_REJECT, reason)

    def release(self, *, delay_ms: Span = 0) -> None:
        """Requeue the message as if it was never claimed, claimable after `delay_ms`; this uses no retry."""
        self._answer(lib.SMQ_RELEASE, None, delay_ms)

    def later(self) -> None:
        """In a handler: it will be answered by a call after the handler has returned."""
        self._later = True

    def extend(self, lease_ms: Span) -> None:
        """Extend the lease to at least `lease_ms` (1 ms to 1 day) from now, even if this process stalls or ends.
        Blocks: request_timeout_ms.  Raises LostError, FatalError; RetryError (not done), UnknownError."""
        wait_for(lib.smq_extend, self._handle(), span_ms(lease_ms, "lease_ms"), keep=self)

    def check(self) -> None:
        """Raise LostError if another consumer may have the message, Closed if the consumer stops.  It asks no
        server."""
        status = lib.smq_delivery_check(self._handle())
        if status != lib.SMQ_OK:
            raise error_of(status)

    def __repr__(self) -> str:
        return f"<slotmq.Delivery id={self.id!r} key={self.key!r}{' (answered)' if self.answered else ''}>"

    def _answer(self, verdict: int, reason: Optional[str] = None, delay_ms: Span = 0) -> None:
        if not answer_all([self], verdict, reason, delay_ms):
            raise AnsweredError("the delivery was answered before")

    def _handle(self) -> Any:
        handle = self._held[0]
        if not handle:
            raise AnsweredError("the delivery was answered before")
        return handle

    def _info(self) -> Any:
        self._handle()
        return self._facts

    def __del__(self) -> None:
        if not getattr(self, "_held", None) or self.answered:
            return
        try:
            warnings.warn(f"a delivery with the id {self.id!r} was dropped without an answer; it is retried",
                          ResourceWarning, stacklevel=2)
        finally:
            with contextlib.suppress(Error):
                self.retry("dropped without an answer")


def reason_text(reason: str) -> bytes:
    """Also of a text that has no UTF-8: what cannot be encoded is escaped."""
    if isinstance(reason, str):
        reason = reason.replace("\0", "\\0").encode(errors="backslashreplace").decode()
    return text_of(reason, "the reason")


def delay_of(delay_ms: Span, least: int) -> int:
    """Milliseconds."""
    found = span_ms(delay_ms, "delay_ms")
    if not least <= found <= DELAY_MAX_MS:
        raise ValueError(f"delay_ms is {found}, not within 0 .. {DELAY_MAX_MS}")
    return found


def answer_all(deliveries: Iterable[Delivery], verdict: int, reason: Optional[str] = None, delay_ms: Span = 0) -> int:
    """Give one answer to all that have none, and return how many these are.  What is given is checked before any is
    answered; the call of C takes them and answers at once."""
    given = list(deliveries)
    answer = ffi.new("smq_answer *")
    answer.verdict = verdict
    answer.delay_ms = delay_of(delay_ms, BACKOFF if verdict == lib.SMQ_RETRY else 0)
    if reason is not None:
        text = ffi.new("char[]", reason_text(reason))
        answer.reason = text
    held, count = ffi.new("smq_delivery **[]", [delivery._held for delivery in given]), ffi.new("size_t *")
    call(lib.slotmq_answer, held, len(given), answer, count)
    return int(count[0])


def answer_done(deliveries: Iterable[Delivery]) -> None:
    """Answer all with done, in one call.  Raises the error of the first that came too late; the others are stored."""
    answer_all(deliveries, lib.SMQ_DONE)


def answer_retry(deliveries: Iterable[Delivery], reason: str) -> None:
    """Answer all with retry after the back-off, in one call.  Raises as answer_done()."""
    answer_all(deliveries, lib.SMQ_RETRY, reason, BACKOFF)


class Limit(Handle):
    """How many deliveries several consumers of a client may have unanswered together.  Made by Client.limit().  Those
    whose messages wait for room take turns; nothing that is claimed is given back to make room.  Thread: any."""

    def __init__(self, client: "Client", most: int) -> None:
        self._client, self._most = client, number_in(most, "most", bits=32)
        self._owned = made(lib.smq_limit_new, "smq_limit", lib.smq_limit_free, client, self._most)

    def set(self, most: int) -> None:
        """Change the limit; 0: its consumers claim no more until it is changed again."""
        call(lib.smq_limit_set, self, number_in(most, "most", bits=32))
        self._most = most

    def close(self) -> None:
        """The limit stays as it is for its consumers, until they are closed."""
        owned = self._taken()
        if owned:
            owned.end()

    def _about(self) -> str:
        return str(self._most)


class Consumer(Handle):
    """Consumes a topic by polls.  Made by Client.consumer(); begins to consume at once.

    Poll it from threads, or in asyncio by `async for delivery in consumer`, or wait for fileno() in another loop.
    Thread: any; but `async for` stays in one event loop.
    """

    def __init__(self, client: "Client", topic: str, options: Mapping[str, Option], limit: Optional[Limit]) -> None:
        filled = Options("consumer", options, topic=topic)
        self._client, self._topic = client, topic
        self._gap_ms = int(filled.pointer.max_poll_gap_ms) or DEFAULT_GAP_MS
        shared: ContextManager[Any] = contextlib.nullcontext(ffi.NULL)
        if limit:
            shared = limit._open()
        with shared as filled.pointer.limit:
            self._owned = made(lib.smq_consumer_new, "smq_consumer", lib.smq_consumer_free, client, filled.pointer,
                               keep=(filled, limit))
        self._async: Optional[_AsyncPolls] = None

    def poll(self, capacity: int = 100, timeout_ms: Span = 1000) -> List[Delivery]:
        """Up to `capacity` deliveries; none if none came in time.  Blocks: timeout_ms; -1: without an end.
        Raises Closed (it was stopped and all is answered), or the error that ended the consumer."""
        if capacity == 0:
            self.keep_alive()
            return []
        polled = ffi.new("slotmq_polled *", [0, capacity])
        infos = ffi.new("smq_message_info *[]", capacity)
        deliveries: List[Delivery] = []
        try:
            for slice_ms in slices(span_ms(timeout_ms, "timeout_ms")):
                call(lib.slotmq_poll, self, polled, infos, capacity, slice_ms)
                if polled.count:
                    break
            for i in range(polled.count):
                deliveries.append(Delivery(polled, i, infos[i]))
        except BaseException:
            lib.slotmq_drop(polled)  # nobody has seen them
            raise
        return deliveries

    def keep_alive(self) -> None:
        """A sign of life in the place of a poll: a program that has enough to do keeps its slots by it.  Raises as
        poll()."""
        call(lib.smq_consumer_poll, self, ffi.NULL, 0, ffi.new("size_t *"), 0)

    def fileno(self) -> int:
        """A descriptor that is readable while poll() would return deliveries or fail.  Only wait for it."""
        with self._open() as handle:
            return int(lib.smq_consumer_fd(handle))

    def set_max_in_flight(self, most: int) -> None:
        """Change the limit of unanswered deliveries; 0: claim no more until it is changed again."""
        call(lib.smq_consumer_set_max_in_flight, self, number_in(most, "most", bits=32))

    def flush(self, timeout_ms: Span = 10000) -> None:
        """Wait until every answer so far is stored or was refused.  Blocks: timeout_ms.  Raises TimedOut; LostError:
        an answer since the last flush came too late; UnknownError."""
        wait_for(lib.smq_consumer_flush, self, span_ms(timeout_ms, "timeout_ms"))

    def stop(self) -> None:
        """Claim no more.  Answer what was polled, and poll until that raises Closed, which ends `async for`."""
        with self._open() as handle:
            lib.smq_consumer_stop(handle)

    def close(self) -> None:
        """Stop the consumer, store the answers so far, and free it.  What `async for` has polled and not given is
        released; what is not answered is delivered again.  A poll of another thread ends.  Blocks:
        request_timeout_ms."""
        owned = self._taken()
        if owned:
            if self._async:
                self._async.close()
            if owned.ours:
                with owned as handle:
                    lib.smq_consumer_stop(handle)
            interruptible(owned.end)

    def _about(self) -> str:
        return self._topic

    def __aiter__(self) -> "Consumer":
        return self

    async def __anext__(self) -> Delivery:
        if not self._async:
            self._async = _AsyncPolls(self)
        return await self._async.next(self)


class _AsyncPolls:
    """What `async for` has polled and not given yet.  Everything here runs on the thread of the loop.  It waits for
    the consumer's descriptor only while a coroutine waits, because that is level-triggered; while none does, a timer
    gives signs of life, so that the slots stay as long as the loop turns."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = weakref.ref(consumer)
        self._pause_s = consumer._gap_ms / 3000
        self._ready: Deque[Delivery] = collections.deque()
        self._waiting: List["asyncio.Future[None]"] = []
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._error: Optional[Error] = None  # of a sign of life
        self._fd = -1

    async def next(self, consumer: Consumer) -> Delivery:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._join(loop, consumer)
        while True:
            if not self._ready:
                self._poll(consumer)
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

    def _join(self, loop: asyncio.AbstractEventLoop, consumer: Consumer) -> None:
        if self._loop and not self._loop.is_closed():
            raise RuntimeError("another event loop consumes with this consumer")
        self._waiting.clear()
        self._fd = consumer.fileno()
        self._loop = loop
        self._timer = loop.call_later(self._pause_s, self._live)

    def _poll(self, consumer: Consumer) -> None:
        try:
            if self._error:
                raise self._error
            self._ready.extend(consumer.poll(POLLED, 0))
        except Closed:
            raise StopAsyncIteration from None

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
        consumer = self._consumer()
        if consumer and consumer._owned and self._loop:
            try:
                consumer.keep_alive()
            except Error as error:
                self._error = error
                self._wake()
            else:
                self._timer = self._loop.call_later(self._pause_s, self._live)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._waiting:
            self._wake()
        while self._ready:
            with contextlib.suppress(Error):
                self._ready.popleft().release()
