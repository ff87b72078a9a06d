"""Workers: threads that call a handler for each message, or for a batch of them."""
import functools
import inspect
import logging
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Union

from ._native import lib
from .calls import Option
from .consumer import Consumer, Delivery, answer_done, answer_retry
from .errors import Error
from .records import BACKOFF

if TYPE_CHECKING:
    from .client import Client

Handler = Union[Callable[[Delivery], Any], Callable[[List[Delivery]], Any]]
log = logging.getLogger("slotmq")


class Retry(Exception):
    """A handler raises it to have the message delivered again after `delay_ms`, by default the back-off of the topic."""

    def __init__(self, reason: str = "", delay_ms: int = BACKOFF) -> None:
        super().__init__(reason, delay_ms)
        self.delay_ms = delay_ms

    def __str__(self) -> str:
        return str(self.args[0])


class Reject(Exception):
    """A handler raises it to make the message a dead letter now."""


class Release(Exception):
    """A handler raises it to requeue the message as if it was never claimed, claimable after `delay_ms`."""

    def __init__(self, delay_ms: int = 0) -> None:
        super().__init__(delay_ms)
        self.delay_ms = delay_ms


class Worker:
    """Calls a handler on threads of its own.  Made by Client.worker(), which is mostly a decorator.

    The handler gets a Delivery, or with `batch` a list of up to so many.  What it has not answered when it returns
    is done, and when it raises an exception it is retried with that as the reason; Retry, Reject and Release say
    otherwise.  delivery.later() keeps one for an answer after the return.
    """

    def __init__(self, client: "Client", topic: str, handler: Handler, threads: int, batch: int,
                 options: Mapping[str, Option]) -> None:
        if inspect.iscoroutinefunction(handler):
            raise TypeError("the handler of a worker is no coroutine: use `async for delivery in client.consumer(...)`")
        if threads < 1 or batch < 0:
            raise ValueError("a worker has at least one thread, and no batch or one of at least 1")
        functools.update_wrapper(self, handler)
        self._client, self._topic, self._handler = client, topic, handler
        self._batch = batch
        self._options: Dict[str, Option] = {
            "weight": min(threads, 1024), "max_in_flight": 10 * threads * max(batch, 1), **options}
        self._threads = [threading.Thread(target=self._run, name=f"slotmq-{topic}-{i}", daemon=True)
                         for i in range(threads)]
        self._consumer: Optional[Consumer] = None
        self._ended = threading.Event()
        self._running = threads
        self._lock = threading.Lock()
        self._error: Optional[Error] = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the handler, as a test may do."""
        return self._handler(*arguments)

    def start(self) -> None:
        """Begin to consume.  Blocks: request_timeout_ms; in an exclusive topic also up to 8 s for ZooKeeper.  Raises
        UsageError: NO_TOPIC, OTHER_FLEET; RetryError: UNAVAILABLE."""
        if self._consumer:
            raise RuntimeError("the worker was started before")
        self._consumer = Consumer(self._client, self._topic, self._options)
        for thread in self._threads:
            thread.start()
        threading.Thread(target=self._live, name=f"slotmq-{self._topic}-live", daemon=True).start()

    def stop(self) -> None:
        """Begin a graceful stop: no handler begins any more.  The call returns at once; handlers may call it."""
        if self._consumer and self._consumer._handle:
            lib.smq_consumer_stop(self._consumer._handle)

    def wait(self, timeout_ms: int = -1) -> bool:
        """Wait until the worker has ended; False: it still runs.  Blocks: timeout_ms; -1: without an end.  Raises the
        error that ended it, as FatalError: NAME_TAKEN."""
        if not self._ended.wait(None if timeout_ms < 0 else timeout_ms / 1000):
            return False
        if self._error:
            raise self._error
        return True

    def close(self) -> None:
        """Stop, wait for the handlers that run, and free the consumer."""
        if self._consumer:
            self.stop()
            self._ended.wait()
            for thread in self._threads:
                thread.join()
            self._consumer.close()

    def _run(self) -> None:
        assert self._consumer
        try:
            while True:
                deliveries = self._consumer.poll(self._batch or 1, 60_000)
                if deliveries and self._batch:
                    self._handle_batch(deliveries)
                elif deliveries:
                    self._handle(deliveries[0])
        except Error as error:
            if error.status != lib.SMQ_CLOSED:
                self._error = error
        finally:
            with self._lock:
                self._running -= 1
                if self._running == 0:
                    self._ended.set()
                    self._client._worker_ended.set()

    def _live(self) -> None:
        """Handlers may take longer than max_poll_gap_ms, all at the same time."""
        assert self._consumer
        while not self._ended.wait(self._consumer._gap_ms / 3000):
            try:
                self._consumer.poll(0)
            except Error:
                return

    def _handle(self, delivery: Delivery) -> None:
        try:
            self._handler(delivery)  # type: ignore[arg-type]
        except Exception as error:
            self._answer([delivery], error)
        else:
            self._answer([delivery], None)

    def _handle_batch(self, deliveries: List[Delivery]) -> None:
        try:
            self._handler(deliveries)  # type: ignore[arg-type]
        except Exception as error:
            self._answer(deliveries, error)
        else:
            self._answer(deliveries, None)

    def _answer(self, deliveries: List[Delivery], error: Optional[Exception]) -> None:
        """What the handler has left.  An answer that comes too late changes nothing, and the library says so."""
        left = [delivery for delivery in deliveries if not delivery.answered and not delivery._later]
        try:
            if error is None:
                if left:
                    answer_done(left)
            elif isinstance(error, (Retry, Reject, Release)):
                for delivery in left:
                    _answer_as(delivery, error)
            else:
                log.error("the handler of topic %s failed: %s", self._topic, error, exc_info=error)
                answer_retry(left, f"{type(error).__name__}: {error}")
        except (Error, RuntimeError) as late:
            log.info("an answer in topic %s was not accepted: %s", self._topic, late)


def _answer_as(delivery: Delivery, error: Union[Retry, Reject, Release]) -> None:
    if isinstance(error, Retry):
        delivery.retry(str(error) or None, delay_ms=error.delay_ms)
    elif isinstance(error, Reject):
        delivery.reject(str(error) or None)
    else:
        delivery.release(delay_ms=error.delay_ms)
