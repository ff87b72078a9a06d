"""What is no queue of work: fanout, and mailboxes, which are queues that end with who declared them.

A fanout exchange is one stream, which each reader reads from where it was; a mailbox is one list.  Each is one key,
which ends by itself when nobody has used it for a while.  None of them is a topic: those are for work.
"""
import time
from typing import Any, Callable, Dict, List, Optional

from kombu.utils.json import dumps
from redis.connection import Connection

from ..calls import Span
from .compat import descriptor_of
from .link import FAILURES, connection_of, find_nodes_again
from .publishing import Make, Payload
from .readers import Reader
from .session import Session

WAIT_MS = 5000         # how long Redis waits before it says that nothing came
SILENT_S = 15.0        # a connection that says nothing for so long is dead
AGAIN_S = (0.1, 2.0)   # pauses between attempts to connect
PAGE = 100             # messages of a fanout in one reply
MAILBOX_TTL_MS = 3_600_000
LEAST_TTL_MS = 2 * WAIT_MS


class Mailboxes:
    """The keys of one broker.  Thread: any."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prefix = f"celery:{session.settings.prefix}"
        self._ttl_ms: Dict[str, int] = {}
        self._addresses: Dict[str, List[str]] = {}

    def list_key(self, queue: str) -> str:
        return f"{self._prefix}mailbox:{queue}"

    def stream_key(self, exchange: str) -> str:
        return f"{self._prefix}fanout:{exchange}"

    def address_key(self, exchange: str, routing_key: str) -> str:
        return f"{self._prefix}address:{exchange}:{routing_key}"

    def declare(self, queue: str, ttl_ms: int) -> None:
        self._ttl_ms[queue] = max(ttl_ms, LEAST_TTL_MS)
        self.bind(queue, "", queue)

    def bind(self, queue: str, exchange: str, routing_key: str) -> None:
        key = self.address_key(exchange, routing_key)
        self._addresses.setdefault(queue, []).append(key)
        self._session.redis.sadd(key, queue)
        self._session.redis.pexpire(key, self._ttl_ms.get(queue, MAILBOX_TTL_MS))

    def renew(self, queue: str) -> None:
        for key in self._addresses.get(queue, []):
            self._session.redis.pexpire(key, self._ttl_ms[queue])

    def find(self, exchange: str, routing_key: str) -> List[str]:
        return [name.decode() for name in self._session.redis.smembers(self.address_key(exchange, routing_key))]

    def put(self, queue: str, message: Payload) -> None:
        key = self.list_key(queue)
        pipeline = self._session.redis.pipeline()
        pipeline.rpush(key, dumps(message))
        pipeline.pexpire(key, self._ttl_of(queue))
        pipeline.execute()

    def _ttl_of(self, queue: str) -> int:
        """Of a queue that another process has declared: about what is left of its address, which its reader renews."""
        if queue in self._ttl_ms:
            return self._ttl_ms[queue]
        left = int(self._session.redis.pttl(self.address_key("", queue)))
        return max(left, LEAST_TTL_MS) if left > 0 else MAILBOX_TTL_MS

    def size(self, queue: str) -> int:
        return int(self._session.redis.llen(self.list_key(queue)))

    def purge(self, queue: str) -> int:
        count = self.size(queue)
        self._session.redis.delete(self.list_key(queue))
        return count

    def delete(self, queue: str) -> None:
        for key in self._addresses.pop(queue, []):
            self._session.redis.srem(key, queue)
        self._session.redis.delete(self.list_key(queue))
        self._ttl_ms.pop(queue, None)

    def cast(self, exchange: str, routing_key: str, message: Payload) -> None:
        """To all who read the fanout now."""
        own, key = self._session.settings.own, self.stream_key(exchange)
        pipeline = self._session.redis.pipeline()
        pipeline.xadd(key, {"k": routing_key or "", "m": dumps(message)}, maxlen=own["fanout_max_len"])
        pipeline.pexpire(key, own["fanout_ttl_ms"])
        pipeline.execute()

    def last_of(self, exchange: str) -> str:
        """Where somebody begins who wants only what comes from now on."""
        newest = self._session.redis.xrevrange(self.stream_key(exchange), count=1)
        return newest[0][0].decode() if newest else "0-0"


class NullDelivery:
    """Of a message that left Redis when it was read."""

    __slots__ = ("_reader", "_body", "redelivered")

    def __init__(self, reader: "KeyReader", body: bytes, redelivered: bool = False) -> None:
        self._reader = reader
        self._body = body
        self.redelivered = redelivered

    def done(self) -> None:
        """There is nothing left to do."""

    def reject(self, reason: Optional[str] = None) -> None:
        """It is dropped: what was meant for whoever listened is no dead letter."""

    def retry(self, reason: Optional[str] = None, *, delay_ms: Span = 0) -> None:
        self.release()

    def release(self, *, delay_ms: Span = 0) -> None:
        self._reader.put_back(self._body)


class KeyReader(Reader):
    """Waits for one key on a connection of its own, which is made again when it fails."""

    key: str

    def __init__(self, mailboxes: Mailboxes, session: Session, queue: str, make: Make) -> None:
        super().__init__(queue, make)
        self.mailboxes = mailboxes
        self._session = session
        self._connection: Optional[Connection] = None
        self._fresh = True      # the nodes are as they were found
        self._heard_at = 0.0
        self._try_at = 0.0
        self._pause = AGAIN_S[0]

    def fileno(self) -> int:
        if self._connection is None and time.monotonic() >= self._try_at:
            self._connect()
        return descriptor_of(self._connection)

    def fetch(self) -> None:
        if self._connection is None:
            return
        try:
            if not self._connection.can_read(0):
                self._end_if_silent()
                return
            reply = self._connection.read_response()
            self._heard_at = time.monotonic()
            for body in self._bodies(reply):
                self.take(body, NullDelivery(self, body))
            self._ask(self._connection)
        except FAILURES:
            self._fail()

    def live(self) -> None:
        if self._connection is not None:
            self._end_if_silent()

    def cancel(self) -> bool:
        """Nothing to give back: mailboxes have one reader."""
        self.close()
        return False

    def put_back(self, body: bytes) -> None:
        """Next in turn."""
        self.take(body, NullDelivery(self, body, True))
        self.ready.rotate()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        self._try_at = float("inf")
        if connection is not None:
            connection.disconnect()

    def _connect(self) -> None:
        if not self._session.may_connect():
            self._fail()
            return
        try:
            if not self._fresh:
                find_nodes_again(self._session.redis)
                self._fresh = True
            self._connection = connection_of(self._session.redis, self.key)
            self._connection.connect()
            self._heard_at = time.monotonic()
            self._ask(self._connection)
            self._pause = AGAIN_S[0]
        except FAILURES:
            self._fail()

    def _fail(self) -> None:
        connection, self._connection = self._connection, None
        self._fresh = False
        self._try_at = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, AGAIN_S[1])
        if connection is not None:
            connection.disconnect()

    def _end_if_silent(self) -> None:
        if time.monotonic() - self._heard_at > SILENT_S:
            self._fail()

    def _ask(self, connection: Connection) -> None:
        raise NotImplementedError

    def _bodies(self, reply: Any) -> List[bytes]:
        raise NotImplementedError


class MailboxReader(KeyReader):
    """A list: of several readers one gets a message."""

    def __init__(self, mailboxes: Mailboxes, session: Session, queue: str, make: Make) -> None:
        super().__init__(mailboxes, session, queue, make)
        self.key = mailboxes.list_key(queue)

    def _ask(self, connection: Connection) -> None:
        connection.send_command("BLPOP", self.key, WAIT_MS // 1000)

    def _bodies(self, reply: Any) -> List[bytes]:
        if reply is None:
            self.mailboxes.renew(self.queue)
            return []
        return [reply[1]]


class FanoutReader(KeyReader):
    """A stream: each reader gets all whose routing key fits."""

    def __init__(self, mailboxes: Mailboxes, session: Session, queue: str, make: Make, exchange: str,
                 cursor: str, fits: Callable[[str], bool]) -> None:
        super().__init__(mailboxes, session, queue, make)
        self.key = mailboxes.stream_key(exchange)
        self.cursor = cursor
        self._fits = fits

    def _ask(self, connection: Connection) -> None:
        connection.send_command("XREAD", "COUNT", PAGE, "BLOCK", WAIT_MS, "STREAMS", self.key, self.cursor)

    def _bodies(self, reply: Any) -> List[bytes]:
        found = []
        for number, fields in (reply[0][1] if reply else []):
            self.cursor = number.decode()
            values = dict(zip(fields[::2], fields[1::2]))
            if self._fits(values.get(b"k", b"").decode(errors="replace")):
                found.append(values.get(b"m", b""))
        return found
