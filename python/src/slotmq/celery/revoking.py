"""Revoked tasks leave the broker, so that no worker has to remember them.

Celery tells all workers what is revoked, and each keeps it in its memory.  Before that is sent, what still waits is
removed.  The rest is in the workers by then, which handle it as always.
"""
from typing import Any, Dict, Iterable, List

from kombu.exceptions import ContentDisallowed
from kombu.transport import virtual

from ..errors import Error

PIDBOX = ".pidbox"


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
    session, removed = channel.session, []
    for queue in sorted(session.topics):
        topic = session.client.topic(channel.settings.topic_of(queue))
        for task_id in ids:
            try:
                topic.remove(id=task_id)
            except Error as error:
                # NO_MESSAGE: it is not in this queue; IN_WORK: a worker has it; else the broadcast is what is left.
                if error.name not in ("NO_MESSAGE", "IN_WORK"):
                    break
            else:
                removed.append(task_id)
    if removed:
        _note(removed)
    return removed


def _note(ids: Iterable[str]) -> None:
    """Somebody may wait for their results.  A broadcast does not say which application sends it; a process has one,
    or several with the same results."""
    from celery._state import _get_active_apps  # a program of kombu alone has no Celery
    for app in _get_active_apps():
        for task_id in ids:
            app.backend.mark_as_revoked(task_id, "revoked")
