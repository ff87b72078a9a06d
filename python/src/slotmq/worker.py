"""Workers: threads that call a handler for each message, or for a batch of them."""
import asyncio
import contextlib
import functools
import inspect
import logging
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Union

from ._native import lib
from .calls import Option, Span, ended_in_time, report, span_ms
from .consumer import Consumer, Delivery, Limit, answer_all, answer_done, answer_retry, delay_of
from .errors import Closed, Error, error_of
from .records import BACKOFF

if TYPE_CHECKING:
    from .client import Client

Handler = Union[Callable[[Delivery], Any], Callable[[List[Delivery]], Any]]


class Retry(Exception):
    """A handler raises it to have the message delivered again after `delay_ms`, by default the back-off of the
    topic."""

    def __init__(self, reason: str = "", delay_ms: Span = BACKOFF) -> None:
        self.delay_ms = delay_of(delay_ms, BACKOFF)
        super().__init__(reason, self.delay_ms)

    def __str__(self) -> str:
        return str(self.args[0])


class Reject(Exception):
    """A handler raises it to make the message a dead letter now."""


class Release(Exception):
    """A handler raises it to requeue the message as if it was never claimed, claimable after `delay_ms`."""

    def __init__(self, delay_ms: Span = 0) -> None:
        self.delay_ms = delay_of(delay_ms, 0)
        super().__init__(self.delay_ms)


