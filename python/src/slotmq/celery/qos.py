"""What a channel has delivered and nobody has answered."""
import sys
from typing import Any, Dict, List, Optional, Tuple

from kombu.log import get_logger
from kombu.transport import virtual

from ..consumer import Delivery
from ..errors import Error
from ..records import BACKOFF

logger = get_logger(__name__)
REQUEUED = "requeued by the worker"
REJECTED = "rejected by the worker"
LOST = "its worker died or hung in each of its last tries"


class QoS(virtual.QoS):
    """Answers go to the broker at once.  An answer that comes too late is logged, because the message is delivered
    again, and nobody can help it.  Thread: answers from any, all else that which drains the connection."""

    teller: Any = None  # of a worker of Celery, which stores the failure of a task that becomes a dead letter

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
        if delivery_tag not in self._open:
            return
        message, delivery = self._open[delivery_tag]
        reason = self.teller.reason_of(message) if self.teller else ""
        if not requeue:
            # Of all others Celery stores the failure itself.
            self._bury(delivery_tag, reason or REJECTED, tells=message._raw.cause is not None)
        elif self.channel.settings.own["requeue"] == "release":
            self._answer(delivery_tag, lambda delivery: delivery.release())
        elif not _retries_left(delivery):
            self._bury(delivery_tag, reason or REQUEUED)
        else:
            self._answer(delivery_tag, lambda delivery: _retry(delivery, reason or REQUEUED))

    def bury_if_lost(self, delivery_tag: str) -> bool:
        """Only the last try of the message is left, and the one before has killed its worker.  If this does, too, the
        message becomes a dead letter without any worker that could tell its caller."""
        delivery = self._open[delivery_tag][1]
        if self.teller is None or _retries_left(delivery) or delivery.attempt == 1:
            return False
        key = delivery.key if delivery.key != delivery.id else None
        try:
            stored = self.channel.session.client.topic(delivery.topic).get(key=key, id=delivery.id)
        except Error:  # it may be another worker's by now, or no server answers: it runs
            return False
        if not stored.tries or stored.tries[0].how != "lost":
            return False
        self._bury(delivery_tag, LOST)
        return True

    def _bury(self, tag: str, reason: str, tells: bool = True) -> None:
        message = self._open[tag][0]
        if self._answer(tag, lambda delivery: delivery.reject(reason)) and tells and self.teller is not None:
            self.teller.tell(message, reason)

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

    def _answer(self, tag: str, answer: Any) -> bool:
        """Whether it came in time."""
        found = self._open.pop(tag, None)
        if found is None:
            return False
        try:
            answer(found[1])
            return True
        except Error as error:
            logger.warning("An answer came too late, and the message is delivered again: %s", error)
            return False
        finally:
            self.channel.answered()


def _retries_left(delivery: Any) -> int:
    """What comes from a mailbox never dies."""
    return delivery.retries_left if isinstance(delivery, Delivery) else 1


def _retry(delivery: Any, reason: str) -> None:
    delivery.retry(reason, delay_ms=0 if getattr(delivery, "attempt", 1) == 1 else BACKOFF)
