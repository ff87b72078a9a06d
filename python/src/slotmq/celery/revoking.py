"""Revoked tasks leave the broker, so that no worker has to remember them.

Celery tells all workers what is revoked, and each keeps it in its memory.  Before that is sent, what still waits is
removed.  The rest is in the workers by then, which handle it as always.
"""
import concurrent.futures
from typing import TYPE_CHECKING, Iterable, List

from kombu.exceptions import ContentDisallowed
from kombu.transport import virtual

from .compat import active_apps
from .publishing import Payload

if TYPE_CHECKING:
    from .channel import Channel

PIDBOX = ".pidbox"
REASON = "revoked"
AT_ONCE = 32  # calls under way


def look_at(channel: "Channel", exchange: str, message: Payload) -> None:
    """If this broadcast revokes tasks by their ids, remove them."""
    if not exchange.endswith(PIDBOX):
        return
    try:
        content = virtual.Message(message, channel=channel).decode()
    except ContentDisallowed:
        return
    if isinstance(content, dict) and content.get("method") == "revoke" and not content.get("destination"):
        found = (content.get("arguments") or {}).get("task_id") or []
        remove(channel, [found] if isinstance(found, str) else found)


def remove(channel: "Channel", ids: Iterable[str]) -> List[str]:
    """Remove messages with these ids from all queues that this process knows, and return which there were.  A task
    that was sent with a key is not found by its id alone.  One that a worker has, or whose server is away, stays; then
    the broadcast is what is left."""
    session, settings, wanted, removed = channel.session, channel.settings, list(ids), []
    share = -(-len(wanted) // AT_ONCE) or 1
    parts = [wanted[begin:begin + share] for begin in range(0, len(wanted), share)]
    with concurrent.futures.ThreadPoolExecutor(len(parts) or 1) as pool:
        for queue in sorted(session.topics):
            topic = session.client.topic(settings.topic_of(queue))
            for part, gone in zip(parts, pool.map(topic.remove_each, parts)):
                removed += [task_id for task_id, is_gone in zip(part, gone) if is_gone]
    if removed:
        _note(removed)
    return removed


def _note(ids: List[str]) -> None:
    """Somebody may wait for their results.  A broadcast does not say which application sends it; a process has one,
    or several with the same results."""
    for app in active_apps():
        backend = app.backend
        left = backend.mark_new_as_revoked(ids, REASON) if hasattr(backend, "mark_new_as_revoked") else ids
        for task_id in left:
            backend.mark_as_revoked(task_id, REASON)
