"""A task that retries itself keeps its slotmq_key, which is an option of its first send."""
from typing import Any, Optional

from celery import current_task
from celery.signals import before_task_publish


def keep_key(headers: Any = None, properties: Optional[Any] = None, **_: Any) -> None:
    """Celery calls it before each send of a task, in the process that sends."""
    request = current_task.request if current_task else None
    if request is None or properties is None or request.id != (headers or {}).get("id"):
        return
    key = (request.properties or {}).get("slotmq_key")
    if key is not None:
        properties.setdefault("slotmq_key", key)


before_task_publish.connect(keep_key, weak=False)