class Worker:
    """Calls a handler on threads of its own.  Made by Client.worker(), which is mostly a decorator.

    The handler gets a Delivery, or with `batch` a list of up to so many.  What it has not answered when it returns
    is done, and when it raises an exception it is retried with that as the reason; Retry, Reject and Release say
    otherwise.  delivery.later() keeps one for an answer after the return.  An exception that is no Exception, as
    SystemExit and KeyboardInterrupt, also ends the worker.
    """

    def __init__(self, client: "Client", topic: str, handler: Handler, threads: int, batch: int,
                 options: Mapping[str, Option], limit: Optional[Limit]) -> None:
        if inspect.iscoroutinefunction(handler):
            raise TypeError("the handler of a worker is no coroutine: use `async for delivery in client.consumer(...)`")
        if threads < 1 or batch < 0:
            raise ValueError("a worker has at least one thread, and no batch or one of at least 1")
        functools.update_wrapper(self, handler)
        self._client, self._topic, self._handler = client, topic, handler
        self._batch, self._limit = batch, limit
        self._options: Dict[str, Option] = {
            "weight": min(threads, 1024), "max_in_flight": 10 * threads * max(batch, 1), **options}
        self._count = threads
        self._threads: List[threading.Thread] = []
        self._consumer: Optional[Consumer] = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._running = 0
        self._error: Optional[Exception] = None

    def __repr__(self) -> str:
        return f"<slotmq.Worker {self._topic}, threads: {self._count}>"

    def __call__(self, *arguments: Any) -> Any:
        """Call the handler, as a test may do."""
        return self._handler(*arguments)

    def start(self) -> None:
        """Begin to consume.  Blocks: request_timeout_ms; in an exclusive topic also up to 8 s for ZooKeeper.  Raises
        UsageError: NO_TOPIC, OTHER_FLEET; RetryError: UNAVAILABLE."""
        if self._consumer:
            raise RuntimeError(f"the worker of topic {self._topic} was started before, and not closed: Client.run() "
                               "starts all workers")
        self._consumer = Consumer(self._client, self._topic, self._options, self._limit)
        self._ended.clear()
        self._error, self._running = None, self._count
        self._threads = [threading.Thread(target=self._run, name=f"slotmq-{self._topic}-{i}", daemon=True)
                         for i in range(self._count)]
        for thread in self._threads:
            thread.start()
        threading.Thread(target=self._live, args=[self._consumer], name=f"slotmq-{self._topic}-live",
                         daemon=True).start()

    def stop(self) -> None:
        """Begin a graceful stop: no handler begins any more.  The call returns at once; handlers may call it."""
        consumer = self._consumer
        if consumer:
            with contextlib.suppress(Closed):
                consumer.stop()

    def wait(self, timeout_ms: Span = -1) -> bool:
        """Wait until the worker has ended; False: it still runs.  Blocks: timeout_ms; -1: without an end.  Raises what
        ended it, as NameTaken, or a RuntimeError that names what a handler has raised; WrongThread in a handler."""
        self._check_thread("worker")
        if not ended_in_time(self._ended, span_ms(timeout_ms, "timeout_ms")):
            return False
        if self._error:
            raise self._error
        return True

    def close(self) -> None:
        """Stop, wait for the handlers that run, and free the consumer.  Then start() begins anew.  Raises WrongThread
        in a handler: call stop() there."""
        self._check_thread("worker")
        consumer = self._consumer
        if consumer:
            self.stop()
            ended_in_time(self._ended)
            for thread in self._threads:
                thread.join()
            consumer.close()
            self._consumer = None

    def _check_thread(self, what: str) -> None:
        if threading.current_thread() in self._threads:
            raise error_of(lib.SMQ_WRONG_THREAD, f"a handler cannot close its {what} or wait for it, because that "
                           f"waits for the handler: call {what}.stop()")

    def _run(self) -> None:
        assert self._consumer
        try:
            while True:
                deliveries = self._consumer.poll(self._batch or 1, 60_000)
                if deliveries:
                    self._handle(deliveries)
        except Closed:
            pass
        except BaseException as error:
            self._fail(error)
        finally:
            with self._lock:
                self._running -= 1
                last = not self._running
            if last:
                self._ended.set()
                self._client._worker_ended.set()

    def _fail(self, error: BaseException) -> None:
        """A thread ends by it: so does the worker, and whoever waits for it gets the first error."""
        with self._lock:
            if not self._error and isinstance(error, Error):
                self._error = error
            elif not self._error:
                self._error = RuntimeError(f"the worker of topic {self._topic} was ended by {_described(error)}")
                self._error.__cause__ = error
        self.stop()

    def _live(self, consumer: Consumer) -> None:
        """Handlers may take longer than max_poll_gap_ms, all at the same time."""
        try:
            while not self._ended.wait(consumer._gap_ms / 3000):
                consumer.keep_alive()
        except Closed:
            pass
        except BaseException as error:
            self._fail(error)

    def _handle(self, deliveries: List[Delivery]) -> None:
        """A handler may do with its list what it likes."""
        try:
            if self._batch:
                self._handler(deliveries[:])  # type: ignore[arg-type]
            else:
                self._handler(deliveries[0])  # type: ignore[arg-type]
        except BaseException as error:
            self._answer(deliveries, error)
            if not isinstance(error, (Exception, asyncio.CancelledError)):
                raise
        else:
            self._answer(deliveries, None)

    def _answer(self, deliveries: List[Delivery], error: Optional[BaseException]) -> None:
        """What the handler has left.  An answer that comes too late changes nothing, and the library says so."""
        left = [delivery for delivery in deliveries if not delivery.answered and not delivery._later]
        try:
            if isinstance(error, Retry):
                answer_all(left, lib.SMQ_RETRY, str(error) or None, error.delay_ms)
            elif isinstance(error, Reject):
                answer_all(left, lib.SMQ_REJECT, str(error) or None)
            elif isinstance(error, Release):
                answer_all(left, lib.SMQ_RELEASE, None, error.delay_ms)
            elif error:
                answer_retry(left, _described(error))
                report(logging.ERROR, "the handler of topic %s failed: %s", self._topic, _described(error),
                       exc_info=error)
            else:
                answer_done(left)
        except Error as late:
            report(logging.INFO, "an answer in topic %s was not accepted: %s", self._topic, late)
        except BaseException as failed:
            reason = f"the answer {_name_of(error)} cannot be used: {_described(failed)}"
            report(logging.ERROR, "in topic %s %s; the message is retried", self._topic, reason)
            with contextlib.suppress(Error):
                answer_retry(left, reason)


def _described(error: BaseException) -> str:
    """"ValueError: broken"; its class alone if its text cannot be had."""
    name = _name_of(error)
    try:
        return f"{name}: {error}"
    except BaseException:
        return name


def _name_of(error: Optional[BaseException]) -> str:
    """The name of its class, also where a metaclass has another `__name__`."""
    return str(vars(type)["__name__"].__get__(type(error)))
