#!/usr/bin/env python3
"""Messages a second from Python: the package slotmq beside redis-py with a list, on one Redis of its own.

usage: redis_list.py [--count N] [--runs N] [--json] [--c PROGRAM]

    batch     a handler gets up to 1,000 messages at once; what waits at the beginning is handled.  The list is taken
              by RPOP with a count, so what a process has taken is lost when it dies
    asyncio   messages one by one on one event loop: `async for` and done(); the list is moved by BLMOVE and LREM, by
              32 tasks, so nothing is lost
    send      one by one on one event loop, 1,000 under way; the list by LPUSH, with 32 tasks

With --c, `batch` is also measured with the same handler in C, batch_handler.c: build/bench/batch-handler.
The sides of a run follow one another, and the order changes from run to run.  Redis and this process share the
processors.  `CPU` is the processor time of this process for a message, with the threads of the library.  Needs the
package (PYTHONPATH) and python3-redis.
"""
import argparse
import asyncio
import json
import statistics
import subprocess
import threading
import time

import redis
import redis.asyncio
import slotmq
import slotmq.testing

BODY = b"x" * 64
BATCH = 1000
TASKS = 32  # of redis-py: each has a connection
UNDER_WAY = 1000
PROGRAM = None  # the handler in C
WAYS = ["batch", "asyncio", "send"]


class Clock:
    """From the first message to the last one: the time, and the processor time of this process."""

    def __init__(self):
        self.begun, self.begun_cpu = time.monotonic(), time.process_time()

    def of(self, count):
        """(messages a second, microseconds of the processor for each)."""
        seconds, cpu = time.monotonic() - self.begun, time.process_time() - self.begun_cpu
        return count / seconds, cpu / count * 1e6


def fill(client, count):
    topic = client.create("benched", shared=True, slots=16)
    with client.producer() as producer:
        for _ in range(0, count, BATCH):
            assert not any(receipt.error for receipt in producer.send_batch("benched", [BODY] * BATCH))
    return topic


def slotmq_batch(address, count):
    with slotmq.Client(address) as client:
        topic = fill(client, count)
        left, lock = [count], threading.Lock()

        @client.worker("benched", threads=2, batch=BATCH)
        def handle(deliveries):
            with lock:
                left[0] -= len(deliveries)
                if left[0] <= 0:
                    client.stop()

        clock = Clock()
        client.run()
        found = clock.of(count)
        assert topic.stats().done == count and left[0] == 0
    return found


def slotmq_asyncio(address, count):
    async def consume(client):
        left = count
        with client.consumer("benched", max_in_flight=UNDER_WAY) as consumer:
            async for delivery in consumer:
                delivery.done()
                left -= 1
                if left == 0:
                    consumer.stop()

    with slotmq.Client(address) as client:
        topic = fill(client, count)
        clock = Clock()
        asyncio.run(consume(client))
        found = clock.of(count)
        assert topic.stats().done == count
    return found


def c_batch(address, count):
    with slotmq.Client(address) as client:
        topic = fill(client, count)
        said = subprocess.run([PROGRAM, address, str(count)], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert topic.stats().done == count
    return tuple(map(float, said.split()))


async def in_tasks(tasks, count, step):
    """Take `count` steps, in so many tasks."""
    left = iter(range(count))

    async def work():
        for _ in left:
            await step()

    clock = Clock()
    await asyncio.gather(*(work() for _ in range(tasks)))
    return clock.of(count)


def slotmq_send(address, count):
    async def send(client):
        with client.producer() as producer:
            return await in_tasks(UNDER_WAY, count, lambda: producer.send_async("benched", BODY))

    with slotmq.Client(address) as client:
        topic = client.create("benched", shared=True, slots=16)
        found = asyncio.run(send(client))
        assert topic.stats().waiting == count
    return found


def list_batch(address, count):
    connection = redis.Redis.from_url(f"redis://{address}")
    for _ in range(0, count, BATCH):
        connection.lpush("list", *[BODY] * BATCH)
    clock, left = Clock(), count
    while left:
        left -= len(connection.rpop("list", BATCH))
    return clock.of(count)


async def with_list(address, count, step):
    async with redis.asyncio.Redis.from_url(f"redis://{address}", max_connections=TASKS) as connection:
        await asyncio.gather(*(connection.ping() for _ in range(TASKS)))
        return await in_tasks(TASKS, count, lambda: step(connection))


def list_asyncio(address, count):
    async def step(connection):
        body = await connection.blmove("{list}", "{list}taken", 10, "RIGHT", "LEFT")
        await connection.lrem("{list}taken", -1, body)

    with redis.Redis.from_url(f"redis://{address}") as filled:
        for _ in range(0, count, BATCH):
            filled.lpush("{list}", *[BODY] * BATCH)
    return asyncio.run(with_list(address, count, step))


def list_send(address, count):
    return asyncio.run(with_list(address, count, lambda connection: connection.lpush("list", BODY)))


def measured(way, who, count):
    with slotmq.testing.Server() as server:
        return globals()[f"{who}_{way}"](server.address, count)


def main():
    global PROGRAM
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="messages, a multiple of 1,000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--c", metavar="PROGRAM", help="the handler in C")
    given = parser.parse_args()
    PROGRAM = given.c
    for way in WAYS:
        rates = {"slotmq": [], "list": [], **({"c": []} if PROGRAM and way == "batch" else {})}
        for run in range(given.runs):
            for who in sorted(rates, reverse=run % 2 == 0):
                rates[who].append(measured(way, who, given.count))
        for who, found in rates.items():
            middle, cpu = (statistics.median(figures) for figures in zip(*found))
            print(json.dumps({"way": way, "who": who, "rate": middle, "cpu_us": cpu, "runs": found}) if given.json else
                  f"{way:8} {who:7} {middle:9,.0f}/s {cpu:7.1f} us of CPU a message", flush=True)


if __name__ == "__main__":
    main()
