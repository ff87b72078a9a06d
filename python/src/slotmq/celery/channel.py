"""A channel: declares queues, routes and sends messages, and consumes."""
import contextlib
from queue import Empty
from typing import Any, Dict, Iterable, List, Optional

from amqp.protocol import queue_declare_ok_t
from kombu.exceptions import ChannelError
from kombu.transport import virtual
from kombu.transport.base import to_rabbitmq_queue_arguments
from kombu.utils.uuid import uuid

from ..consumer import Limit
from ..errors import NoTopic, TooBig
from . import revoking
from .mailbox import MAILBOX_TTL_MS, FanoutReader, MailboxReader
from .publishing import Raw, create_topic, message_of, too_big
from .qos import QoS
from .readers import QueueReader
from .routing import is_default

GET_MS = 1000  # how long a get waits for a message that is there
UNBOUND = 0x7fffffff  # of a channel without a prefetch count: each queue has its own limit


class Message(virtual.Message):
    """Of kombu, with the delivery that answers it."""

    def __init__(self, payload: Any, channel: Any = None, **kwargs: Any) -> None:
        super().__init__(payload.payload, channel=channel, **kwargs)
        self._raw = payload


class Channel(virtual.Channel):
    """Thread: that which drains the connection; acks and publishes may come from others."""

    Message = Message
    QoS = QoS
    supports_fanout = True

    def __init__(self, connection: Any, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self.settings = connection.settings
        self.readers: Dict[str, Any] = {}  # by queue
        self._limit: Optional[Limit] = None

    # What is shared by all connections of the process.

    @property
    def session(self) -> Any:
        return self.connection.session

    # Queues.

    def prepare_queue_arguments(self, arguments: Optional[Dict[str, Any]], **kwargs: Any) -> Any:
        return to_rabbitmq_queue_arguments(arguments or {}, **kwargs)

    def queue_declare(self, queue: Optional[str] = None, passive: bool = False, **kwargs: Any) -> Any:
        queue = queue or f"amq.gen-{uuid()}"
        if not passive:
            self._new_queue(queue, **kwargs)
            return queue_declare_ok_t(queue, 0, 0)
        if not self._has_queue(queue):
            raise ChannelError(f"NOT_FOUND - no queue {queue!r}", (50, 10), "Channel.queue_declare", "404")
        return queue_declare_ok_t(queue, self._size(queue), 0)

    def _new_queue(self, queue: str, auto_delete: bool = False, arguments: Optional[Dict[str, Any]] = None,
                   **_: Any) -> None:
        session = self.session
        if auto_delete:
            self.connection.mailboxes.declare(queue, int((arguments or {}).get("x-expires") or MAILBOX_TTL_MS))
            session.mailboxes.add(queue)
        elif queue not in session.topics:
            create_topic(session.client, self.settings, queue, arguments)
            session.topics[queue] = dict(arguments or {})

    def _create_again(self, queue: str) -> None:
        """A queue that nobody declared, or that was deleted since, or has expired."""
        session = self.session
        create_topic(session.client, self.settings, queue, session.topics.get(queue))

    def _has_queue(self, queue: str, **_: Any) -> bool:
        return self._is_mailbox(queue) or self._topic(queue).exists()

    def _is_mailbox(self, queue: str) -> bool:
        session = self.session
        if queue in session.mailboxes or queue in session.topics:
            return queue in session.mailboxes
        return bool(self.connection.mailboxes.find("", queue))

    def _topic(self, queue: str) -> Any:
        return self.session.client.topic(self.settings.topic_of(queue))

    def _size(self, queue: str) -> int:
        """Messages that wait, also those whose time has not come."""
        if self._is_mailbox(queue):
            return int(self.connection.mailboxes.size(queue))
        try:
            return int(self._topic(queue).stats().waiting)
        except NoTopic:
            return 0

    def _purge(self, queue: str) -> int:
        if self._is_mailbox(queue):
            return int(self.connection.mailboxes.purge(queue))
        try:
            return int(self._topic(queue).purge("waiting", "resting"))
        except NoTopic:
            return 0

    def queue_delete(self, queue: str, if_unused: bool = False, if_empty: bool = False, **_: Any) -> None:
        if if_empty and self._size(queue):
            return
        mailbox, session = self._is_mailbox(queue), self.session
        reader = self.readers.pop(queue, None)
        if reader is not None:
            reader.close()
        if mailbox:
            self.connection.mailboxes.delete(queue)
        else:
            with contextlib.suppress(NoTopic):
                self._topic(queue).delete(force=True)
            self.connection.bindings.remove(queue=queue)
        session.topics.pop(queue, None)
        session.mailboxes.discard(queue)
        for row in list(self.state.queue_bindings(queue)):
            table = self.state.exchanges.get(row.exchange, {}).get("table", [])
            table[:] = [meta for meta in table if meta[2] != queue]
        self.state.queue_bindings_delete(queue)

    # Routes.

    def typeof(self, exchange: str, default: str = "direct") -> Any:
        known = self.state.exchanges.get(exchange)
        return self.exchange_types[known["type"] if known else self.connection.bindings.kind_of(exchange)]

    def _queue_bind(self, exchange: str, routing_key: str, pattern: Any, queue: str) -> None:
        kind, bindings = self.typeof(exchange).type, self.connection.bindings
        if queue not in self.session.mailboxes:
            if not is_default(exchange, kind, routing_key, queue):
                bindings.add(exchange, kind, routing_key, queue)
        elif kind == "fanout":
            self.connection.fanouts[queue] = (exchange, self.connection.mailboxes.last_of(exchange), routing_key)
        elif kind == "direct":
            bindings.add_mailboxes(exchange, kind)
            self.connection.mailboxes.bind(queue, exchange, routing_key)
        else:
            bindings.add(exchange, kind, routing_key, queue)

    def queue_unbind(self, queue: str, exchange: Optional[str] = None, routing_key: str = "",
                     arguments: Any = None, **kwargs: Any) -> None:
        super().queue_unbind(queue, exchange, routing_key, arguments, **kwargs)
        self.connection.bindings.remove(row=(exchange, self.typeof(exchange or "").type, routing_key, queue))

    def list_bindings(self) -> Iterable[Any]:
        return [(queue, exchange, key) for queue, exchange, key in self.connection.bindings.all()]

    def _lookup(self, exchange: str, routing_key: str, default: Optional[str] = None) -> List[str]:
        default = default or self.deadletter_queue
        if not exchange:
            return [name for name in [routing_key or default] if name]
        if is_default(exchange, self.typeof(exchange).type, routing_key, exchange) and \
                exchange in self.session.topics:
            return [exchange]
        return self._routes(exchange, routing_key, False) or self._routes(exchange, routing_key, True) or \
            [name for name in [default] if name]

    def _routes(self, exchange: str, routing_key: str, now: bool) -> List[str]:
        bindings, kind = self.connection.bindings, self.typeof(exchange)
        rows = bindings.rows(exchange, now)
        table = [kind.prepare_bind(queue, exchange, key, None) for key, queue in rows]
        found = set(kind.lookup(table, exchange, routing_key, None))
        if bindings.has_mailboxes(exchange):
            found.update(self.connection.mailboxes.find(exchange, routing_key))
        if is_default(exchange, kind.type, routing_key, exchange) and self._topic(exchange).exists():
            found.add(exchange)
        return sorted(found)

    # Sending.

    def _put(self, queue: str, message: Dict[str, Any], **_: Any) -> None:
        if self._is_mailbox(queue):
            self.connection.mailboxes.put(queue, message)
            return
        session = self.session
        topic, whole = self.settings.topic_of(queue), message_of(self.settings, queue, message)
        try:
            try:
                session.producer.send(topic, whole)
            except NoTopic:
                self._create_again(queue)
                session.producer.send(topic, whole)
        except TooBig as error:
            raise too_big(error, topic, len(whole.body)) from None
        session.topics.setdefault(queue, {})

    def _put_fanout(self, exchange: str, message: Dict[str, Any], routing_key: str, **_: Any) -> None:
        revoking.look_at(self, exchange, message)
        self.connection.mailboxes.cast(exchange, routing_key, message)
        for _key, queue in self.connection.bindings.rows(exchange):
            self._put(queue, message)

    # Consuming.

    def basic_consume(self, queue: str, no_ack: bool, callback: Any, consumer_tag: str, **kwargs: Any) -> None:
        def deliver(raw: Raw) -> Any:
            message = self.Message(raw, channel=self)
            if no_ack:
                raw.delivery.done()
            else:
                self.qos.append(message, message.delivery_tag)
                if self.qos.bury_if_lost(message.delivery_tag):
                    return None
            return callback(message)

        super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        reader = self.readers.get(queue)
        if isinstance(reader, QueueReader) and reader.limited == no_ack:
            reader.close()
            reader = None
        if reader is None:
            reader = self._open_reader(queue, not no_ack)
        reader.callback = deliver
        reader.allow()

    def basic_cancel(self, consumer_tag: str) -> None:
        """What nobody has begun goes back; what is not answered stays, and can be answered."""
        queue = self._tag_to_queue.get(consumer_tag)
        super().basic_cancel(consumer_tag)
        reader = self.readers.get(queue) if queue not in self._active_queues else None
        if reader is None:
            return
        reader.callback = None
        if queue in self.connection.fanouts or queue in self.session.mailboxes:
            reader.close()
            del self.readers[queue]
        else:
            reader.pause()

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> Any:
        try:
            message = self.Message(self._get(queue), channel=self)
        except Empty:
            return None
        if no_ack:
            message._raw.delivery.done()
        else:
            self.qos.append(message, message.delivery_tag)
        return message

    def _get(self, queue: str, timeout: Any = None) -> Raw:
        if self._is_mailbox(queue):
            raise Empty()
        if queue not in self._active_queues and not self._topic(queue).stats().due:
            raise Empty()
        reader = self.readers.get(queue) or self._open_reader(queue, True, self.qos.unanswered() + 1)
        if not reader.ready:
            self._wait_for_one(reader)
        found = reader.ready.popleft() if reader.ready else None
        if reader.callback is not None:
            reader.allow()
        else:
            reader.pause()
        if found is None:
            raise Empty()
        return found

    def _wait_for_one(self, reader: Any) -> None:
        """It comes also when the channel has as much as it may: the other queues do not get the place."""
        most = self.qos.unanswered() + 1
        others = [other for other in self.readers.values() if other.limited and other.callback and other is not reader]
        for other in others:
            other.allow(0)
        self.limit.set(max(self.qos.prefetch_count + 1, most) if self.qos.prefetch_count else UNBOUND)
        reader.allow(most)
        reader.fetch(GET_MS)
        self.basic_qos(prefetch_count=self.qos.prefetch_count)
        for other in others:
            other.allow()

    def _open_reader(self, queue: str, limited: bool, most: Optional[int] = None) -> Any:
        """`most`: of unanswered deliveries of the queue."""
        reader = self.readers[queue] = self._new_reader(queue, self.limit if limited else None, most)
        return reader

    @property
    def limit(self) -> Limit:
        """Of all queues together that this channel consumes with acknowledgements."""
        if self._limit is None:
            self._limit = self.connection.consuming.limit(self.qos.prefetch_count or UNBOUND)
        return self._limit

    def _new_reader(self, queue: str, limit: Optional[Limit], most: Optional[int]) -> Any:
        connection, session = self.connection, self.session
        if queue in connection.fanouts:
            exchange, cursor, key = connection.fanouts[queue]
            kind = self.exchange_types["topic"]
            pattern = kind.key_to_pattern(key) if key else None
            return FanoutReader(connection.mailboxes, session, queue, exchange, cursor,
                                lambda given: not pattern or not given or kind._match(pattern, given))
        if self._is_mailbox(queue):
            return MailboxReader(connection.mailboxes, session, queue)
        try:
            return connection.queue_reader(queue, limit, most)
        except NoTopic:
            if queue not in session.topics:
                raise
            self._create_again(queue)
            return connection.queue_reader(queue, limit, most)

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        if multiple:
            self.qos.ack_all()
        else:
            self.qos.ack(delivery_tag)

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        self.qos.prefetch_count = prefetch_count
        if self._limit is not None:
            self._limit.set(prefetch_count or UNBOUND)

    def basic_recover(self, requeue: bool = False) -> None:
        self.qos.restore_unacked()

    def is_full(self) -> bool:
        """Of its queues nothing can come before a message is answered."""
        return not self.qos.can_consume() and any(reader.limited and reader.callback for reader in self.readers.values())

    def close(self) -> None:
        connection = self.connection
        super().close()
        for reader in self.readers.values():
            if connection is None or connection.is_own():
                reader.close()
        self.readers.clear()
        if self._limit is not None and (connection is None or connection.is_own()):
            self._limit.close()
            self._limit = None
