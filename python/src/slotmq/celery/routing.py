"""Which queues get a message: the bindings that are no default, in one hash of Redis that all processes share.

A queue that is bound to a direct exchange by its own name, as Celery's queues are, needs no entry and no look-up.
"""
import json
import re
import threading
import time
from typing import Callable, Dict, List, Optional, Set, Tuple

from kombu.transport.virtual.exchange import TopicExchange

from .session import Session

FRESH_S = 5.0  # how long a process routes by what it has read, as long as that has a route
Row = Tuple[str, str]  # (binding key, queue)


def is_default(exchange: str, kind: str, routing_key: str, queue: str) -> bool:
    return kind == "direct" and routing_key == queue and exchange in ("", queue)


def matcher(binding_key: str) -> Callable[[str], bool]:
    """Whether a routing key fits; one that is not given does."""
    pattern = TopicExchange(None).key_to_pattern(binding_key) if binding_key else ""
    return lambda given: not given or re.match(pattern, given) is not None


class Bindings:
    """The table of one broker.  Thread: any."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._key = f"celery:{session.settings.prefix}bindings"
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._kinds: Dict[str, str] = {}
        self._rows: Dict[str, List[Row]] = {}
        self._with_mailboxes: Set[str] = set()
        self._written: Set[str] = set()

    def add(self, exchange: str, kind: str, routing_key: str, queue: str) -> None:
        self._write(json.dumps([exchange, kind, routing_key or "", queue]))

    def add_mailboxes(self, exchange: str, kind: str) -> None:
        """The exchange has queues whose bindings are keys of their own, which end by themselves."""
        self._write(json.dumps([exchange, kind]))

    def _write(self, field: str) -> None:
        with self._lock:
            if field not in self._written:
                self._session.redis.hset(self._key, field, "")
                self._written.add(field)
                self._read_at = float("-inf")

    def remove(self, *, queue: str = "", row: Optional[Tuple[Optional[str], ...]] = None) -> None:
        """All bindings of a queue, or one (exchange, kind, routing key, queue)."""
        with self._lock:
            fields = [json.dumps(list(row))] if row else [
                field for field in self._fields() if len(json.loads(field)) == 4 and json.loads(field)[3] == queue]
            if fields:
                self._session.redis.hdel(self._key, *fields)
            self._written.difference_update(fields)
            self._read_at = float("-inf")

    def kind_of(self, exchange: str) -> str:
        self._refresh(FRESH_S)
        return self._kinds.get(exchange, "direct")

    def rows(self, exchange: str, now: bool = False) -> List[Row]:
        """Of an exchange; `now`: as they are in Redis."""
        self._refresh(0.0 if now else FRESH_S)
        return self._rows.get(exchange, [])

    def has_mailboxes(self, exchange: str) -> bool:
        return exchange in self._with_mailboxes

    def all(self) -> "List[Tuple[str, str, str]]":
        """(queue, exchange, binding key) of each."""
        self._refresh(0.0)
        return [(queue, exchange, key) for exchange, rows in self._rows.items() for key, queue in rows]

    def _fields(self) -> List[str]:
        return [field.decode() for field in self._session.redis.hkeys(self._key)]

    def _refresh(self, oldest: float) -> None:
        with self._lock:
            if time.monotonic() - self._read_at < oldest:
                return
            kinds: Dict[str, str] = {}
            rows: Dict[str, List[Row]] = {}
            with_mailboxes = set()
            for field in self._fields():
                exchange, kind, *row = json.loads(field)
                kinds[exchange] = kind
                if row:
                    rows.setdefault(exchange, []).append((row[0], row[1]))
                else:
                    with_mailboxes.add(exchange)
            self._kinds, self._rows, self._with_mailboxes = kinds, rows, with_mailboxes
            self._read_at = time.monotonic()
