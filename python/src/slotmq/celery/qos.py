"""What a channel has delivered and nobody has answered."""
from typing import Callable, List, Optional, Protocol

from kombu.log import get_logger
from kombu.transport import virtual

from ..consumer import Delivery
from ..errors import Error
from ..records import BACKOFF
from .publishing import Answerable

logger = get_logger(__name__)
REQUEUED = "requeued by the worker"
REJECTED = "rejected by the worker"
LOST = "its worker died or hung in each of its last tries"


class Teller(Protocol):
    """Stores the failure of a task that becomes a dead letter."""

    def reason_of(self, message: virtual.Message) -> str: ...

    def tell(self, message: virtual.Message, reason: str) -> None: ...


class QoS(virtual.QoS):
    """Answers go to the broker at once.  An answer that comes too late is logged, because the message is delivered
    again, and nobody can help it.  Thread: answers from any, all else that which drains the connection."""

    teller: "Optional[Teller]" = None  # of a worker of Celery

    def ack(self, delivery_tag: str) -> None:
        self._answer(delivery_tag, lambda delivery: delivery.done())

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Requeue at once, the second time after the back-off of the topic.  It uses a try, so that a message that is
        always requeued, or kills its process, ends as a dead letter; with requeue="release" it does not."""
        message = self._delivered.get(delivery_tag)
        if message is None:
            return
        reason = self.teller.reason_of(message) if self.teller else ""
        if not requeue:
            # Of all others Celery stores the failure itself.
            self._bury(delivery_tag, reason or REJECTED, tells=message._raw.cause is not None)
        elif self.channel.settings.own["requeue"] == "release":
            self._answer(delivery_tag, lambda delivery: delivery.release())
        elif not _retries_left(message._raw.delivery):
            self._bury(delivery_tag, reason or REQUEUED)
        else:
            self._answer(delivery_tag, lambda delivery: _retry(delivery, reason or REQUEUED))

    def bury_if_lost(self, delivery_tag: str) -> bool:
        """Only the last try of the message is left, and the one before has killed its worker.  If this does, too, the
        message becomes a dead letter without any worker that could tell its caller."""
        delivery = self._delivered[delivery_tag]._raw.delivery
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
        message = self._delivered[tag]
        if self._answer(tag, lambda delivery: delivery.reject(reason)) and tells and self.teller is not None:
            self.teller.tell(message, reason)

    def ack_all(self) -> None:
        for tag in list(self._delivered):
            self.ack(tag)

    def restore_unacked(self) -> List[object]:
        """As if they had never been delivered."""
        for tag in list(self._delivered):
            self._answer(tag, lambda delivery: delivery.release())
        return []

    def unanswered(self) -> int:
        return len(self._delivered)

    def _answer(self, tag: str, answer: Callable[[Answerable], None]) -> bool:
        """Whether it came in time."""
        message = self._delivered.pop(tag, None)
        if message is None:
            return False
        try:
            answer(message._raw.delivery)
        except Error as error:
            logger.warning("An answer came too late, and the message is delivered again: %s", error)
            return False
        return True


def _retries_left(delivery: Answerable) -> int:
    """What comes from a mailbox never dies."""
    return delivery.retries_left if isinstance(delivery, Delivery) else 1


def _retry(delivery: Answerable, reason: str) -> None:
    delivery.retry(reason, delay_ms=0 if getattr(delivery, "attempt", 1) == 1 else BACKOFF)
