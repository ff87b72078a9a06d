"""Queues of work: one consumer of the library for each queue that a connection consumes."""
from collections import deque
from typing import Any, Deque, Dict

from ..client import Client
from .publishing import Raw, raw_of

UNLIMITED = 1000  # unanswered deliveries where kombu has no limit: the library's default


class QueueReader:
    """Polls the topic of a queue.  What was polled and not given yet stands in `ready`.

    Thread: that which drains the connection.  Answers may come from any thread."""

    def __init__(self, client: Client, topic: str, queue: str, limited: bool, most: int, options: Dict[str, Any]) -> None:
        self.queue = queue
        self.limited = limited
        self.ready: Deque[Raw] = deque()
        self._own_limit = int(options.get("max_in_flight") or UNLIMITED)
        self._most = self._bounded(most)
        self._consumer = client.consumer(topic, **{**options, "max_in_flight": max(self._most, 1)})
        self._held = False

    def fileno(self) -> int:
        return self._consumer.fileno()

    def fetch(self, most: int) -> None:
        """Poll up to so many."""
        for delivery in self._consumer.poll(most, 0):
            raw = raw_of(delivery)
            if raw is not None:
                self.ready.append(raw)

    def wait(self, timeout_ms: int) -> None:
        """As fetch(1), but wait."""
        for delivery in self._consumer.poll(1, timeout_ms):
            raw = raw_of(delivery)
            if raw is not None:
                self.ready.append(raw)

    def live(self) -> None:
        """A sign of life: the process has enough to do, and keeps what it has."""
        self._consumer.keep_alive()

    def fit(self, most: int) -> None:
        """The limit of the channel has changed."""
        most = self._bounded(most)
        if self._held or most != self._most:
            self._consumer.set_max_in_flight(most)
        self._most, self._held = most, False

    def hold(self) -> None:
        """Claim no more, and give back what nobody has begun: others may be idle."""
        if self._held:
            return
        self._held = True
        self._consumer.set_max_in_flight(0)
        self.give_back()

    def give_back(self) -> None:
        """What stands ready, and what is claimed and was not polled yet."""
        while True:
            while self.ready:
                self.ready.popleft().delivery.release()
            self.fetch(UNLIMITED)
            if not self.ready:
                return

    def close(self) -> None:
        """Blocks: request_timeout_ms, to store the answers."""
        while self.ready:
            self.ready.popleft().delivery.release()
        self._consumer.close()

    def _bounded(self, most: int) -> int:
        return min(most, self._own_limit) if most else self._own_limit
