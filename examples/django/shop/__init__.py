"""A project of Django with Celery on slotmq.  `celery -A shop worker` runs its tasks."""
from .celery import app as celery_app

__all__ = ["celery_app"]
