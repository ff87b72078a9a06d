"""Celery on Redis Cluster: a transport of kombu, and a result backend.  docs/celery.md is the manual.

    import slotmq.celery

    app = Celery("shop", broker="slotmq://10.0.0.1:6379,10.0.0.2:6379/", backend="slotmq-results://10.0.0.1:6379/")

The import makes these schemes known.  Without it, broker_transport = "slotmq.celery:Transport" is the same.
"""
from typing import Any

from kombu.transport import TRANSPORT_ALIASES

from .channel import Channel
from .session import close_sessions
from .transport import ConsumerEnded, Transport

__all__ = ["Channel", "ConsumerEnded", "Transport", "close_sessions"]

TRANSPORT_ALIASES.update(slotmq="slotmq.celery:Transport", slotmqs="slotmq.celery:Transport")
try:
    from celery.app.backends import BACKEND_ALIASES
except ImportError:
    pass  # kombu alone
else:
    from . import compat, deaths, hooks  # noqa: F401  two connect signals
    compat.hide_passwords()
    BACKEND_ALIASES.update({name: "slotmq.celery.results:Backend" for name in ("slotmq-results", "slotmqs-results")})


def __getattr__(name: str) -> Any:
    """Only `celery beat` needs its modules."""
    if name == "Scheduler":
        from .beat import Scheduler
        return Scheduler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
