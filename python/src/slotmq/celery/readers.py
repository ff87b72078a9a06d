"""What takes messages of a queue: for a queue of work a consumer of the library."""
import contextlib
from collections import deque
from typing import Callable, Deque, Optional

from ..client import Client
from ..consumer import Limit
from ..errors import LostError
from .publishing import Answerable, Make, QueueMessage, received
from .settings import Chosen

MOST = 100      # deliveries that one poll takes
UNBOUND = 1000  # unanswered deliveries of a queue where kombu has no limit: the library's default


class Reader:
    """Of one queue.  What has come and was not given yet stands in `ready`; `callback` gets it, None: the queue is not
    consumed now.

    Thread: that which drains the connection.  Answers may come from any thread."""

    limited = False  # by the prefetch count of the channel

    def __init__(self, queue: str, make: Make) -> None:
        self.queue = queue
        self.ready: Deque[QueueMessage] = deque()
        self.callback: Optional[Callable[[QueueMessage], object]] = None
        self._make = make

    def fileno(self) -> int:
        """Readable when something comes.  -1: there is no connection now."""
        raise NotImplementedError

    def fetch(self) -> object:
        """Take what has come, also if that is nothing."""
        raise NotImplementedError

    def take(self, body: bytes, delivery: Answerable) -> None:
        """Into `ready`, if it is a message."""
        message = received(body, delivery, self._make)
        if message is not None:
            self.ready.append(message)

    def live(self) -> None:
        """Do from time to time what keeps the reader alive."""
        raise NotImplementedError

    def consume(self, callback: Callable[[QueueMessage], object]) -> None:
        self.callback = callback

    def cancel(self) -> bool:
        """The queue is not consumed any more.  False: so the reader was closed."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class QueueReader(Reader):
    """Polls the topic of a queue."""

    def __init__(self, client: Client, topic: str, queue: str, make: Make, limit: Optional[Limit], most: Optional[int],
                 options: Chosen) -> None:
        super().__init__(queue, make)
        self.limited = limit is not None
        self._most = int(options.get("max_in_flight") or UNBOUND)
        self._allowed = self._within(most)
        self._consumer = client.consumer(topic, limit=limit, **{**options, "max_in_flight": self._allowed})
        self._fd = self._consumer.fileno()

    def fileno(self) -> int:
        return self._fd

    def fetch(self, timeout_ms: int = 0) -> bool:
        """Poll; the limits say how many there may be.  False: nothing came."""
        deliveries = self._consumer.poll(MOST, timeout_ms)
        for delivery in deliveries:
            self.take(delivery.body, delivery)
        return bool(deliveries)

    def live(self) -> None:
        """The process has enough to do, and keeps what it has."""
        self._consumer.keep_alive()

    def consume(self, callback: Callable[[QueueMessage], object]) -> None:
        super().consume(callback)
        self.allow()

    def allow(self, most: Optional[int] = None) -> None:
        """Claim up to so many unanswered deliveries; by default as many as the queue may have."""
        most = self._within(most)
        if most != self._allowed:
            self._consumer.set_max_in_flight(most)
        self._allowed = most

    def _within(self, most: Optional[int]) -> int:
        return self._most if most is None else min(most, self._most)

    def cancel(self) -> bool:
        """What nobody has begun goes back; what is not answered stays, and can be answered."""
        self.callback = None
        self.allow(0)
        self.fetch()
        while self.ready:
            self._give_back()
            self.fetch()
        return True

    def _give_back(self) -> None:
        while self.ready:
            with contextlib.suppress(LostError):  # another consumer has it
                self.ready.popleft()._raw.delivery.release()

    def close(self) -> None:
        """Blocks: request_timeout_ms, to store the answers."""
        self._give_back()
        self._consumer.close()
