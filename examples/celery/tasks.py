"""A task, for `celery -A tasks worker`.  SLOTMQ_REDIS: "host:port,host:port"."""
import os

import slotmq.celery  # noqa: F401  it makes the schemes known
from celery import Celery

SERVERS = os.environ.get("SLOTMQ_REDIS", "127.0.0.1:6379")
app = Celery("tasks", broker=f"slotmq://{SERVERS}/", backend=f"slotmq-results://{SERVERS}/")
app.conf.task_acks_late = True


@app.task
def add(x, y):
    return x + y


if __name__ == "__main__":
    print(add.delay(2, 3).get(timeout=30))
