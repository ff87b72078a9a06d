"""A worker of gevent or eventlet has one result backend, not one for each task.

Celery keeps a backend for each thread, which there is each greenlet, and so each task: it made a client of redis-py for
every result.  Celery's wait for results in greenlets is made for one backend that all of them share."""
import threading
from typing import Any

from celery.signals import worker_init
from kombu.utils.compat import detect_environment

from .results import Backend


class Local(threading.local):
    """What Celery keeps for each greenlet, which begins with the backend of all."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend


def share_backend(sender: Any = None, **_: Any) -> None:
    """Celery calls it when a worker starts, before there is a pool."""
    app = sender.app
    if detect_environment() != "default" and isinstance(app.backend, Backend):
        app._local = Local(app.backend)


worker_init.connect(share_backend, weak=False)
