"""What Celery calls here, in programs that send and in workers."""
import threading
from typing import Optional

from celery import Celery, current_task
from celery.backends.base import Backend as AnyBackend
from celery.signals import before_task_publish, worker_init
from kombu.utils.compat import detect_environment

from .compat import share_between_threads
from .publishing import Payload
from .results import Backend


def keep_key(headers: Optional[Payload] = None, properties: Optional[Payload] = None, **_: object) -> None:
    """A task that retries itself keeps its slotmq_key, which is an option of its first send.  Before each send."""
    request = current_task.request if current_task else None
    if request is None or properties is None or request.id != (headers or {}).get("id"):
        return
    key = (request.properties or {}).get("slotmq_key")
    if key is not None:
        properties.setdefault("slotmq_key", key)


class Local(threading.local):
    """What Celery keeps for each greenlet, which begins with the backend of all."""

    def __init__(self, backend: AnyBackend) -> None:
        self.backend = backend


def share_backend(sender: object = None, **_: object) -> None:
    """A worker of gevent or eventlet has one result backend, not one for each task.

    Celery keeps a backend for each thread, which there is each greenlet, and so each task: it made a client of redis-py
    for every result.  Celery's wait for results in greenlets is made for one backend that all of them share.  When a
    worker starts, before there is a pool."""
    app: Celery = getattr(sender, "app")
    if detect_environment() != "default" and isinstance(app.backend, Backend):
        share_between_threads(app, Local(app.backend))


before_task_publish.connect(keep_key, weak=False)
worker_init.connect(share_backend, weak=False)
