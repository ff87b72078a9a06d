"""The client, its topics, and its events, which go to `logging`."""
import logging
import selectors
import signal
import socket
import threading
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from ._native import ffi, lib
from .calls import (Bytes, Handle, Option, Options, Owned, decoded, ended_in_time, in_main_thread, interruptible,
                    made, number_in, put_bytes, report, sized, text_of, visited, wait_for)
from .consumer import Consumer, Limit
from .errors import NoTopic, error_of
from .producer import Producer
from .records import (Health, Message, Metrics, Stats, StoredMessage, TopicReport, message_struct, put_number, read,
                      stored_message)
from .schedules import Schedules
from .worker import Handler, Worker

LEVELS = {lib.SMQ_LEVEL_ERROR: logging.ERROR, lib.SMQ_LEVEL_WARN: logging.WARNING, lib.SMQ_LEVEL_INFO: logging.INFO,
          lib.SMQ_LEVEL_DEBUG: logging.DEBUG, lib.SMQ_LEVEL_TRACE: logging.DEBUG}
EVENTS = 64  # events that one poll takes
PAGE = 100   # messages that one visit shows


class Client(Handle):
    """The connections of a process to Redis and ZooKeeper.  One for each process is enough; close() it, or use it in
    a `with`.

    `redis`: "host:port,host:port", "redis://user:password@...", "rediss://..." for TLS.  Further options are those
    of the client in docs/CONFIGURATION.md, as zookeeper="host:port" or request_timeout_ms=1000.  Events go to the
    logger "slotmq", those below `event_level` not.

    Blocks: connect_timeout_ms.  Raises RetryError: UNAVAILABLE; UsageError: DENIED, BAD_SERVER, INVALID.
    Fork: a child cannot use what its parent opened, which raises UsageError (FORKED) there; it opens its own.
    """

    def __init__(self, redis: str, **options: Option) -> None:
        filled = Options("client", {**options, "redis": redis, "poll_events": True})
        self._servers = redis.rpartition("@")[2]  # without users and passwords
        self._opened: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._workers: List[Worker] = []
        self._worker_ended = threading.Event()
        self._stops = False
        owned = made(lib.smq_client_new, "smq_client", lib.smq_client_free, filled.pointer, keep=filled)
        self._events = _Events(owned)
        self._owned = owned

    def topic(self, name: str) -> "Topic":
        """A topic by its name; this asks no server."""
        return Topic(self, name)

    def create(self, name: str, **options: Option) -> "Topic":
        """Create a topic, or find it as it is: Topic.create()."""
        topic = Topic(self, name)
        topic.create(**options)
        return topic

    def topics(self) -> List[str]:
        """The names of all topics: TOPIC/GROUP for each group, in place of a topic that has groups.  Blocks:
        request_timeout_ms for each round trip."""
        return visited(lib.smq_topic_each, lib.slotmq_visit_topic, lambda info: decoded(info.name), self)

    def producer(self, **options: Option) -> Producer:
        """Make a producer, with the options of a producer in docs/CONFIGURATION.md."""
        producer = Producer(self, options)
        self._opened.add(producer)
        return producer

    def limit(self, most: int) -> Limit:
        """Make a limit of `most` unanswered deliveries, for consumers and workers of this client."""
        limit = Limit(self, most)
        self._opened.add(limit)
        return limit

    def consumer(self, topic: str, *, limit: Optional[Limit] = None, **options: Option) -> Consumer:
        """Make a consumer that is polled, with the options of a consumer in docs/CONFIGURATION.md, perhaps with a limit
        that it shares with others.  Blocks: request_timeout_ms; the first of an exclusive topic also up to 8 s for
        ZooKeeper."""
        consumer = Consumer(self, topic, options, limit)
        self._opened.add(consumer)
        return consumer

    def worker(self, topic: str, *, threads: int = 1, batch: int = 0, limit: Optional[Limit] = None,
               **options: Option) -> Callable[[Handler], Worker]:
        """A decorator: the function becomes the handler of a worker, which run() starts.  It has `threads` threads;
        with `batch` the handler gets lists of up to so many deliveries."""
        def decorate(handler: Handler) -> Worker:
            worker = Worker(self, topic, handler, threads, batch, options, limit)
            self._workers.append(worker)
            return worker
        return decorate

    def run(self, signals: Sequence[int] = (signal.SIGINT, signal.SIGTERM)) -> None:
        """Start all workers, and wait until one of the signals comes, stop() is called or one of them ends; then stop
        all, and wait for the handlers that run.  Raises the error that ended a worker.  Outside of the main thread
        `signals` must be ().  When it has returned it may be called again."""
        if not self._workers:
            raise RuntimeError("the client has no worker that could run")
        if signals and not in_main_thread():
            raise RuntimeError("only the main thread of Python gets signals: call run(signals=()) in another one")
        self._stops = False
        self._worker_ended.clear()
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in signals}
        started: List[Worker] = []
        try:
            for worker in self._workers:
                worker.start()
                started.append(worker)
            if self._stops:
                self.stop()  # those that had not begun
            ended_in_time(self._worker_ended)
        finally:
            for worker in started:
                worker.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        for worker in started:
            worker.wait(0)

    def stop(self) -> None:
        """Begin a graceful stop of all workers.  The call returns at once; any thread and any handler may call it."""
        self._stops = True
        for worker in self._workers:
            worker.stop()

    def health(self) -> Health:
        """The health of this process.  Blocks: 1 s.  Raises RetryError: TIMED_OUT (the library is stuck)."""
        return read(Health, "smq_health", lib.smq_client_health, self)

    def metrics(self) -> Metrics:
        """What this process has done by all objects of this client."""
        return read(Metrics, "smq_metrics", lib.smq_client_metrics, self)

    def metrics_text(self, topics: Optional[str] = None) -> str:
        """The metrics as Prometheus text, with the stats of the topics "a,b" or "*".  Blocks: with topics,
        request_timeout_ms for each round trip."""
        out = ffi.new("char **")
        wait_for(lib.smq_metrics_text, self, text_of(topics, "topics") if topics else ffi.NULL, out)
        try:
            return decoded(out[0])
        finally:
            lib.smq_free(out[0])

    def close(self) -> None:
        """Stop workers, and close consumers, producers and the connections.  In a child of the process that has made
        the client only its memory is freed.  Raises WrongThread in a handler, which close() would wait for: call
        stop() there."""
        for worker in self._workers:
            worker._check_thread("client")
        self._events.check_thread()
        if self._owned and self._owned.ours:
            for worker in self._workers:
                worker.close()
        owned = self._taken()
        if owned:
            self._end(owned, wait=True)

    def _dropped(self) -> None:
        """Perhaps on the thread of the events, or while that needs what this thread has locked."""
        owned = self._taken()
        if owned:
            self._end(owned, wait=False)

    def _end(self, owned: Owned, wait: bool) -> None:
        for opened in list(self._opened):
            opened.close()
        self._events.end(owned.ours, wait)
        interruptible(owned.end)

    def _about(self) -> str:
        return self._servers


