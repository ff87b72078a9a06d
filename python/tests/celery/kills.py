#!/usr/bin/env python3
"""Load on workers that are killed and masters that fail over, and a judge.  usage: kills.py SANDBOX [--help]

SANDBOX is the program slotmq-sandbox.  What was sent stays in this process, and each task that runs appends a line to
a file, so that no fault touches what the judge reads."""
import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import redis
from celery import Celery
import slotmq.celery
from one_server import free_port, one_server

FOLDER = pathlib.Path(__file__).parent
LEASE_S = 5        # also how long kombu's transport for Redis keeps a task that nobody has answered
STILL_S = 60       # the load has ended when no task has run for so long
BEGIN_S = 60
FAILOVER_S = 60
MOST_COUNTDOWN_S = 10
QUEUES = ("celery", "second", "third")


@dataclasses.dataclass
class Sizes:
    """Of one run."""

    seconds: float = 75
    rate: float = 150   # tasks a second, a third of them with a countdown
    workers: int = 4
    processes: int = 4  # of each worker
    kills: int = 15
    failovers: int = 1
    work: float = 0.1   # seconds that a task works at most
    queues: int = 1     # which tasks use in turn
    seed: int = 1


@dataclasses.dataclass
class Verdict:
    sent: int       # tasks whose send has succeeded
    refused: int    # tasks whose send has failed, which may run or not
    ran: int        # of those that were sent
    again: int      # how often one of them ran again
    lost: int
    early: int      # how often a task ran before its time
    last_s: float   # from the end of the load until the last task ran


def work(number, seconds):
    """A task: note when it begins, work, note that it has ended."""
    began = time.time()
    time.sleep(seconds)
    log = os.open(os.environ["KILLS_LOG"], os.O_WRONLY | os.O_APPEND)
    os.write(log, f"{number} {began:.6f}\n".encode())
    os.close(log)


def make_app(url, transport, replicas):
    made = Celery("kills", broker=url, set_as_current=False)
    options = {"visibility_timeout": LEASE_S}
    if url.startswith("slotmq"):
        options = {"lease_ms": f"{LEASE_S}s", "replicas": replicas}
    made.conf.update(broker_transport=transport or None, broker_transport_options=options, task_acks_late=True,
                     task_ignore_result=True, task_reject_on_worker_lost=True, broker_connection_max_retries=None)
    made.task(work, name="kills.work")
    made.finalize()
    return made


if "KILLS_BROKER" in os.environ:
    app = make_app(os.environ["KILLS_BROKER"], os.environ["KILLS_TRANSPORT"], int(os.environ["KILLS_REPLICAS"]))


def judge(sent, refused, lines, ended_at):
    """`sent`: for each number when it may begin.  `lines`: what tasks have noted."""
    runs = collections.Counter()
    early, last = 0, ended_at
    for line in lines:
        number, began = line.split()
        if int(number) in sent:
            runs[int(number)] += 1
            early += float(began) < sent[int(number)]
            last = max(last, float(began))
    return Verdict(sent=len(sent), refused=refused, ran=len(runs), again=sum(runs.values()) - len(runs),
                   lost=len(sent) - len(runs), early=early, last_s=round(last - ended_at, 1))


