"""What a channel has delivered and nobody has answered."""
import sys
from typing import Any, Dict, List, Optional, Tuple

from kombu.log import get_logger
from kombu.transport import virtual

from ..errors import Error
from ..records import BACKOFF

logger = get_logger(__name__)
REQUEUED = "requeued by the worker"
REJECTED = "rejected by the worker"


class QoS(virtual.QoS):
    """Answers go to the broker at once.  An answer that comes too late is logged, because the message is delivered
    again, and nobody can help it.  Thread: answers from any, all else that which drains the connection."""

    def __init__(self, channel: Any, prefetch_count: int = 0) -> None:
        super().__init__(channel, prefetch_count)
        self._open: Dict[str, Tuple[Any, Any]] = {}  # by tag: (message, delivery)

    def can_consume(self) -> bool:
        return self.can_consume_max_estimate() != 0

    def can_consume_max_estimate(self) -> Optional[int]:
        """None: there is no limit."""
        if not self.prefetch_count:
            return None
        return max(self.prefetch_count - len(self._open) - self.channel.ready_count(), 0)

    def can_deliver(self) -> bool:
        """Of what is ready."""
        return not self.prefetch_count or len(self._open) < self.prefetch_count

    def append(self, message: Any, delivery_tag: str) -> None:
        self._open[delivery_tag] = (message, message._raw.delivery)

    def get(self, delivery_tag: str) -> Any:
        return self._open[delivery_tag][0]

    def ack(self, delivery_tag: str) -> None:
        self._answer(delivery_tag, lambda delivery: delivery.done())

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Requeue at once, the second time after the back-off of the topic.  It uses a try, so that a message that is
        always requeued, or kills its process, ends as a dead letter; with requeue="release" it does not."""
        if not requeue:
            self._answer(delivery_tag, lambda delivery: delivery.reject(REJECTED))
        elif self.channel.settings.own["requeue"] == "release":
            self._answer(delivery_tag, lambda delivery: delivery.release())
        else:
            self._answer(delivery_tag, _retry)

    def ack_all(self) -> None:
        for tag in list(self._open):
            self.ack(tag)

    def restore_unacked(self) -> List[Any]:
        """As if they had never been delivered."""
        for tag in list(self._open):
            self._answer(tag, lambda delivery: delivery.release())
        return []

    def restore_unacked_once(self, stderr: Any = None) -> None:
        self._on_collect.cancel()
        if self._open and self.restore_at_shutdown and self.channel.do_restore:
            print(f"Restoring {len(self._open)} unacknowledged message(s)", file=stderr or sys.stderr)
            self.restore_unacked()

    def unanswered(self) -> int:
        return len(self._open)

    def _answer(self, tag: str, answer: Any) -> None:
        found = self._open.pop(tag, None)
        if found is None:
            return
        try:
            answer(found[1])
        except Error as error:
            logger.warning("An answer came too late, and the message is delivered again: %s", error)
        self.channel.answered()


def _retry(delivery: Any) -> None:
    delivery.retry(REQUEUED, delay_ms=0 if getattr(delivery, "attempt", 1) == 1 else BACKOFF)
