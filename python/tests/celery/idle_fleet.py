#!/usr/bin/env python3
"""How many scripts run for a task when all of a large fleet are idle.  usage: idle_fleet.py SANDBOX [SECONDS]

Workers of Celery and consumers of the library share the queue.  Tasks are sent one by one, each when the one before is
done.  In a worker a task works for SECONDS at most (default 0)."""
import select
import sys
import tempfile
import time

import redis
import slotmq
from kills import Run, Sizes, cluster

WORKERS = Sizes(workers=8, processes=1, work=float(sys.argv[2]) if len(sys.argv) > 2 else 0)
CONSUMERS = 92
TASKS = 200
APART_S = 0.05
SETTLE_S = 5
PATIENCE_S = 60
SCRIPTS = ("cmdstat_evalsha", "cmdstat_eval", "cmdstat_fcall")


def scripts_of(pairs):
    """That have run on all masters."""
    count = 0
    for pair in pairs:
        with redis.Redis("127.0.0.1", pair.master) as client:
            said = client.info("commandstats")
        count += sum(said[name]["calls"] for name in SCRIPTS if name in said)
    return count


class Consumers:
    """All in this process, each with a client of its own."""

    def __init__(self, address, topic):
        self.done = 0
        self._poller = select.poll()
        self._clients = [slotmq.Client(address) for _ in range(CONSUMERS)]
        self._by_fd = {}
        for client in self._clients:
            consumer = client.consumer(topic)
            self._by_fd[consumer.fileno()] = consumer
            self._poller.register(consumer.fileno(), select.POLLIN)

    def serve(self, until):
        """Answer what comes, until `until()`, which is asked at least every few milliseconds."""
        while not until():
            for fd, _ in self._poller.poll(2):
                for delivery in self._by_fd[fd].poll(100, 0):
                    delivery.done()
                    self.done += 1

    def serve_for(self, seconds):
        end = time.monotonic() + seconds
        self.serve(lambda: time.monotonic() >= end)

    def close(self):
        for client in self._clients:
            client.close()


def measure(run, consumers, pairs):
    def ran():
        return consumers.done + sum(1 for _ in run.numbers())

    def wait_for(count):
        end = time.monotonic() + PATIENCE_S
        consumers.serve(lambda: ran() >= count or time.monotonic() > end)
        assert ran() == count, (ran(), count)

    consumers.serve_for(SETTLE_S)
    before, began, by_consumers, first = scripts_of(pairs), time.monotonic(), consumers.done, ran()
    for number in range(TASKS):
        run.send(number * 3 + 1)  # without a countdown
        wait_for(first + number + 1)
        consumers.serve_for(APART_S)
    seconds, loaded = time.monotonic() - began, scripts_of(pairs)
    consumers.serve_for(seconds)
    idle = scripts_of(pairs) - loaded
    print(f"{TASKS} tasks, {consumers.done - by_consumers} of them by consumers of the library: "
          f"{(loaded - before) / TASKS:.2f} scripts for a task; {idle / TASKS:.2f} in as much time without tasks")
    return (loaded - before) / TASKS


def main():
    with cluster(sys.argv[1]) as (address, pairs), tempfile.TemporaryDirectory(prefix="slotmq-idle-") as folder:
        run = Run(folder, f"slotmq://{address}/kills", "", pairs, WORKERS)
        try:
            for _ in range(WORKERS.workers):
                run.begin_worker()
            while len(run.app.control.ping(timeout=PATIENCE_S / 10, limit=WORKERS.workers)) < WORKERS.workers:
                pass
            consumers = Consumers(address, "kills.celery")
            try:
                measure(run, consumers, pairs)
            finally:
                consumers.close()
        finally:
            run.end()


if __name__ == "__main__":
    main()
