"""The settings of the project; those of Celery begin with CELERY_.  SLOTMQ_REDIS: "host:port,host:port"."""
import os

import slotmq.celery  # noqa: F401  it makes the schemes known

SECRET_KEY = "only for this example"
INSTALLED_APPS = ["orders"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True

SERVERS = os.environ.get("SLOTMQ_REDIS", "127.0.0.1:6379")
CELERY_BROKER_URL = f"slotmq://{SERVERS}/shop"
CELERY_RESULT_BACKEND = f"slotmq-results://{SERVERS}/shop"
CELERY_TASK_ACKS_LATE = True
