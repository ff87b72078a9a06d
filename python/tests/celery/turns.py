#!/usr/bin/env python3
"""How a worker of several full queues shares out its time, and what a task costs.  usage: turns.py [--quick]

Each row: tasks are sent to each queue, and then a worker of two processes, threads or greenlets begins, or a program that
calls drain_events().  Printed is how many of the first 300 tasks came from each queue, how many scripts Redis ran for a
task, sends not counted, how many claims were given back, and after what time the last of the 300 began; and the same
turns with kombu's transport for Redis, where a worker ends then.  Each broker is one Redis.  The exit status is 1 if a
figure is beyond its limit."""
import argparse
import collections
import contextlib
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import kombu
import redis
from celery import Celery
import slotmq.celery
from one_server import free_port, one_server

FOLDER = pathlib.Path(__file__).parent
EACH = 300       # tasks in each queue; as many are looked at
PROCESSES = 2
PATIENCE_S = 300
SCRIPTS = ("cmdstat_evalsha", "cmdstat_evalsha_ro", "cmdstat_eval", "cmdstat_fcall")
RELEASED_MOST = 0.02  # for a task
UNEVEN_MOST = 0.2     # of what a queue should have of the first tasks


class Row(NamedTuple):
    pool: str
    multiplier: int
    queues: str
    work_s: float = 0
    scripts_most: float = math.inf  # for a task


ROWS = [Row("prefork", 1, "a", 0, 1.5), Row("prefork", 1, "abc", 0, 1.8), Row("prefork", 4, "abc", 0, 1.8),
        Row("prefork", 1, "abc", 0.05, 3), *(Row("drain", multiplier, "abc", 0, 1.8) for multiplier in (1, 4, 0)),
        *(Row(pool, multiplier, "abc") for pool in ("solo", "threads", "gevent", "eventlet") for multiplier in (1, 4))]
QUICK = [ROWS[0], ROWS[1], ROWS[4], ROWS[5]]


def work(queue, seconds):
    """A task: note that it begins, and work."""
    note(os.environ["TURNS_LOG"], queue)
    time.sleep(seconds)


def note(log, queue):
    with open(log, "a", encoding="ascii") as file:
        file.write(f"{queue} {time.monotonic()}\n")


def make_app(url):
    made = Celery("turns", broker=url, set_as_current=False)
    made.conf.update(task_acks_late=True, task_ignore_result=True)
    made.task(work, name="turns.work")
    made.finalize()
    return made


if "TURNS_BROKER" in os.environ:
    app = make_app(os.environ["TURNS_BROKER"])


class Broker:
    """One Redis, and its queues, which are others in each run."""

    def __init__(self, scheme, port):
        self.scheme, self._port, self._runs = scheme, port, 0

    def fresh_url(self):
        self._runs += 1
        return f"{self.scheme}://127.0.0.1:{self._port}/{self._runs}"

    def scripts(self):
        with redis.Redis("127.0.0.1", self._port) as client:
            said = client.info("commandstats")
        return sum(said[name]["calls"] for name in SCRIPTS if name in said)


@contextlib.contextmanager
def worker(url, row, log):
    environment = {**os.environ, "TURNS_BROKER": url, "TURNS_LOG": str(log)}
    with open(f"{log}.said", "wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "turns", "worker", "-l", "warning", "-P", row.pool, "-c", str(PROCESSES),
             "-Q", ",".join(row.queues), "--without-mingle", "--without-gossip", "--prefetch-multiplier", str(row.multiplier)],
            cwd=FOLDER, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def drained(url, row, log):
    """kombu alone, in this process."""
    with kombu.Connection(url) as connection:
        consumer = kombu.Consumer(connection.channel(), [kombu.Queue(name, routing_key=name) for name in row.queues],
                                  callbacks=[lambda _body, message: (note(log, message.delivery_info["routing_key"]),
                                                                     message.ack())])
        consumer.qos(prefetch_count=row.multiplier * PROCESSES)
        with consumer:
            for _ in range(EACH * len(row.queues)):
                connection.drain_events(timeout=PATIENCE_S)
        yield


def wait_for_lines(log, count):
    end = time.monotonic() + PATIENCE_S
    while True:
        lines = log.read_text().splitlines() if log.exists() else []
        if len(lines) >= count:
            return lines
        if time.monotonic() > end:
            raise AssertionError(f"{len(lines)} of {count} tasks ran", pathlib.Path(f"{log}.said").read_text())
        time.sleep(0.02)


def measure(broker, row):
    """(tasks of each queue among the first, scripts for a task, releases for a task, seconds until these began)."""
    url = broker.fresh_url()
    sender, count = make_app(url), EACH * len(row.queues)
    for queue in row.queues:
        for _ in range(EACH):
            sender.tasks["turns.work"].apply_async((queue, row.work_s), queue=queue)
    before, began = broker.scripts(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="slotmq-turns-") as folder:
        log = pathlib.Path(folder) / "ran"
        with drained(url, row, log) if row.pool == "drain" else worker(url, row, log):
            lines = wait_for_lines(log, count if broker.scheme == "slotmq" else EACH)[:EACH]
            scripts = broker.scripts() - before
    released = released_in(sender, row.queues) if broker.scheme == "slotmq" else 0
    sender.close()
    first = collections.Counter(line.split()[0] for line in lines)
    seconds = float(lines[-1].split()[1]) - began
    return [first[queue] for queue in row.queues], scripts / count, released / count, seconds


def released_in(sender, queues):
    with sender.connection_for_read() as connection:
        channel = connection.default_channel
        return sum(channel.session.client.topic(channel.settings.topic_of(queue)).stats().released for queue in queues)


def show(broker, row):
    """Whether all is within its limits."""
    first, scripts, released, seconds = measure(broker, row)
    fair = EACH / len(row.queues)
    good = broker.scheme == "redis" or (scripts <= row.scripts_most and released <= RELEASED_MOST and
                                        all(abs(count - fair) <= UNEVEN_MOST * fair for count in first))
    print(f"{broker.scheme:6} {row.pool:7} multiplier {row.multiplier}, {row.work_s * 1000:2.0f} ms: of the first {EACH} "
          f"{', '.join(f'{count:3}' for count in first):13}; for a task {scripts:.2f} scripts, {released:.3f} releases; "
          f"{seconds:.1f} s{'' if good else '  MISSED'}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description="Turns of queues, and the cost of a task.")
    parser.add_argument("--quick", action="store_true", help="few rows, and slotmq alone")
    parser.add_argument("--pool", choices=sorted({row.pool for row in ROWS}), help="only this one")
    given = parser.parse_args()
    rows = [row for row in (QUICK if given.quick else ROWS) if given.pool in (None, row.pool)]
    good = True
    for scheme in ("slotmq",) if given.quick else ("slotmq", "redis"):
        port = free_port()
        with one_server(f"port {port}"):
            broker = Broker(scheme, port)
            for row in rows:
                good &= show(broker, row)
            slotmq.celery.close_sessions()
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
