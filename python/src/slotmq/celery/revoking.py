"""Revoked tasks leave the broker, so that no worker has to remember them.

Celery tells all workers what is revoked, and each keeps it in its memory.  Before that is sent, what still waits is
removed.  The rest is in the workers by then, which handle it as always.
"""
import concurrent.futures
from typing import Any, Dict, Iterable, List

from kombu.exceptions import ContentDisallowed
from kombu.transport import virtual

from ..errors import Error

PIDBOX = ".pidbox"
AT_ONCE = 32  # calls under way


def look_at(channel: Any, exchange: str, message: Dict[str, Any]) -> None:
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


def remove(channel: Any, ids: Iterable[str]) -> List[str]:
    """Remove messages with these ids from all queues that this process knows, and return which there were.  A task
    that was sent with a key is not found by its id alone."""
    session, settings, wanted, removed = channel.session, channel.settings, list(ids), []
    with concurrent.futures.ThreadPoolExecutor(min(len(wanted), AT_ONCE) or 1) as pool:
        for queue in sorted(session.topics):
            topic = session.client.topic(settings.topic_of(queue))
            removed += [task_id for task_id, gone in zip(wanted, pool.map(lambda one: _is_removed(topic, one), wanted))
                        if gone]
    if removed:
        _note(removed)
    return removed


def _is_removed(topic: Any, task_id: str) -> bool:
    """False: it is not in this queue, or a worker has it, or Redis is away; then the broadcast is what is left."""
    try:
        topic.remove(id=task_id)
    except Error:
        return False
    return True


def _note(ids: Iterable[str]) -> None:
    """Somebody may wait for their results.  A broadcast does not say which application sends it; a process has one,
    or several with the same results."""
    from celery._state import _get_active_apps  # a program of kombu alone has no Celery
    for app in _get_active_apps():
        for task_id in ids:
            app.backend.mark_as_revoked(task_id, "revoked")