class Topic:
    """A topic of a client.  Each call blocks for request_timeout_ms for each round trip, and raises UsageError
    (NO_TOPIC) if the topic does not exist."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = text_of(name, "the name of a topic")
        self.name = name
        #: Its schedules, messages that are stored at times which repeat.
        self.schedules = Schedules(client, name)

    def __repr__(self) -> str:
        return f"<slotmq.Topic {self.name}>"

    def create(self, **options: Option) -> TopicReport:
        """Create the topic, with options as slots=16, shared=True, type="priority", max_retries=5 (see
        docs/CONFIGURATION.md).  If it exists, and what cannot be changed is the same, nothing is done.  Raises
        UsageError: TOPIC_DIFFERS (the text names the option), INVALID, DAMAGED."""
        filled = Options("topic", options, name=self.name)
        return read(TopicReport, "smq_topic_report", lib.smq_topic_create, self._client, filled.pointer, keep=filled)

    def alter(self, **options: Option) -> None:
        """Change options; None gives one its default.  Raises UsageError: INVALID, TOPIC_DIFFERS, NOT_EMPTY."""
        filled = Options("topic", options, name=self.name)
        wait_for(lib.smq_topic_alter, self._client, filled.pointer, ",".join(options).encode(), keep=filled)

    def exists(self) -> bool:
        """Whether the topic exists and can be read."""
        try:
            wait_for(lib.smq_topic_get, self._client, self._name, ffi.NULL)
        except NoTopic:
            return False
        return True

    def pause(self) -> None:
        """No consumer claims from the topic, until resume()."""
        wait_for(lib.smq_topic_pause, self._client, self._name)

    def resume(self) -> None:
        wait_for(lib.smq_topic_resume, self._client, self._name)

    def delete(self, *, force: bool = False) -> None:
        """Delete the topic; without `force` it must be empty.  Raises UsageError: NOT_EMPTY, DAMAGED."""
        wait_for(lib.smq_topic_delete, self._client, self._name, force)

    def stats(self) -> Stats:
        """How many messages it holds, and what the fleet has done.  Raises UsageError: DAMAGED; RetryError:
        UNAVAILABLE (no slot could be read)."""
        return read(Stats, "smq_stats", lib.smq_topic_stats, self._client, self._name)

    def messages(self, *states: str, contains: Optional[str] = None, reason: Optional[str] = None,
                 limit: int = 0) -> Iterator[StoredMessage]:
        """The stored messages in these states ("waiting", the default, "claimed", "resting", "dead"), slot by slot.
        It is no snapshot.  `contains`: a text in body, key or id; `reason`: in that of the last failure."""
        cursor, given = "", 0
        while True:
            size = min(PAGE, limit - given) if limit else PAGE
            page = self._page(_filter(states, contains, reason, size, cursor))
            yield from page
            given += len(page)
            if len(page) < size or given == limit:
                return
            cursor = page[-1].cursor

    def get(self, *, key: Optional[Bytes] = None, id: Optional[Bytes] = None,
            body: Optional[Bytes] = None) -> StoredMessage:
        """Find one message by the key and id, in layout inline by the key and body, that were sent.  Raises
        UsageError: NO_MESSAGE."""
        which, keep = _reference(key, id, body)
        out = ffi.new("smq_message_info **")
        wait_for(lib.smq_message_get, self._client, self._name, which, out, keep=keep)
        try:
            return stored_message(out[0])
        finally:
            lib.smq_message_info_free(out[0])

    def rank(self, *, key: Optional[Bytes] = None, id: Optional[Bytes] = None, body: Optional[Bytes] = None) -> int:
        """How many waiting messages come before this one.  Raises UsageError: NO_MESSAGE; RetryError: IN_WORK."""
        which, keep = _reference(key, id, body)
        out = ffi.new("uint64_t *")
        wait_for(lib.smq_message_rank, self._client, self._name, which, out, keep=keep)
        return int(out[0])

    def remove(self, *, key: Optional[Bytes] = None, id: Optional[Bytes] = None,
               body: Optional[Bytes] = None) -> None:
        """Remove one message that waits, rests or is dead.  Raises UsageError: NO_MESSAGE; RetryError: IN_WORK."""
        which, keep = _reference(key, id, body)
        wait_for(lib.smq_message_remove, self._client, self._name, which, keep=keep)

    def remove_each(self, ids: Sequence[Bytes]) -> List[bool]:
        """Remove messages that were sent without a key, and say of each whether it was removed.  The first failure of
        a server ends it: the rest stays.  Several threads may call it at once, and no call holds up the others."""
        which, keep = ffi.new("smq_message_ref[]", len(ids)), []
        for one, found in zip(which, ids):
            one.struct_size = ffi.sizeof("smq_message_ref")
            keep.append(put_bytes(one.id, found, "an id"))
        removed = ffi.new("bool[]", len(ids))

        def work() -> Any:
            with self._client._open() as handle:
                lib.slotmq_remove_each(handle, self._name, which, len(ids), removed)
            return keep
        interruptible(work)
        return list(removed)

    def reschedule(self, place: Message, *, key: Optional[Bytes] = None, id: Optional[Bytes] = None,
                   body: Optional[Bytes] = None) -> None:
        """Give a waiting message the priority, delay_ms or due_at_ms of `place`.  Raises UsageError: NO_MESSAGE,
        WRONG_TYPE, INVALID; RetryError: IN_WORK, FULL."""
        which, keep = _reference(key, id, body)
        struct, more = message_struct(place)
        wait_for(lib.smq_message_reschedule, self._client, self._name, which, struct, keep=(keep, more))

    def requeue_dead(self, *, contains: Optional[str] = None, reason: Optional[str] = None, limit: int = 0) -> int:
        """Requeue dead letters, and return how many.  Raises UnknownError: of some it is not known."""
        chosen, keep = _filter((), contains, reason, limit, "")
        count = ffi.new("uint64_t *")
        wait_for(lib.smq_dead_requeue, self._client, self._name, chosen, count, ffi.NULL, ffi.NULL, keep=keep)
        return int(count[0])

    def purge(self, *states: str, contains: Optional[str] = None, reason: Optional[str] = None,
              limit: int = 0) -> int:
        """Delete messages in these states ("waiting", "resting", "dead") for ever, and return how many.  Raises
        UsageError: INVALID (no states); UnknownError: of some it is not known."""
        chosen, keep = _filter(states, contains, reason, limit, "")
        count = ffi.new("uint64_t *")
        wait_for(lib.smq_topic_purge, self._client, self._name, chosen, count, ffi.NULL, ffi.NULL, keep=keep)
        return int(count[0])

    def _page(self, chosen: Any) -> List[StoredMessage]:
        return visited(lib.smq_message_each, lib.slotmq_visit_message, stored_message, self._client, self._name,
                       chosen[0], keep=chosen)


STATES: Dict[str, int] = {decoded(lib.smq_state_name(state)): state for state in (
    lib.SMQ_STATE_WAITING, lib.SMQ_STATE_CLAIMED, lib.SMQ_STATE_RESTING, lib.SMQ_STATE_DEAD)}


def _filter(states: Sequence[str], contains: Optional[str], reason: Optional[str], limit: int, cursor: str) -> Any:
    """(an smq_filter, what must live as long)."""
    for state in states:
        if state not in STATES:
            raise ValueError(f'there is no state "{state}", but {", ".join(STATES)}')
    chosen = sized("smq_filter")
    chosen.states = sum(STATES[state] for state in set(states))
    put_number(chosen, "limit", number_in(limit, "limit"))
    keep = []
    for name, text in (("contains", contains), ("reason", reason), ("cursor", cursor or None)):
        if text is not None:
            keep.append(ffi.new("char[]", text_of(text, name)))
            setattr(chosen, name, keep[-1])
    return chosen, keep


def _reference(key: Optional[Bytes], id: Optional[Bytes], body: Optional[Bytes]) -> Any:
    """(an smq_message_ref, what must live as long)."""
    which = sized("smq_message_ref")
    return which, [put_bytes(which.key, key, "key"), put_bytes(which.id, id, "id"), put_bytes(which.body, body, "body")]


class _Events:
    """Gives the events of a client to the logger "slotmq", on a thread of Python that sleeps while there are none."""

    def __init__(self, client: Owned) -> None:
        self._client, self._handle = client, client.enter()
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="slotmq-events", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        # The default one of the module is also there, and waits as it should, in greenlets of gevent and eventlet.
        with self._wake, self._woken, selectors.DefaultSelector() as waiting:
            waiting.register(lib.smq_client_fd(self._handle), selectors.EVENT_READ)
            waiting.register(self._woken, selectors.EVENT_READ)
            ended = False
            while not ended:
                ended = any(key.fileobj is self._woken for key, _ in waiting.select())
                self._give()
        self._client.leave()

    def _give(self) -> None:
        events, count = ffi.new("smq_event *[]", EVENTS), ffi.new("size_t *")
        while True:
            status = lib.smq_client_poll_events(self._handle, events, EVENTS, count, 0, ffi.NULL)
            if status != lib.SMQ_OK or count[0] == 0:
                return
            for i in range(count[0]):
                event = events[i]
                report(LEVELS.get(event.level, logging.INFO), "%s", decoded(event.text),
                       extra={"slotmq_event": decoded(event.id), "slotmq_topic": decoded(event.topic),
                              "slotmq_slot": event.slot})

    def check_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise error_of(lib.SMQ_WRONG_THREAD, "a handler of logging cannot close the client whose events it gets")

    def end(self, ours: bool, wait: bool) -> None:
        """In a child of fork() there is no thread."""
        if not ours:
            self._wake.close()
            self._woken.close()
            return
        self._wake.send(b"x")
        if wait:
            self._thread.join()
