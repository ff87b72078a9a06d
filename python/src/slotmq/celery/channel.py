"""A channel: declares queues, routes and sends messages, and consumes."""
from queue import Empty
from typing import TYPE_CHECKING, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from amqp.protocol import queue_declare_ok_t
from kombu.exceptions import ChannelError
from kombu.transport import virtual
from kombu.transport.base import to_rabbitmq_queue_arguments
from kombu.utils.uuid import uuid

from ..consumer import Limit
from ..errors import LostError
from . import revoking
from .compat import is_consumed, queue_of_tag
from .publishing import Payload, QueueMessage, Raw
from .qos import QoS
from .queues import Arguments, Mailbox, Queue, TopicQueue, queue_of
from .readers import QueueReader, Reader
from .routing import is_default
from .session import Session
from .settings import Settings

if TYPE_CHECKING:
    from .transport import Transport

GET_MS = 1000  # how long a get waits for a message that is there
UNBOUND = 0x7fffffff  # of a channel without a prefetch count: each queue has its own limit

Answers = QoS  # which is also a name in the class


class Channel(virtual.Channel):
    """Thread: that which drains the connection; acks and publishes may come from others."""

    Message = QueueMessage
    QoS = QoS
    supports_fanout = True
    connection: "Transport"
    qos: Answers

    def __init__(self, connection: "Transport", **kwargs: object) -> None:
        super().__init__(connection, **kwargs)
        self.settings: Settings = connection.settings
        self.readers: Dict[str, Reader] = {}  # by queue
        self._limit: Optional[Limit] = None

    @property
    def session(self) -> Session:
        """What all connections of the process share."""
        return self.connection.session

    # Queues.

    def queue(self, name: str) -> Queue:
        return queue_of(self.connection, name)

    def prepare_queue_arguments(self, arguments: Arguments, **kwargs: object) -> Mapping[str, object]:
        return to_rabbitmq_queue_arguments(arguments or {}, **kwargs)

    def queue_declare(self, queue: Optional[str] = None, passive: bool = False, **kwargs: object) -> queue_declare_ok_t:
        queue = queue or f"amq.gen-{uuid()}"
        if not passive:
            self._new_queue(queue, **kwargs)
            return queue_declare_ok_t(queue, 0, 0)
        if not self._has_queue(queue):
            raise ChannelError(f"NOT_FOUND - no queue {queue!r}", (50, 10), "Channel.queue_declare", "404")
        return queue_declare_ok_t(queue, self._size(queue), 0)

    def _new_queue(self, queue: str, auto_delete: object = False, arguments: object = None, **_: object) -> None:
        made: Queue = Mailbox(self.connection, queue) if auto_delete else TopicQueue(self.connection, queue)
        made.declare(arguments if isinstance(arguments, dict) else None)

    def _has_queue(self, queue: str, **_: object) -> bool:
        return self.queue(queue).exists()

    def _size(self, queue: str) -> int:
        return self.queue(queue).size()

    def _purge(self, queue: str) -> int:
        return self.queue(queue).purge()

    def queue_delete(self, queue: str, if_unused: bool = False, if_empty: bool = False, **_: object) -> None:
        found = self.queue(queue)
        if if_empty and found.size():
            return
        reader = self.readers.pop(queue, None)
        if reader is not None:
            reader.close()
        found.delete()
        for row in list(self.state.queue_bindings(queue)):
            table = self.state.exchanges.get(row.exchange, {}).get("table", [])
            table[:] = [meta for meta in table if meta[2] != queue]
        self.state.queue_bindings_delete(queue)

    # Routes.

    def typeof(self, exchange: str, default: str = "direct") -> virtual.exchange.ExchangeType:
        known = self.state.exchanges.get(exchange)
        return self.exchange_types[known["type"] if known else self.connection.bindings.kind_of(exchange)]

    def _queue_bind(self, exchange: str, routing_key: str, pattern: object, queue: str) -> None:
        self.queue(queue).bind(exchange, self.typeof(exchange).type, routing_key)

    def queue_unbind(self, queue: str, exchange: Optional[str] = None, routing_key: str = "",
                     arguments: Arguments = None, **kwargs: object) -> None:
        super().queue_unbind(queue, exchange, routing_key, arguments, **kwargs)
        self.connection.bindings.remove(row=(exchange, self.typeof(exchange or "").type, routing_key, queue))

    def list_bindings(self) -> Iterable[Tuple[str, str, str]]:
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
        if is_default(exchange, kind.type, routing_key, exchange) and TopicQueue(self.connection, exchange).exists():
            found.add(exchange)
        return sorted(found)

    # Sending.

    def _put(self, queue: str, message: Payload, **_: object) -> None:
        self.queue(queue).put(message)

    def _put_fanout(self, exchange: str, message: Payload, routing_key: str, **_: object) -> None:
        revoking.look_at(self, exchange, message)
        self.connection.mailboxes.cast(exchange, routing_key, message)
        for _key, queue in self.connection.bindings.rows(exchange):
            self._put(queue, message)

    # Consuming.

    def basic_consume(self, queue: str, no_ack: bool, callback: Callable[[QueueMessage], object], consumer_tag: str,
                      **kwargs: object) -> None:
        def deliver(message: QueueMessage) -> None:
            if self._accept(message, no_ack) and (no_ack or not self.qos.bury_if_lost(message.delivery_tag)):
                callback(message)

        super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        reader = self.readers.get(queue)
        if isinstance(reader, QueueReader) and reader.limited == no_ack:
            reader.close()
            reader = None
        (reader or self._open_reader(queue, not no_ack)).consume(deliver)

    def basic_cancel(self, consumer_tag: str) -> None:
        queue = queue_of_tag(self, consumer_tag)
        super().basic_cancel(consumer_tag)
        if queue in self.readers and not is_consumed(self, queue) and not self.readers[queue].cancel():
            del self.readers[queue]

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: object) -> Optional[QueueMessage]:
        try:
            while True:
                message = self._get(queue)
                if self._accept(message, no_ack):
                    return message
        except Empty:
            return None

    def _accept(self, message: QueueMessage, no_ack: bool) -> bool:
        """Without acks it is answered before it is given.  False: another consumer has it by now."""
        if not no_ack:
            self.qos.append(message, message.delivery_tag)
            return True
        try:
            message._raw.delivery.done()
        except LostError:
            return False
        return True

    def _get(self, queue: str, timeout: Optional[float] = None) -> QueueMessage:
        reader = self.readers.get(queue)
        consumed = reader is not None and reader.callback is not None
        if not consumed and not self.queue(queue).has_due():
            raise Empty()
        if reader is None:
            reader = self._open_reader(queue, True, self.qos.unanswered() + 1)
        if not isinstance(reader, QueueReader):
            raise Empty()
        if not reader.ready:
            self._wait_for_one(reader)
        found = reader.ready.popleft() if reader.ready else None
        if consumed:
            reader.allow()
        else:
            reader.cancel()
        if found is None:
            raise Empty()
        return found

    def _wait_for_one(self, reader: QueueReader) -> None:
        """It comes also when the channel has as much as it may: the other queues do not get the place."""
        most = self.qos.unanswered() + 1
        others = [other for other in self._limited() if other is not reader]
        for other in others:
            other.allow(0)
        self.limit.set(max(self.qos.prefetch_count + 1, most) if self.qos.prefetch_count else UNBOUND)
        reader.allow(most)
        while reader.fetch(GET_MS) and not reader.ready:  # what came was no message of kombu
            pass
        self.basic_qos(prefetch_count=self.qos.prefetch_count)
        for other in others:
            other.allow()

    def _limited(self) -> List[QueueReader]:
        """Of queues that are consumed with acknowledgements."""
        return [reader for reader in self.readers.values()
                if isinstance(reader, QueueReader) and reader.limited and reader.callback]

    def _open_reader(self, queue: str, limited: bool, most: Optional[int] = None) -> Reader:
        found = self.queue(queue)
        reader = self.readers[queue] = found.reader(self._make, self.limit if limited else None, most)
        return reader

    def _make(self, raw: Raw) -> QueueMessage:
        message = self.Message(raw, channel=self)
        # A worker of Celery takes both for granted.
        if self.qos.teller is not None and "task" in message.headers and \
                not all(isinstance(message.headers.get(name), str) for name in ("task", "id")):
            raise TypeError("it is no task")
        return message

    @property
    def limit(self) -> Limit:
        """Of all queues together that this channel consumes with acknowledgements."""
        if self._limit is None:
            self._limit = self.connection.consuming.limit(self.qos.prefetch_count or UNBOUND)
        return self._limit

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
        return not self.qos.can_consume() and bool(self._limited())

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
