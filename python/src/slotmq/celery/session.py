"""What all connections of a process to one broker share: a client and a producer of slotmq, and redis-py.

A child of fork() forgets what its parent has opened, and opens its own at its first call."""
import atexit
import os
import threading
from typing import Dict, List, Optional

from redis import Redis

from ..client import Client
from .link import open_redis
from .settings import Chosen, Settings

_sessions: Dict[str, "Session"] = {}
_lock = threading.Lock()
_inherited: List["Session"] = []  # never freed: they belong to the parent


class Session:
    """Thread: any."""

    def __init__(self, settings: Settings) -> None:
        options = {name: value for name, value in settings.options["client"].items() if name != "name"}
        self.settings = settings
        self.client = Client(settings.servers.address, **options)
        self.producer = self.client.producer(**settings.options["producer"])
        # Queues that are topics, as far as this process knows, with the arguments of their declaration; and those
        # that are mailboxes.
        self.topics: Dict[str, Chosen] = {}
        self.mailboxes: "set[str]" = set()
        self._redis: Optional[Redis] = None
        self._lock = threading.Lock()

    @property
    def redis(self) -> Redis:
        if self._redis is None:
            with self._lock:
                if self._redis is None:
                    self._redis = open_redis(self.settings.servers, self.settings.options["client"])
        return self._redis

    def may_connect(self) -> bool:
        """False: the client of slotmq reaches no node.  It tries again by itself, and costs less than another that
        tries."""
        health = self.client.health()
        return not health.redis_nodes or health.redis_nodes_failed < health.redis_nodes

    def close(self) -> None:
        self.client.close()
        if self._redis is not None:
            self._redis.close()


def session_of(settings: Settings) -> Session:
    """The one of this process.  Blocks: connect_timeout_ms, the first time."""
    with _lock:
        found = _sessions.get(settings.key)
        if found is None:
            found = _sessions[settings.key] = Session(settings)
        return found


def close_sessions() -> None:
    """Close all that is shared; the next use opens it again."""
    with _lock:
        open_now = list(_sessions.values())
        _sessions.clear()
    for session in open_now:
        session.close()


def _forget() -> None:
    global _lock
    _inherited.extend(_sessions.values())
    _sessions.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
atexit.register(close_sessions)
