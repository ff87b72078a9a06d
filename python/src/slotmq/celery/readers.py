"""Queues of work: one consumer of the library for each queue that a connection consumes."""
from collections import deque
from typing import Any, Callable, Deque, Dict, Optional

from ..client import Client
from ..consumer import Limit
from .publishing import Raw, raw_of

MOST = 100     # deliveries that one poll takes
UNBOUND = 1000  # unanswered deliveries of a queue where kombu has no limit: the library's default


class QueueReader:
    """Polls the topic of a queue.  What was polled and not given yet stands in `ready`; `callback` gets it, None: the
    queue is not consumed now.

    Thread: that which drains the connection.  Answers may come from any thread."""

    def __init__(self, client: Client, topic: str, queue: str, limit: Optional[Limit], most: Optional[int],
                 options: Dict[str, Any]) -> None:
        self.queue = queue
        self.limited = limit is not None
        self.ready: Deque[Raw] = deque()
        self.callback: Optional[Callable[[Raw], Any]] = None
        self._most = int(options.get("max_in_flight") or UNBOUND)
        self._allowed = self._within(most)
        self._consumer = client.consumer(topic, limit=limit, **{**options, "max_in_flight": self._allowed})
        self._fd = self._consumer.fileno()

    def fileno(self) -> int:
        return self._fd

    def fetch(self, timeout_ms: int = 0) -> None:
        """Poll; the limits say how many there may be."""
        for delivery in self._consumer.poll(MOST, timeout_ms):
            raw = raw_of(delivery)
            if raw is not None:
                self.ready.append(raw)

    def live(self) -> None:
        """A sign of life: the process has enough to do, and keeps what it has."""
        self._consumer.keep_alive()

    def allow(self, most: Optional[int] = None) -> None:
        """Claim up to so many unanswered deliveries; by default as many as the queue may have."""
        most = self._within(most)
        if most != self._allowed:
            self._consumer.set_max_in_flight(most)
        self._allowed = most

    def _within(self, most: Optional[int]) -> int:
        return self._most if most is None else min(most, self._most)

    def pause(self) -> None:
        """Claim no more, and give back what nobody has begun."""
        self.allow(0)
        self.fetch()
        while self.ready:
            self.ready.popleft().delivery.release()
            if not self.ready:
                self.fetch()

    def close(self) -> None:
        """Blocks: request_timeout_ms, to store the answers."""
        while self.ready:
            self.ready.popleft().delivery.release()
        self._consumer.close()