class Pair:
    """A master and its replica, of which the master fails again and again."""

    def __init__(self, master, replica):
        self.master, self.replica = master, replica
        self._started = []

    def fail_over(self):
        """Kill the master, wait until the replica is master, and start the killed one as its replica."""
        self._wait(lambda: self._ask(self.master, "ROLE")[2])
        told = self._ask(self.master, "INFO", "server")
        program, folder = (os.readlink(f"/proc/{told['process_id']}/{name}") for name in ("exe", "cwd"))
        os.kill(told["process_id"], signal.SIGKILL)
        self._wait(lambda: self._ask(self.replica, "ROLE")[0] == b"master")
        self._started.append(subprocess.Popen(["redis-server", told["config_file"]], executable=program, cwd=folder,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self._wait(lambda: self._ask(self.master, "ROLE")[3] == b"connected")
        self.master, self.replica = self.replica, self.master

    def end(self):
        for process in self._started:
            process.kill()
            process.wait()

    @staticmethod
    def _ask(port, *words):
        with redis.Redis("127.0.0.1", port) as client:
            return client.execute_command(*words)

    @staticmethod
    def _wait(condition):
        """The servers tell nobody, so they are asked."""
        end = time.monotonic() + FAILOVER_S
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (redis.RedisError, IndexError):
                pass
            threading.Event().wait(0.05)
        raise AssertionError("no failover in time")


def pairs_of(address):
    """Of a cluster of which every master has one replica."""
    host, port = address.split(",")[0].split(":")
    with redis.Redis(host, int(port)) as client:
        return [Pair(master[1], replica[1]) for _, _, master, replica in client.execute_command("CLUSTER", "SLOTS")]


class Run:
    """The load of one run, and its faults."""

    def __init__(self, folder, url, transport, pairs, sizes):
        self.sizes, self.pairs, self.folder = sizes, pairs, pathlib.Path(folder)
        self.random = random.Random(sizes.seed)
        self.log = self.folder / "ran"
        self.log.touch()
        replicas = 1 if pairs else 0
        self.environment = {**os.environ, "KILLS_BROKER": url, "KILLS_TRANSPORT": transport, "KILLS_LOG": str(self.log),
                            "KILLS_REPLICAS": str(replicas)}
        self.app = make_app(url, transport, replicas)
        self.workers = []
        self.sent, self.refused = {}, 0
        self.killed = self.failed_over = self._named = 0
        self._stopped = threading.Event()

    def begin_worker(self):
        self._named += 1
        with (self.folder / f"worker-{self._named}").open("wb") as said:
            self.workers.append(subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "kills", "worker", "-l", "warning", "--without-mingle", "-n",
                 f"w{self._named}@%h", "-c", str(self.sizes.processes), "-Q", ",".join(QUEUES[:self.sizes.queues])],
                cwd=FOLDER, env=self.environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True))

    def send(self, number):
        seconds = self.random.uniform(0, self.sizes.work)
        countdown = self.random.uniform(1, MOST_COUNTDOWN_S) if number % 3 == 0 else None
        due = time.time() + (countdown or 0)
        try:
            self.app.tasks["kills.work"].apply_async((number, seconds), countdown=countdown,
                                                        queue=QUEUES[number // 3 % self.sizes.queues])
            self.sent[number] = due
        except Exception as error:  # of the broker: kombu has an error of its own for each transport
            self.refused += 1
            print(f"task {number} was refused: {error}", file=sys.stderr)

    def send_all(self, began):
        """At the rate, from `began` on; what is late is sent at once."""
        for number in range(int(self.sizes.seconds * self.sizes.rate)):
            if self._stopped.wait(max(began + number / self.sizes.rate - time.monotonic(), 0)):
                return
            self.send(number)

    def kill_one(self):
        """The whole group at once, as when a machine fails, and another worker in its place."""
        worker = self.workers.pop(self.random.randrange(len(self.workers)))
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        self.begin_worker()
        self.killed += 1

    def fail_over_all(self, times):
        for number, when in enumerate(times):
            if self._stopped.wait(max(when - time.monotonic(), 0)):
                return
            self.pairs[number % len(self.pairs)].fail_over()
            self.failed_over += 1

    def times(self, began, count):
        """One at a random time in each of so many equal parts of the load."""
        part = self.sizes.seconds / count if count else 0
        return [began + (number + self.random.random()) * part for number in range(count)]

    def wait_for_runs(self):
        """Until each task that was sent has run, or none has run for a while."""
        size, end = -1, time.monotonic() + STILL_S
        while time.monotonic() < end and len(set(self.numbers()) & self.sent.keys()) < len(self.sent):
            if self.log.stat().st_size != size:
                size, end = self.log.stat().st_size, time.monotonic() + STILL_S
            self._stopped.wait(0.5)

    def numbers(self):
        return (int(line.split()[0]) for line in self.log.read_text().splitlines())

    def load(self):
        for _ in range(self.sizes.workers):
            self.begin_worker()
        self.send(-1)
        end = time.monotonic() + BEGIN_S
        while not self.log.stat().st_size:
            if time.monotonic() > end:
                raise AssertionError((self.folder / "worker-1").read_text())
            self._stopped.wait(0.1)
        began = time.monotonic()
        threads = [threading.Thread(target=self.send_all, args=(began,)),
                   threading.Thread(target=self.fail_over_all, args=(self.times(began, self.sizes.failovers),))]
        for thread in threads:
            thread.start()
        for when in self.times(began, self.sizes.kills):
            self._stopped.wait(max(when - time.monotonic(), 0))
            self.kill_one()
        for thread in threads:
            thread.join()
        ended_at = time.time()
        self.wait_for_runs()
        assert (self.killed, self.failed_over) == (self.sizes.kills, self.sizes.failovers)
        return judge(self.sent, self.refused, self.log.read_text().splitlines(), ended_at)

    def end(self):
        self._stopped.set()
        for worker in self.workers:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        self.app.close()
        for pair in self.pairs:
            pair.end()


def run_on(url, sizes, transport="", pairs=()):
    with tempfile.TemporaryDirectory(prefix="slotmq-kills-") as folder:
        run = Run(folder, url, transport, pairs, sizes)
        try:
            return run.load()
        finally:
            run.end()


@contextlib.contextmanager
def cluster(sandbox):
    """Three masters, each with a replica: (the address, the pairs)."""
    with tempfile.TemporaryDirectory(prefix="slotmq-kills-servers-") as folder:
        box = pathlib.Path(folder) / "sandbox"
        subprocess.run([sandbox, "up", box, "--replicas", "1"], check=True, capture_output=True)
        try:
            said = subprocess.run([sandbox, "env", box], check=True, capture_output=True, text=True).stdout
            address = re.search(r"^export SLOTMQ_REDIS=(\S+)$", said, re.MULTILINE)[1]
            yield address, pairs_of(address)
        finally:
            slotmq.celery.close_sessions()
            subprocess.run([sandbox, "down", box], check=True, capture_output=True)


def run_on_cluster(sandbox, sizes, transport=""):
    with cluster(sandbox) as (address, pairs):
        return run_on(f"slotmq://{address}/kills", sizes, transport, pairs)


def run_on_one_redis(sizes):
    """By kombu's transport for Redis, which knows no cluster."""
    port = free_port()
    with one_server(f"port {port}"):
        return run_on(f"redis://127.0.0.1:{port}/0", sizes)


def main():
    parser = argparse.ArgumentParser(description="Kill workers and masters under load, and judge what ran.")
    parser.add_argument("sandbox", help="the program slotmq-sandbox")
    parser.add_argument("--broker", choices=("slotmq", "early-ack", "redis"), default="slotmq",
                        help="early-ack: a transport that loses tasks; redis: kombu's own, on one Redis")
    for field in dataclasses.fields(Sizes):
        parser.add_argument(f"--{field.name}", type=field.type, default=field.default)
    given = vars(parser.parse_args())
    sizes = Sizes(**{field.name: given[field.name] for field in dataclasses.fields(Sizes)})
    if given["broker"] == "redis":
        sizes.failovers = 0
        verdict = run_on_one_redis(sizes)
    else:
        verdict = run_on_cluster(given["sandbox"], sizes, "early_ack:Transport" if given["broker"] == "early-ack" else "")
    print(sizes, verdict, sep="\n")
    return int(bool(verdict.lost or verdict.early))


if __name__ == "__main__":
    sys.exit(main())
