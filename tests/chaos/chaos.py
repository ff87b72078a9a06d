#!/usr/bin/env python3
"""Run a fleet on real servers, do everything to it that happens to fleets, and judge its logs.

usage: ./dev chaos [--seed N] [--seconds S] [--runs K | --soak HOURS] [--server NAME]; --help

Each run has a network of its own in Linux network namespaces, six Redis nodes, three ZooKeeper
servers, one to eight worker processes and two senders.  A run is judged by its logs alone
(check.py).  It is void, and fails, when it showed too little: see LEAST_...
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import check
import faults
import selftest
import servers
import ticks
from monitor import Monitor
from network import Network

WORKERS, SPARE = 4, 4
RATE = 350  # messages per second of each sender
HOT_S = (6, 18)  # when each of them sends the first messages of the hot key
ALL = 64    # slots into which sends may push at once: all that a worker has
PUSH_SLOTS = (ALL, ALL, ALL, 1, 0)  # one of these for each worker but the first three
STOPS = 4                 # one of this many workers stops when its membership has expired
DRAIN_S = 90
LOOK_S = 5                # between two looks of the operator
TOPICS = {
    "jobs": ["--slots", "16", "--backoff", "fixed:50", "--format", "5"],
    "fifo": ["--type", "fifo", "--slots", "8", "--backoff", "fixed:50"],
    "priority": ["--type", "priority", "--slots", "8", "--backoff", "fixed:50",
                 "--takeover", "strict", "--lease", "10s"],
    "merge": ["--type", "range_merge", "--delay", "200ms", "--slots", "8", "--backoff", "fixed:50",
              "--takeover-replicas", "1"],
    "shared": ["--shared", "--slots", "8", "--backoff", "fixed:50", "--lease", "3s", "--format", "5"],
}
SLOTS = {"jobs": 16, "fifo": 8, "priority": 8, "merge": 8, "shared": 8}
SHARED = [topic for topic, options in TOPICS.items() if "--shared" in options]
EXCLUSIVE = [topic for topic in TOPICS if topic not in SHARED]
OWNED = sum(SLOTS[topic] for topic in EXCLUSIVE)  # slots that have an owner
STRICT = [topic for topic, options in TOPICS.items() if "strict" in options]
REPLICATED = [topic for topic, options in TOPICS.items() if "--takeover-replicas" in options]


class Fleet:
    def __init__(self, network, folder, programs, redis, zookeeper, options):
        def client(kind, name, *words):
            log = f"{folder}/{kind}-{name}.log"
            return servers.Client(network, name, folder / "processes" / name,
                                  [f"{programs}/tests/chaos/chaos-{kind}", redis, *words, log], log)

        self.workers = [client("worker", f"w{i + 1}", zookeeper, f"w{i + 1}", str(slots), zk_loss)
                        for i, (slots, zk_loss) in enumerate(options)]
        self.senders = [client("sender", f"s{i + 1}", f"s{i + 1}", str(RATE), str(level),
                               str(hot_s))
                        for i, (level, hot_s) in enumerate(zip((0, 1), HOT_S))]

    def running(self):
        """Those that always run but for their own faults."""
        return [worker for worker in self.workers[:WORKERS] if worker.runs()]

    def spare(self):
        return [worker for worker in self.workers[WORKERS:] if not worker.runs()]


class World:
    """All that faults act on.  Thread: one for each series of faults; each has its own hosts."""

    def __init__(self, folder, programs, seed=0, seconds=0, in_redis=False):
        self.seconds = seconds  # of the time of faults
        chance = random.Random(f"{seed} pushes")
        # One of the first three may be away for half of the time.
        self.push_slots = [ALL if i < 3 else chance.choice(PUSH_SLOTS)
                           for i in range(WORKERS + SPARE)]
        stops = random.Random(f"{seed} zk_loss").randrange(STOPS)
        self.zk_losses = ["stop" if i % STOPS == stops else "continue"
                          for i in range(WORKERS + SPARE)]
        self.folder, self.programs = folder, programs
        self.over = threading.Event()
        self.fence_was_raised = False
        self.failed = []
        self.lock = threading.Lock()
        self.log = open(folder / "faults.log", "w", encoding="utf-8", buffering=1)
        hosts = [f"r{i + 1}" for i in range(2 * servers.MASTERS)]
        hosts += [] if in_redis else ["z1", "z2", "z3"]
        hosts += [f"w{i + 1}" for i in range(WORKERS + SPARE)] + ["s1", "s2"]
        self.network = Network(hosts)
        self.cluster = servers.Cluster(self.network, folder / "processes", programs)
        self.ensemble = None if in_redis else servers.Ensemble(self.network, folder / "processes")
        self.fleet = Fleet(self.network, folder, programs, self.cluster.addresses,
                           "-" if in_redis else self.ensemble.addresses,
                           list(zip(self.push_slots, self.zk_losses)))
        self.topics, self.exclusive = list(TOPICS), EXCLUSIVE
        self.monitors = []
        self.lives = servers.Lives(self.cluster)

    def note(self, what, who="-", detail=0):
        with self.lock:
            self.log.write(f"{what} {time.monotonic_ns()} {who} {detail}\n")

    def sleep(self, seconds):
        """Sleep, but not beyond the end of the faults."""
        self.over.wait(seconds)

    def slot_key(self, chance):
        topic = chance.choice(self.topics)
        return f"{topic}_{chance.randrange(SLOTS[topic])}"

    def command(self, *words, check=True):
        kind = ["-z", self.ensemble.addresses] if self.ensemble else ["-X", "coordination=redis"]
        return subprocess.run([f"{self.programs}/cli/slotmq", *kind, *words], check=check,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "SLOTMQ_REDIS": self.cluster.addresses}).stdout

    def start(self):
        self.cluster.start()
        if self.ensemble:
            self.ensemble.start()
        self.monitors = [Monitor(node, self.folder) for node in self.cluster.nodes]
        for topic, options in [*TOPICS.items(), (ticks.TOPIC, ticks.OPTIONS)]:
            self.command("topic", "create", topic, *options)
        for schedule, every_ms in ticks.SCHEDULES.items():
            self.command("schedule", "put", ticks.TOPIC, schedule, "--every", f"{every_ms}ms")
        for worker in self.fleet.workers[:WORKERS]:
            worker.start()
        servers.wait_until(self._all_owned, 30, "every slot has an owner")
        for sender in self.fleet.senders:
            sender.start()

    def _all_owned(self):
        lines = [line for worker in self.fleet.workers[:WORKERS]
                 if (path := self.folder / f"worker-{worker.host}.log").exists()
                 for line in path.read_text().splitlines() if line.startswith("event ")]
        owned = {tuple(words[3:5]) for line in lines
                 if (words := line.split(" "))[2] == "slot_gained" and words[3] in SLOTS}
        return len(owned) == OWNED

    def log_sizes(self):
        return {worker: worker.log_size() for worker in self.fleet.workers}

    def damaged_since(self, sizes):
        """The slots, as "jobs_5", that workers have named as damaged since then."""
        return {f"{words[3]}_{words[4]}" for worker, size in sizes.items()
                for words in worker.log_since(size) if words[::2][:2] == ["event", "damaged"]}

    def series(self, seed, name):
        """The thread of one series of faults."""
        try:
            for pause, fault in faults.plan(self, seed, name):
                self.sleep(pause)
                if self.over.is_set():
                    return
                if name in faults.ON_REDIS:
                    self.look_at_masters()
                self.note("begin", fault.name)
                fault.run()
                self.note("healed", fault.name)
                if name in faults.ON_REDIS:
                    self.look_at_masters(fault.replaces)
        except Exception as error:  # whatever it is: the run shows less than was planned
            self.note("failed", type(error).__name__)
            self.failed.append(f"{fault.name}: {type(error).__name__} {error}")
            self.over.set()

    def look_at_masters(self, may_change=False):
        """Without a fault that replaces it, a master is replaced when its process got no processor
        for longer than the node time-out; what it has acknowledged last is lost then."""
        for host in self.lives.changed():
            if not may_change:
                self.note("stood-still", host)

    def supervise(self):
        """Start again, as a service manager does, what began while ZooKeeper was away."""
        for worker in self.fleet.workers[:WORKERS]:
            if worker.was_refused() and not worker.leaves:
                self.note("restarted", worker.host)
                worker.start()

    def operate(self):
        """The thread of an operator who looks every few seconds, as after a failover one must."""
        while not self.over.wait(LOOK_S):
            if self.fence_was_raised:
                try:
                    self.fence_again()
                except subprocess.CalledProcessError:
                    pass  # servers cannot be reached: the next look is soon

    def torment(self, options):
        threads = [threading.Thread(target=self.series, args=(options.seed, name))
                   for name in (faults.FORMS if self.ensemble else
                                faults.FORMS_IN_REDIS)[options.series]]
        threads.append(threading.Thread(target=self.operate))
        self.note("faults-begin")
        for thread in threads:
            thread.start()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end and not self.over.wait(0.5):
            self.supervise()
        self.over.set()
        for thread in threads:
            thread.join()
        self.look_at_masters()
        self.note("faults-end")

    def fence_again(self):
        """A failover may lose that topics follow a raised fence; then, as docs/operations.md says,
        the operator sees it in `slotmq doctor`, and raises the fence once more."""
        findings = json.loads(self.command("--json", "doctor", check=False))["findings"]
        lost = [finding["subject"] for finding in findings
                if finding["severity"] == "error" and finding["check"] in ("bindings", "tokens")]
        if lost:
            self.command("fleet", "raise-fence", "--yes")
            self.note("fenced-again", ",".join(lost))

    def heal(self):
        servers.wait_until(self.cluster.is_whole, 60, "the cluster is whole")
        if self.ensemble:
            servers.wait_until(self.ensemble.is_whole, 60, "the ensemble is whole")
        if self.fence_was_raised:
            self.fence_again()
        for worker in self.fleet.workers[:WORKERS]:
            if not worker.runs():
                worker.start()
        self.note("healed-all")

    def counts(self):
        """How many messages are not done or dead; None while that is not known."""
        topics = json.loads(self.command("--json", "stat"))["topics"]
        if len(topics) < len(self.topics) or any(topic["slots_silent"] for topic in topics):
            return None
        return sum(topic["waiting"] + topic["claimed"] + topic["resting"] for topic in topics)

    def drain(self):
        for sender in self.fleet.senders:
            sender.end(90)
        self.note("schedules-end")
        for line in self.command("--json", "schedule", "list", ticks.TOPIC).splitlines():
            self.command("schedule", "remove", ticks.TOPIC, json.loads(line)["id"])
        servers.wait_until(self.is_drained, DRAIN_S, "everything sent was handled")
        self.note("drained")

    def is_drained(self):
        self.supervise()
        return self.counts() == 0

    def stop(self):
        for worker in self.fleet.workers:
            worker.signal(signal.SIGTERM)
        for worker in self.fleet.workers:
            if worker.runs() and worker.end() != 0 and not worker.was_denied():
                self.failed.append(f"{worker.host} did not end well")
        for monitor in self.monitors:
            monitor.stop()

    def final(self):
        """What is left in Redis, key by key, as check.py reads it."""
        left = {}
        for node in self.cluster.masters():
            with node.client(20) as client:
                client.connection_pool.connection_kwargs["encoding_errors"] = "backslashreplace"
                for key in client.scan_iter(count=1000):
                    kind = client.type(key)
                    if kind == "zset":
                        left[key] = client.zrange(key, 0, -1, withscores=True)
                    elif kind == "hash":
                        left[key] = client.hgetall(key)
        (self.folder / "final.json").write_text(json.dumps(left))


def run_once(folder, options):
    """One run; what went wrong with it, as lines."""
    in_redis = options.coordination == "redis"
    world = World(folder, options.programs, options.seed, options.seconds, in_redis)
    try:
        world.start()
        (folder / "run.json").write_text(json.dumps(
            {"seed": options.seed, "seconds": options.seconds, "series": options.series,
             "coordination": options.coordination, "commit": commit(), "server": servers.version(),
             "schedules": ticks.SCHEDULES,
             "topics": SLOTS, "strict": STRICT, "replicated": REPLICATED, "shared": SHARED,
             "push_slots": world.push_slots, "zk_losses": world.zk_losses,
             "wall_minus_monotonic_ns": time.time_ns() - time.monotonic_ns()}))
        world.torment(options)
        world.heal()
        try:
            world.drain()
        finally:  # when it did not drain, the checker says what is left
            world.final()
    except (TimeoutError, subprocess.SubprocessError) as error:
        world.failed.append(str(error))
        world.note("failed", type(error).__name__)
    finally:
        world.stop()
    return world.failed


def commit():
    """Of the tree that this file is in, with a + when it was changed; "" when that is not known."""
    if not shutil.which("git"):
        return ""
    found = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "describe", "--always",
                            "--abbrev=12", "--exclude=*", "--dirty=+"], check=False, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return found.stdout.strip()


def record(options, failed, verdict):
    """Append the figures of a run to the file, as a line of JSON."""
    line = {"seed": options.seed, "seconds": options.seconds, "commit": commit(),
            "server": servers.version(),
            "verdict": "failed"} | (verdict.record if verdict else {}) | {"failed": failed}
    if failed and line["verdict"] != "violated":
        line["verdict"] = "failed"
    with open(options.record, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def isolated(arguments):
    """Run this program again in namespaces of its own; everything in them ends with it."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *user, "--net", "--mount", "--pid", "--mount-proc", "--fork",
             "--kill-child", sys.executable, __file__, *arguments, "--isolated"]
    return subprocess.run(words, check=False).returncode


