#!/usr/bin/env python3
"""Two versions of slotmq on one Redis Cluster and one ZooKeeper.  Versions that share a format work
on one topic in one fleet, and workers of one replace those of the other; of others each is refused
with a line that says why.  ./dev mixed builds both and runs this.

usage: test_mixed.py NEW OLD SANDBOX works|refused    NEW and OLD are the commands of two builds
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from waiting import wait_until

NEW, OLD, SANDBOX = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
WORKS = {"works": True, "refused": False}[sys.argv[4]]
WAIT_S, KEYS, EACH = 60, 40, 400
DATA_ERROR = 65


class Servers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="slotmq-mixed-")
        cls.base = pathlib.Path(cls.folder.name)
        subprocess.run([SANDBOX, "up", cls.base / "sandbox"], check=True, capture_output=True)
        cls.addClassCleanup(cls.down)
        said = subprocess.run([SANDBOX, "env", cls.base / "sandbox"], check=True, capture_output=True, text=True)
        cls.environment = {**os.environ, **dict(re.findall(r"^export (\w+)=(\S+)$", said.stdout, re.MULTILINE))}

    @classmethod
    def down(cls):
        subprocess.run([SANDBOX, "down", cls.base / "sandbox"], check=True, capture_output=True)
        cls.folder.cleanup()

    def run_command(self, command, *words, text=None):
        return subprocess.run([command, *words], env=self.environment, input=text, text=True, check=False,
                              capture_output=True, timeout=WAIT_S)

    def must(self, command, *words, text=None):
        done = self.run_command(command, *words, text=text)
        self.assertEqual(done.returncode, 0, f"{command} {' '.join(words)}\n{done.stderr}")
        return done.stdout

    def lines(self, command, *words):
        """What is printed as lines of JSON."""
        return [json.loads(line) for line in self.must(command, *words, "--json").splitlines()]

    def check_same(self, ones, others):
        """A newer version may print more fields; those that both have are equal."""
        self.assertEqual(len(ones), len(others))
        for one, other in zip(ones, others):
            both = one.keys() & other.keys()
            self.assertEqual({name: one[name] for name in both}, {name: other[name] for name in both})

    def send(self, command, topic, bodies):
        """Each body "KEY NUMBER ..." is sent with its first field as its key."""
        self.must(command, "send", topic, "--file", "-", "--key-field", "1",
                  text="".join(f"{body}\n" for body in bodies))


class Worker:
    """A process of the fleet, which notes what it handles."""

    def __init__(self, servers, command, topic, *words):
        self.log = servers.base / f"{topic}-{time.monotonic_ns()}.log"
        self.errors = self.log.with_suffix(".err")
        with self.log.open("w") as log, self.errors.open("w") as errors:
            self.process = subprocess.Popen([command, "consume", topic, "--json", "-q", *words],
                                            env=servers.environment, stdout=log, stderr=errors)

    def handled(self):
        """[message], without a line that is not whole yet."""
        return [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def stop(self):
        self.process.terminate()
        return self.process.wait(WAIT_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@unittest.skipUnless(WORKS, "these versions do not share a format")
class OneFleet(Servers):
    def setUp(self):
        self.workers = []

    def start(self, command, topic, *words):
        worker = Worker(self, command, topic, *words)
        self.workers.append(worker)
        self.addCleanup(worker.kill)
        return worker

    def stop(self, worker):
        self.assertEqual(worker.stop(), 0, worker.errors.read_text())

    def handled(self):
        return [message["body"] for worker in self.workers for message in worker.handled()]

    def owned(self, topic):
        """How many slots each member of the fleet owns; none before the first has joined."""
        done = self.run_command(NEW, "fleet", "show", "--topic", topic, "--json")
        if done.returncode != 0:
            return []
        return [share["slots"] for one in json.loads(done.stdout)["topics"] for share in one["shares"]]

    def wait_for(self, bodies):
        wait_until(lambda: len(self.handled()) >= len(bodies), WAIT_S, f"{len(bodies)} messages are handled")
        self.assertEqual(collections.Counter(self.handled()), collections.Counter(bodies))

    def test_types(self):
        """A topic of each type is made by one version, sent to by both, and consumed by both."""
        for number, options in enumerate([[], ["--type", "range_merge", "--layout", "inline", "--delay", "1ms"],
                                          ["--type", "priority"], ["--type", "fifo"],
                                          ["--type", "fixed_time", "--layout", "inline"]]):
            topic, maker = f"types-{number}", [NEW, OLD][number % 2]
            with self.subTest(options=options):
                self.workers = []
                self.must(maker, "topic", "create", topic, *options)
                self.check_same(self.lines(OLD, "topic", "show", topic), self.lines(NEW, "topic", "show", topic))
                for command in [OLD, NEW, OLD, NEW]:
                    self.start(command, topic)
                wait_until(lambda: len(self.owned(topic)) == 4 and all(self.owned(topic)), WAIT_S, "each owns slots")
                bodies = [f"k{i % KEYS} {i} {name}" for name in ["old", "new"] for i in range(EACH)]
                self.send(OLD, topic, bodies[:EACH])
                self.send(NEW, topic, bodies[EACH:])
                self.wait_for(bodies)
                for worker in self.workers:
                    self.assertTrue(worker.handled(), "a worker of this fleet handled nothing")
                    if "fifo" in options:
                        self.check_order(worker)
                    self.stop(worker)

    def check_order(self, worker):
        """Of each key, what one version sent comes in its order."""
        last = {}
        for message in worker.handled():
            key, number, name = message["body"].split()
            self.assertLess(last.get((key, name), -1), int(number))
            last[key, name] = int(number)

    def test_rolling_upgrade_and_back(self):
        """While messages come, each worker is replaced by one of the other version, twice."""
        self.must(OLD, "topic", "create", "rolling")
        fleet = [self.start(OLD, "rolling") for _ in range(3)]
        wait_until(lambda: any(self.owned("rolling")), WAIT_S, "the fleet owns slots")
        bodies = []
        for command in [NEW, OLD]:
            for place, worker in enumerate(fleet):
                more = [f"k{i % KEYS} {len(bodies) + i}" for i in range(EACH)]
                self.send([OLD, NEW][place % 2], "rolling", more)
                bodies += more
                fleet[place] = self.start(command, "rolling")
                self.stop(worker)
        self.wait_for(bodies)

    def test_what_one_leaves_the_other_finds(self):
        """Retries and dead letters, requeues and alterations, in both directions."""
        for number, (one, other) in enumerate([(OLD, NEW), (NEW, OLD)]):
            topic = f"left-{number}"
            self.must(one, "topic", "create", topic)
            self.send(one, topic, ["k1 a", "k2 b"])
            self.must(one, "consume", topic, "--count", "2", "-q", "--", "sh", "-c", f"exit {DATA_ERROR}")
            dead = self.lines(other, "dead", "list", topic)
            self.assertEqual(len(dead), 2)
            self.check_same(dead, self.lines(one, "dead", "list", topic))
            self.must(other, "dead", "requeue", topic, "--all")
            self.check_same(self.lines(one, "peek", topic), self.lines(other, "peek", topic))
            self.must(other, "topic", "alter", topic, "max_retries=3")
            self.assertEqual(self.lines(one, "topic", "show", topic)[0]["max_retries"], 3)
            said = self.must(one, "consume", topic, "--exit-when-empty", "-q")
            self.assertEqual(sorted(said.splitlines()), ["k1 a", "k2 b"])
            stats = [self.lines(command, "stat", topic)[0]["topics"] for command in (one, other)]
            self.check_same(*stats)
            self.assertEqual((stats[0][0]["done"], stats[0][0]["rejected"]), (2, 2))


@unittest.skipIf(WORKS, "these versions share a format")
class OtherFormat(Servers):
    def refused(self, command, *words):
        done = self.run_command(command, *words)
        self.assertNotEqual(done.returncode, 0, f"{command} {' '.join(words)}\n{done.stdout}")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def test_topics_of_the_other_are_refused(self):
        for maker, user, reason in [(NEW, OLD, "was made by a newer slotmq"), (OLD, NEW, "was made by an older slotmq")]:
            topic = f"made-by-{'new' if maker == NEW else 'old'}"
            self.must(maker, "topic", "create", topic)
            for words in [["send", topic, "a"], ["consume", topic, "--exit-when-empty"], ["topic", "show", topic]]:
                with self.subTest(maker=maker, words=words):
                    self.assertIn(reason, self.refused(user, *words))
            self.must(maker, "send", topic, "a")
            self.assertEqual(self.must(maker, "consume", topic, "--exit-when-empty", "-q"), "a\n")

    def test_messages_come_over(self):
        """As docs/deployment.md says: the old version writes them, this one stores them anew.  0.1 wrote one object."""
        self.must(OLD, "topic", "create", "moved")
        self.send(OLD, "moved", [f"k{i % KEYS} {i}" for i in range(EACH)])
        waiting = self.must(OLD, "peek", "moved", "--state", "waiting,resting,dead", "--limit", str(2 * EACH), "--json")
        if waiting.startswith('{"messages":'):
            waiting = "".join(json.dumps(message) + "\n" for message in json.loads(waiting)["messages"])
        self.must(OLD, "topic", "delete", "moved", "--force", "--yes")
        self.must(NEW, "topic", "create", "moved")
        self.must(NEW, "send", "moved", "--json", "--restore", "--file", "-", text=waiting)
        said = self.must(NEW, "consume", "moved", "--exit-when-empty", "-q")
        self.assertEqual(sorted(said.splitlines()), sorted(f"k{i % KEYS} {i}" for i in range(EACH)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
