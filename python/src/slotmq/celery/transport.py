"""The transport: what kombu and Celery call the connection to the broker."""
import contextlib
import os
import socket
import time
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

import redis
from kombu import Connection
from kombu.exceptions import ConnectionError as KombuConnectionError
from kombu.transport import base, virtual
from kombu.utils.eventio import ERR, READ, poll

from .._native import ffi, lib
from ..client import Client
from ..errors import Error, FatalError, RetryError, UnknownError, UsageError
from .channel import Channel
from .compat import Loop, is_stopping, take_idle_channels
from .mailbox import Mailboxes
from .readers import Reader
from .routing import Bindings
from .session import Session, session_of
from .settings import Settings, masked

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
    recoverable_channel_errors: Tuple[Type[Exception], ...] = ()
    implements = base.Transport.implements.extend(
        asynchronous=True, exchange_type=frozenset(["direct", "topic", "fanout"]), heartbeats=False)

    def __init__(self, client: Connection, **kwargs: object) -> None:
        super().__init__(client, **kwargs)
        self.settings = Settings(client.hostname or DEFAULT_URL, client.transport_options, client.ssl,
                                 (client.userid or "", client.password or ""))
        self.fanouts: Dict[str, Tuple[str, str, str]] = {}  # by queue: exchange, cursor, binding key
        self._of_session: Optional[Session] = None
        self._consuming: Optional[Client] = None
        self._pid = os.getpid()
        self._last = ""  # the queue of the last message
        self._watched: Dict[int, Reader] = {}
        self._poller: Optional[Any] = None  # epoll, or what there is
        self._live_at = time.monotonic() + LIVE_S

    # The connection.

    def establish_connection(self) -> "Transport":
        if not self.session.may_connect():
            raise KombuConnectionError("no server of Redis can be reached now")
        super().establish_connection()
        return self

    def close_connection(self, connection: object) -> None:
        for channel in list(self.channels) + take_idle_channels(self):
            channel.close()
        self.cycle.close()
        consuming, self._consuming = self._consuming, None
        if consuming is not None and self.is_own():
            consuming.close()
        self._drop_poller()

    def is_own(self) -> bool:
        """False: this is a child of the process that has connected."""
        return self._pid == os.getpid()

    @property
    def session(self) -> Session:
        found = session_of(self.settings)
        if found is not self._of_session:
            self._of_session = found
            self._stores = Mailboxes(found), Bindings(found)
        return found

    @property
    def mailboxes(self) -> Mailboxes:
        assert self.session
        return self._stores[0]

    @property
    def bindings(self) -> Bindings:
        assert self.session
        return self._stores[1]

    @property
    def consuming(self) -> Client:
        """A client can consume a topic once, and the process may have several connections: each that consumes has a
        client of its own."""
        if self._consuming is None:
            self._consuming = Client(self.settings.servers.address, **self.settings.options["client"])
            self._pid = os.getpid()
        return self._consuming

    def driver_version(self) -> str:
        version: bytes = ffi.string(lib.smq_version())
        return version.decode()

    def as_uri(self, uri: str, include_password: bool = False, mask: str = "**") -> str:
        uri = uri if "://" in uri else f"slotmq://{uri}"
        return uri if include_password else masked(uri, mask)

    @property
    def default_connection_params(self) -> Dict[str, str]:
        return {"hostname": DEFAULT_URL}

    # Waiting and delivering, without a loop.

    def drain_events(self, connection: object, timeout: Optional[float] = None) -> None:
        """Deliver one message.  Raises socket.timeout when no message came in time, or when none can come before one
        is acknowledged: a worker of threads or greenlets acknowledges only after this call has returned."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            self._live_if_due()
            for reader in self._readers():
                if not reader.ready:
                    self._fetch(reader)
            if self._deliver_one():
                return
            left = LIVE_S if end is None else min(end - time.monotonic(), LIVE_S)
            if left <= 0 and end is not None:
                raise socket.timeout()
            full = end is not None and self._is_full()
            if not self._wait(min(left, FULL_S) if full else left) and full:
                raise socket.timeout()

    def _wait(self, timeout: float) -> bool:
        """Whether a reader has something."""
        if self._poller is None:
            self._poller = poll()
        poller = self._poller
        self._watch(lambda fd, reader: poller.register(fd, READ | ERR), self._unwatch)
        return bool(poller.poll(timeout))

    def _unwatch(self, fd: int) -> None:
        with contextlib.suppress(OSError):  # a reader that has closed it
            if self._poller is not None:
                self._poller.unregister(fd)

    def _drop_poller(self) -> None:
        if self._poller is not None:
            self._poller.close()
        self._poller, self._watched = None, {}

    def _readers(self) -> List[Reader]:
        """Of queues that are consumed, in the order in which they take turns: the one that came last is the last."""
        readers = [reader for channel in self.channels for reader in channel.readers.values() if reader.callback]
        last = next((place for place, reader in enumerate(readers) if reader.queue == self._last), -1)
        return readers[last + 1:] + readers[:last + 1]

    def _is_full(self) -> bool:
        return any(channel.is_full() for channel in self.channels)

    def _watch(self, add: Callable[[int, Reader], object], remove: Callable[[int], None]) -> None:
        """Wait for the readers; connections of mailboxes come and go."""
        wanted = {reader.fileno(): reader for reader in self._readers()}
        wanted.pop(-1, None)
        for fd, reader in list(self._watched.items()):
            if wanted.get(fd) is not reader:
                remove(fd)
                del self._watched[fd]
        for fd, reader in wanted.items():
            if fd not in self._watched:
                add(fd, reader)
                self._watched[fd] = reader

    def _fetch(self, reader: Reader) -> None:
        try:
            reader.fetch()
        except Error as error:
            raise ConsumerEnded(f"queue {reader.queue}: {error}") from error

    def _deliver_one(self) -> bool:
        """One that is ready."""
        for reader in self._readers():
            if reader.ready and reader.callback:
                self._last = reader.queue
                reader.callback(reader.ready.popleft())
                return True
        return False

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
                    if reader.callback:
                        raise ConsumerEnded(f"queue {reader.queue}: {error}") from error

    # With the loop of a worker.

    def register_with_event_loop(self, connection: object, loop: Loop) -> None:
        self._drop_poller()
        planned: List[object] = []

        def on_tick() -> None:
            # A solo worker runs a task in its delivery, and may be asked to end in it.
            while not is_stopping() and self._deliver_one():
                pass
            self._watch(lambda fd, reader: loop.add_reader(fd, self._fetch, reader), loop.remove_reader)
            if self._is_full() and not planned:
                # A pool of threads leaves its answers to the loop without waking it.
                planned.append(loop.call_later(FULL_S, planned.clear))

        loop.on_tick.add(on_tick)
        loop.call_repeatedly(LIVE_S, self.live)
