"""The transport: what kombu and Celery call the connection to the broker."""
import contextlib
import os
import socket
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

import redis
from kombu.exceptions import ConnectionError as KombuConnectionError
from kombu.transport import base, virtual
from kombu.utils.eventio import ERR, READ, poll

from .._native import ffi, lib
from ..client import Client
from ..errors import Error, FatalError, RetryError, UnknownError, UsageError
from .channel import Channel
from .mailbox import Mailboxes
from .readers import QueueReader
from .routing import Bindings
from .session import Session, session_of
from .settings import DAY_MS, Settings, masked

LIVE_S = 5.0    # between signs of life
FULL_S = 0.05   # how long a channel that has enough waits for answers of other threads
DEFAULT_URL = "slotmq://127.0.0.1:6379"


class ConsumerEnded(KombuConnectionError):
    """A queue can no longer be consumed, for example because it was deleted.  A worker connects again, and declares
    its queues."""


class Transport(virtual.Transport):
    """One for each connection of kombu.  Thread: that which drains it; publishes may come from others."""

    Channel = Channel
    can_parse_url = True
    default_port = 6379
    # Celery asks for the type, and gives the types that it knows gossip, mingle and events by fanout.
    driver_type = "redis"
    driver_name = "slotmq"
    connection_errors = (KombuConnectionError, RetryError, UnknownError, FatalError, redis.exceptions.ConnectionError,
                         redis.exceptions.TimeoutError, redis.exceptions.ClusterDownError,
                         redis.exceptions.RedisClusterException, socket.error, IOError, OSError)
    channel_errors = virtual.Transport.channel_errors + (UsageError, redis.exceptions.ResponseError)
    recoverable_connection_errors = connection_errors
    recoverable_channel_errors: Tuple[Any, ...] = ()
    implements = base.Transport.implements.extend(
        asynchronous=True, exchange_type=frozenset(["direct", "topic", "fanout"]), heartbeats=False)

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.settings = Settings(client.hostname or DEFAULT_URL, client.transport_options, client.ssl,
                                 (client.userid or "", client.password or ""))
        self.fanouts: Dict[str, Tuple[str, str, str]] = {}  # by queue: exchange, cursor, binding key
        self._of_session: Optional[Session] = None
        self._mailboxes: Any = None
        self._bindings: Any = None
        self._consuming: Optional[Client] = None
        self._pid = os.getpid()
        self._turn: Deque[str] = deque()
        self._watched: Dict[int, Any] = {}
        self._poller: Any = None
        self._pipe: Optional[Tuple[int, int]] = None
        self._sleeps = False
        self._full = False  # a reader is not waited for, because its channel has enough
        self._look_again: Optional[Callable[[], None]] = None  # with the loop of a worker
        self._live_at = time.monotonic() + LIVE_S

    # The connection.

    def establish_connection(self) -> "Transport":
        if not self.session.may_connect():
            raise KombuConnectionError("no server of Redis can be reached now")
        super().establish_connection()
        return self

    def close_connection(self, connection: Any) -> None:
        for channel in list(self.channels) + list(self._avail_channels):
            channel.close()
        self._avail_channels.clear()
        self.cycle.close()
        consuming, self._consuming = self._consuming, None
        if consuming is not None and self.is_own():
            consuming.close()
        for fd in self._pipe or ():
            os.close(fd)
        self._pipe = None
        self._drop_poller()
        self._look_again = None

    def is_own(self) -> bool:
        """False: this is a child of the process that has connected."""
        return self._pid == os.getpid()

    @property
    def session(self) -> Session:
        found = session_of(self.settings)
        if found is not self._of_session:
            self._of_session = found
            self._mailboxes, self._bindings = Mailboxes(found), Bindings(found)
        return found

    @property
    def mailboxes(self) -> Any:
        return self.session and self._mailboxes

    @property
    def bindings(self) -> Any:
        return self.session and self._bindings

    def queue_reader(self, queue: str, limited: bool, most: int) -> QueueReader:
        """A client can consume a topic once, and the process may have several connections: each that consumes has a
        client of its own."""
        if self._consuming is None:
            self._consuming = Client(self.settings.servers.address, **self.settings.options["client"])
            self._pid = os.getpid()
        options = {"max_poll_gap_ms": DAY_MS, **self.settings.of_queue(queue, "consumer")}
        return QueueReader(self._consuming, self.settings.topic_of(queue), queue, limited, most, options)

    def driver_version(self) -> str:
        version: bytes = ffi.string(lib.smq_version())
        return version.decode()

    def as_uri(self, uri: str, include_password: bool = False, mask: str = "**") -> str:
        uri = uri if "://" in uri else f"slotmq://{uri}"
        return uri if include_password else masked(uri, mask)

    @property
    def default_connection_params(self) -> Dict[str, Any]:
        return {"hostname": DEFAULT_URL}

    # Waiting and delivering, without a loop.

    def drain_events(self, connection: Any, timeout: Optional[float] = None) -> None:
        """Deliver one message.  Raises socket.timeout: none came in time, or none can come before there are answers,
        which a worker of threads or greenlets keeps until this returns."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            self._live_if_due()
            self._sleeps = True
            self._balance()
            if self._deliver_one():
                return
            left = LIVE_S if end is None else min(end - time.monotonic(), LIVE_S)
            if left <= 0 and end is not None:
                raise socket.timeout()
            if self._sleep(left, timeout is not None):
                raise socket.timeout()

    def _sleep(self, timeout: float, may_end: bool) -> bool:
        """Whether all that could deliver have enough, and nobody answered."""
        if self._poller is None:
            self._poller, self._watched = poll(), {}
        if self._pipe is None:
            self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            self._poller.register(self._pipe[0], READ | ERR)
        self._watch(lambda fd, reader: self._poller.register(fd, READ | ERR), self._unwatch)
        full = may_end and self._full
        found = self._poller.poll(min(timeout, FULL_S) if full else timeout) or ()
        self._sleeps = False
        if any(fd == self._pipe[0] for fd, _ in found):
            os.read(self._pipe[0], 4096)  # with eventlet a read of an empty pipe would wait
            return False
        return full

    def _unwatch(self, fd: int) -> None:
        with contextlib.suppress(OSError):  # a reader that has closed it
            self._poller.unregister(fd)

    def wake(self) -> None:
        """A message was answered, so there may be room again.  The loop of a worker has looked before it comes to
        answers, and then sleeps; without a loop the answer may be that of another thread."""
        if self._look_again is not None:
            if self._full:
                self._look_again()
        elif self._sleeps and self._pipe is not None:
            try:
                os.write(self._pipe[1], b"x")
            except BlockingIOError:
                pass

    def _drop_poller(self) -> None:
        if self._poller is not None:
            self._poller.close()
        self._poller, self._watched = None, {}

    def _readers(self) -> List[Tuple[Any, Any]]:
        return [(channel, reader) for channel in self.channels for reader in channel.active_readers()]

    def _watch(self, add: Callable[[int, Any], Any], remove: Callable[[int], Any]) -> None:
        """Wait for those that may deliver, and only for these, because their descriptors are level-triggered."""
        wanted = {}
        self._full = False
        for channel, reader in self._readers():
            if not channel.room(reader):
                self._full = True
            elif reader.fileno() >= 0:
                wanted[reader.fileno()] = (channel, reader)
        for fd, pair in list(self._watched.items()):
            if wanted.get(fd, (None, None))[1] is not pair[1]:
                remove(fd)
                del self._watched[fd]
        for fd, pair in wanted.items():
            if fd not in self._watched:
                add(fd, pair)
                self._watched[fd] = pair

    def _deliver_one(self) -> bool:
        pairs = self._readers()
        # Begin behind the queue that came last.
        if self._turn:
            pairs.sort(key=lambda pair: bool(pair[1].queue == self._turn[0]))
        for channel, reader in pairs:
            if not reader.ready:
                self._fetch(channel, reader)
            if reader.ready and self._deliver_from(channel, reader):
                self._turn.clear()
                self._turn.append(reader.queue)
                return True
        return False

    def _fetch(self, channel: Any, reader: Any) -> None:
        room = channel.room(reader)
        if not room:
            return
        try:
            reader.fetch(room)
        except Error as error:
            raise ConsumerEnded(f"queue {reader.queue}: {error}") from error

    def _deliver_from(self, channel: Any, reader: Any) -> bool:
        """One that is ready; False: the channel has enough."""
        if reader.limited and not channel.qos.can_deliver():
            return False
        raw = reader.ready.popleft()
        callback = self._callbacks.get(reader.queue)
        if callback is None:
            raw.delivery.release()
        else:
            callback(raw)
        return True

    def _balance(self) -> None:
        for channel in self.channels:
            channel.balance()

    def _live_if_due(self) -> None:
        if time.monotonic() >= self._live_at:
            self.live()

    def live(self) -> None:
        """Signs of life, also of queues that were cancelled and have tasks that still run."""
        self._live_at = time.monotonic() + LIVE_S
        for channel in self.channels:
            for reader in list(channel.readers.values()):
                try:
                    reader.live()
                except Error as error:
                    if reader in channel.active_readers():
                        raise ConsumerEnded(f"queue {reader.queue}: {error}") from error

    # With the loop of a worker.

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        self._drop_poller()

        planned: List[Any] = []

        def look() -> None:
            self._balance()
            self._watch(lambda fd, pair: loop.add_reader(fd, self._on_readable, *pair), loop.remove_reader)
            if self._full and not planned:
                # A pool of threads leaves its answers to the loop without waking it.
                planned.append(loop.call_later(FULL_S, planned.clear))

        def on_tick() -> None:
            for channel, reader in self._readers():
                if reader.ready:
                    self._deliver_all(channel, reader)
            look()

        self._look_again = look
        loop.on_tick.add(on_tick)
        loop.call_repeatedly(LIVE_S, self.live)

    def _on_readable(self, channel: Any, reader: Any) -> None:
        self._fetch(channel, reader)
        self._deliver_all(channel, reader)

    def _deliver_all(self, channel: Any, reader: Any) -> None:
        """What is ready, as far as the channel has room; the rest waits for the next turn."""
        while reader.ready and self._deliver_from(channel, reader):
            pass