def run_here(options):
    """One run inside its namespaces, and its verdict; True if it is good."""
    folder = pathlib.Path(options.keep)
    failed = run_once(folder, options)
    for line in failed:
        print(f"chaos: {line}")
    verdict = check.judge(folder) if (folder / "final.json").exists() else None
    if verdict:
        print(verdict.text(), flush=True)
    if options.record:
        record(options, failed, verdict)
    return not failed and verdict is not None and verdict.good()


def run_seed(options, seed):
    """One run from outside; True if it is good.  The logs of a bad one are kept."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"slotmq-chaos-{seed}-"))
    print(f"chaos: seed {seed}, {options.seconds} s", flush=True)
    more = ["--record", options.record] if options.record else []
    good = isolated([options.programs, "--seed", str(seed), "--seconds", str(options.seconds),
                     "--series", options.series, "--coordination", options.coordination, "--keep", str(folder), *more]) == 0
    if good and options.self_test:
        good = not selftest.run(folder)
    if not good:
        print(f"chaos: seed {seed} failed; its logs are in {folder}", flush=True)
    elif options.keep:
        shutil.move(folder, options.keep)
    else:
        shutil.rmtree(folder)
    return good


def run_seeds(options):
    first = options.seed if options.seed is not None else random.randrange(1 << 31)
    end = time.monotonic() + options.soak * 3600
    bad, number = [], 0
    while number < options.runs or time.monotonic() < end:
        if not run_seed(options, first + number):
            bad.append(first + number)
        number += 1
    print(f"chaos: {number - len(bad)} of {number} runs were good"
          + (f"; bad seeds: {' '.join(map(str, bad))}" if bad else ""))
    return not bad


def parse():
    parser = argparse.ArgumentParser(prog="./dev chaos")
    parser.add_argument("programs", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help="of the first run; a random one")
    parser.add_argument("--seconds", type=int, default=60, help="of faults in a run; %(default)s")
    parser.add_argument("--runs", type=int, default=1, help="how many; %(default)s")
    parser.add_argument("--soak", type=float, default=0, metavar="HOURS",
                        help="go on with new seeds for so long")
    parser.add_argument("--series", choices=list(faults.FORMS), default="faults",
                        help="what is done; damage: Redis also loses keys; clocks: those of its nodes "
                        "step; %(default)s")
    parser.add_argument("--coordination", choices=("zookeeper", "redis"), default="zookeeper",
                        help="in what the fleet agrees who owns which slot; %(default)s")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the logs of a good run here")
    parser.add_argument("--record", metavar="FILE",
                        help="append a line of JSON with the figures of each run to this file")
    parser.add_argument("--check", metavar="FOLDER", help="only judge the logs in this folder")
    parser.add_argument("--self-test", nargs="?", const=True, metavar="FOLDER",
                        help="plant violations in the logs of each run, or only in those of this "
                        "folder; the checker must name each")
    parser.add_argument("--isolated", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.programs = str(pathlib.Path(options.programs).resolve())
    options.record = options.record and str(pathlib.Path(options.record).resolve())
    return options


def main():
    options = parse()
    if options.isolated:
        return run_here(options)
    if options.check:
        verdict = check.judge(options.check)
        print(verdict.text())
        return verdict.good()
    if isinstance(options.self_test, str):
        return not selftest.run(options.self_test)
    return run_seeds(options)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(0 if main() else 1)
    except KeyboardInterrupt:
        sys.exit(130)
