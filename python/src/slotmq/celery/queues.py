"""The two kinds of queue: topics, for work, and mailboxes, which end with the program that has declared them.  Both are
used in the same way."""
import contextlib
from typing import TYPE_CHECKING, Optional, Union

from ..client import Topic
from ..consumer import Limit
from ..errors import NoTopic, TooBig
from .mailbox import MAILBOX_TTL_MS, FanoutReader, MailboxReader
from .publishing import Make, Payload, create_topic, message_of, too_big
from .readers import QueueReader, Reader
from .routing import is_default, matcher
from .settings import DAY_MS, Chosen, Given

if TYPE_CHECKING:
    from .transport import Transport

Arguments = Optional[Given]  # of the declaration of a queue


class TopicQueue:
    """Thread: any; of what reader() returns, that which drains the connection."""

    def __init__(self, transport: "Transport", name: str) -> None:
        self._transport, self._name = transport, name
        self._session, self._settings = transport.session, transport.settings
        self._topic_name = self._settings.topic_of(name)

    @property
    def topic(self) -> Topic:
        return self._session.client.topic(self._topic_name)

    def declare(self, arguments: Arguments) -> None:
        if self._name not in self._session.topics:
            create_topic(self._session.client, self._settings, self._name, arguments)
            self._session.topics[self._name] = dict(arguments or {})

    def _create_again(self) -> None:
        """A queue that nobody declared, or that was deleted since, or has expired."""
        create_topic(self._session.client, self._settings, self._name, self._session.topics.get(self._name))

    def exists(self) -> bool:
        return self.topic.exists()

    def size(self) -> int:
        """Messages that wait, also those whose time has not come."""
        try:
            return self.topic.stats().waiting
        except NoTopic:
            return 0

    def has_due(self) -> bool:
        """A get finds something."""
        return self.topic.stats().due > 0

    def purge(self) -> int:
        try:
            return self.topic.purge("waiting", "resting")
        except NoTopic:
            return 0

    def delete(self) -> None:
        with contextlib.suppress(NoTopic):
            self.topic.delete(force=True)
        self._transport.bindings.remove(queue=self._name)
        self._session.topics.pop(self._name, None)

    def put(self, message: Payload) -> None:
        whole = message_of(self._settings, self._name, message)
        try:
            try:
                self._session.producer.send(self._topic_name, whole)
            except NoTopic:
                self._create_again()
                self._session.producer.send(self._topic_name, whole)
        except TooBig as error:
            raise too_big(error, self._topic_name, len(whole.body)) from None
        self._session.topics.setdefault(self._name, {})

    def bind(self, exchange: str, kind: str, routing_key: str) -> None:
        if not is_default(exchange, kind, routing_key, self._name):
            self._transport.bindings.add(exchange, kind, routing_key, self._name)

    def reader(self, make: Make, limit: Optional[Limit], most: Optional[int]) -> Reader:
        """`most`: unanswered deliveries of this queue alone."""
        options: Chosen = {"max_poll_gap_ms": DAY_MS, **self._settings.of_queue(self._name, "consumer")}
        client = self._transport.consuming
        try:
            return QueueReader(client, self._topic_name, self._name, make, limit, most, options)
        except NoTopic:
            if self._name not in self._session.topics:
                raise
            self._create_again()
            return QueueReader(client, self._topic_name, self._name, make, limit, most, options)


class Mailbox:
    """Thread: as TopicQueue."""

    def __init__(self, transport: "Transport", name: str) -> None:
        self._transport, self._name = transport, name
        self._session, self._store = transport.session, transport.mailboxes

    def declare(self, arguments: Arguments) -> None:
        self._store.declare(self._name, int((arguments or {}).get("x-expires") or MAILBOX_TTL_MS))
        self._session.mailboxes.add(self._name)

    def exists(self) -> bool:
        return True

    def size(self) -> int:
        return self._store.size(self._name)

    def has_due(self) -> bool:
        """A get finds nothing: a mailbox is consumed."""
        return False

    def purge(self) -> int:
        return self._store.purge(self._name)

    def delete(self) -> None:
        self._store.delete(self._name)
        self._session.mailboxes.discard(self._name)

    def put(self, message: Payload) -> None:
        self._store.put(self._name, message)

    def bind(self, exchange: str, kind: str, routing_key: str) -> None:
        if kind == "fanout":
            self._transport.fanouts[self._name] = (exchange, self._store.last_of(exchange), routing_key)
        elif kind == "direct":
            self._transport.bindings.add_mailboxes(exchange, kind)
            self._store.bind(self._name, exchange, routing_key)
        else:
            self._transport.bindings.add(exchange, kind, routing_key, self._name)

    def reader(self, make: Make, limit: Optional[Limit], most: Optional[int]) -> Reader:
        """Unlimited: what a mailbox has is read when it comes."""
        if self._name not in self._transport.fanouts:
            return MailboxReader(self._store, self._session, self._name, make)
        exchange, cursor, key = self._transport.fanouts[self._name]
        return FanoutReader(self._store, self._session, self._name, make, exchange, cursor, matcher(key))


Queue = Union[TopicQueue, Mailbox]


def queue_of(transport: "Transport", name: str) -> Queue:
    session = transport.session
    if name in session.mailboxes or (name not in session.topics and transport.mailboxes.find("", name)):
        return Mailbox(transport, name)
    return TopicQueue(transport, name)
