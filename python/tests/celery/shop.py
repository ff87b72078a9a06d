"""The project of the tests: `celery -A shop` takes its broker from the environment."""
import functools
import json
import os
import pathlib
import signal
import sys
import time

from celery import Celery, current_task
from celery.exceptions import Reject
import slotmq.celery
from slotmq.celery.link import open_redis
from slotmq.celery.settings import Settings

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import hostile  # noqa: E402

WAIT_S = 30


@functools.lru_cache(maxsize=None)
def notes():
    """Where tasks write what they do, which tests read."""
    return open_notes(os.environ["SHOP_BROKER"], json.loads(os.environ["SHOP_SETTINGS"]))


def open_notes(broker, settings):
    """redis-py, which waits as long as a call says."""
    found = Settings(broker, {}, settings.get("broker_use_ssl"))
    return open_redis(found.servers, found.options["client"], socket_timeout=None)


def of(name):
    """A key of this broker."""
    return f"note.{os.environ['SHOP_BROKER'].rpartition('/')[2]}.{name}"


def add(x, y):
    return x + y


def total(numbers):
    return sum(numbers)


def fail():
    raise ValueError("it fails")


def note(list_name, text):
    notes().rpush(of(list_name), text)


def clock():
    return time.time()


def hold(name):
    """Say that it has begun, and wait until the test lets it end."""
    client = notes()
    client.rpush(of(f"redelivered.{name}"), int(current_task.request.delivery_info["redelivered"]))
    client.rpush(of(f"began.{name}"), os.getpid())
    return client.blpop(of(f"end.{name}"), WAIT_S) is not None


def alone(name, holds=False):
    """Log the begin and the end of some work, with the worker that does it."""
    client, worker = notes(), os.getpgid(0)
    client.rpush(of(f"log.{name}"), f"begin {worker}")
    if holds:
        client.rpush(of(f"began.{name}"), worker)
    client.blpop(of(f"end.{name}") if holds else of("never"), WAIT_S if holds else 0.02)
    client.rpush(of(f"log.{name}"), f"end {worker}")


def die(name):
    notes().rpush(of(f"began.{name}"), os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(name, requeue):
    notes().rpush(of(f"began.{name}"), os.getpid())
    raise Reject("it refuses", requeue=requeue)


def harm(what, *words):
    """What a task must not do, with words of the tables of hostile.py."""
    if what == "raise":
        hostile.fail(None, None, *words)
    if what == "leave":
        hostile.leave(None, None, *words)
    return hostile.RETURNS[words[0]] if what == "return" else hostile.TEXTS[words[0]]


def again(task, name, most):
    """Retry after a second, `most` times; the return value is when each try began."""
    client = notes()
    client.rpush(of(f"began.{name}"), time.time())
    if task.request.retries < most:
        raise task.retry(countdown=1)
    return [float(began) for began in client.lrange(of(f"began.{name}"), 0, -1)]


def mark(task, name):
    """Say which task it is, and return its id."""
    notes().rpush(of(f"began.{name}"), json.dumps({"id": task.request.id, "expires": task.request.expires,
                                                   "began": time.time()}))
    return task.request.id


def key_of(task, most=0):
    if task.request.retries < most:
        raise task.retry(countdown=0)
    return task.request.properties.get("slotmq_key"), task.request.delivery_info["redelivered"]


def make(broker, options, **settings):
    """An application."""
    scheme, _, rest = broker.partition("://")
    app = Celery("shop", broker=broker, backend=f"{scheme}-results://{rest}", set_as_current=False)
    app.conf.update({"broker_transport_options": options, "task_acks_late": True, "worker_prefetch_multiplier": 1,
                     "task_reject_on_worker_lost": True, **settings})
    for function in (add, total, fail, note, clock, hold, alone, die, refuse, harm):
        app.task(function, name=f"shop.{function.__name__}")
    for function in (again, key_of, mark):
        app.task(function, name=f"shop.{function.__name__}", bind=True, max_retries=None)
    app.finalize()
    return app


if "SHOP_BROKER" in os.environ:
    app = make(os.environ["SHOP_BROKER"], json.loads(os.environ["SHOP_OPTIONS"]), **json.loads(os.environ["SHOP_SETTINGS"]))
