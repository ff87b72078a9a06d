"""All that is private to kombu, Celery and redis-py, and what is changed in them, so that a new release of these is met
in one place.  tests/celery/test_compat.py looks for each name."""
import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Callable, ContextManager, Dict, List, Optional, Protocol, Set

from kombu.transport import virtual
from kombu.utils.url import maybe_sanitize_url
from redis.cluster import ClusterPipeline
from redis.connection import Connection

from .settings import masked

if TYPE_CHECKING:
    from celery import Celery
    from celery.backends.base import Backend
    from celery.backends.redis import ResultConsumer
    from celery.schedules import crontab

RESULT_SCHEMES = ("slotmq-results://", "slotmqs-results://")


class Loop(Protocol):
    """What is used of the loop of a worker, kombu's Hub."""

    on_tick: "set[Callable[[], None]]"

    def add_reader(self, fd: int, callback: Callable[..., None], *args: object) -> None: ...

    def remove_reader(self, fd: int) -> None: ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> object: ...

    def call_repeatedly(self, delay: float, callback: Callable[[], None]) -> object: ...


# === kombu ===


def queue_of_tag(channel: virtual.Channel, consumer_tag: str) -> str:
    """That a consumer reads; "": there is no such consumer."""
    return channel._tag_to_queue.get(consumer_tag) or ""


def is_consumed(channel: virtual.Channel, queue: str) -> bool:
    return queue in channel._active_queues


def take_idle_channels(transport: virtual.Transport) -> List[virtual.Channel]:
    """Those that nobody has asked for yet."""
    idle = list(transport._avail_channels)
    transport._avail_channels.clear()
    return idle


# === Celery ===


# A program of kombu alone has no Celery, so nothing of it is imported before it is used.


def active_apps() -> "List[Celery]":
    from celery import _state
    return list(_state._get_active_apps())


def is_stopping() -> bool:
    """This is a worker that was asked to end, and does so when the turn of its loop ends.  An exit status may be 0."""
    state = sys.modules.get("celery.worker.state")
    return state is not None and any(how is not None and how is not False
                                     for how in (state.should_stop, state.should_terminate))


def share_between_threads(app: "Celery", local: threading.local) -> None:
    """What the application keeps for each thread."""
    app._local = local


def result_meta(backend: "Backend", state: str, result: object) -> Dict[str, str]:
    """What the backend stores for a task."""
    return backend._get_result_meta(result=result, state=state, traceback=None, request=None)


def decoded_result(consumer: "ResultConsumer", meta: bytes) -> Dict[str, object]:
    return consumer._decode_result(meta)


def consume_from(consumer: "ResultConsumer", task_id: str) -> None:
    consumer._consume_from(task_id)


def reset_sync(consumer: "ResultConsumer") -> None:
    """Forget the locks of the parent; before Celery 5.7 there are none."""
    if hasattr(consumer, "_reset_sync"):
        consumer._reset_sync()


def locked(consumer: "ResultConsumer") -> ContextManager[object]:
    """While the pub/sub is changed; that of Celery before 5.7 has no lock."""
    return consumer._locked() if hasattr(consumer, "_locked") else contextlib.nullcontext()


def take_cancelled(consumer: "ResultConsumer") -> Set[bytes]:
    """Celery 5.7 notes what nobody waits for any more, and forgets it when the lock is free."""
    noted: Set[bytes] = getattr(consumer, "_pending_unsubscribe", set())
    taken = set(noted)
    noted.clear()
    return taken


def shown(url: object, mask: str = "**") -> object:
    """The URL as anybody may read it, in `celery report`, `inspect conf` and `inspect report`."""
    if isinstance(url, str) and url.startswith(RESULT_SCHEMES):
        return masked(url, mask)
    return maybe_sanitize_url(url, mask)


def hide_passwords() -> None:
    """Celery before 5.7 shows the URL of the results by a function of kombu, which reads no URL of several servers."""
    from celery.app import utils
    if hasattr(utils, "maybe_sanitize_url"):
        utils.maybe_sanitize_url = shown


def crontab_texts(when: "crontab") -> Dict[str, str]:
    """Its fields as cron writes them: what begins with "*" as it was given, else all numbers."""
    found = {}
    for name in ("minute", "hour", "day_of_month", "month_of_year", "day_of_week"):
        given = str(getattr(when, f"_orig_{name}")).replace(" ", "")
        found[name] = given if given.startswith("*") else ",".join(map(str, sorted(getattr(when, name))))
    return found


# === redis-py ===


def descriptor_of(connection: Optional[Connection]) -> int:
    """-1: it is not connected."""
    return connection._sock.fileno() if connection is not None and connection._sock is not None else -1


def let_deletes_be_followed(pipeline: ClusterPipeline) -> ClusterPipeline:
    """By another call, as Celery does: delete() of redis-py 6.1 returns None."""
    pipeline.delete = lambda *names: pipeline.execute_command("DEL", *names)
    return pipeline
