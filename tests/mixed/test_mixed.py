#!/usr/bin/env python3
"""Two versions of slotmq on one Redis Cluster and one ZooKeeper.  Versions that share a format work
on one topic in one fleet, and workers of one replace those of the other; of others each is refused
with a line that says why, and docs/upgrading.md is followed.  ./dev mixed builds both and runs this.

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
        subprocess.run([SANDBOX, "up", cls.base / "sandbox", "--zookeeper"], check=True, capture_output=True)
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
            form = [] if "--" in words else ["--json"]
            self.process = subprocess.Popen([command, "consume", topic, "-q", *form, *words],
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

    def test_to_the_newest_format_and_back(self):
        """The workers are replaced, a sender of the old version lives on, and the topic gets the format of this one."""
        topic = "format"
        self.must(OLD, "topic", "create", topic)
        fleet = [self.start(OLD, topic) for _ in range(2)]
        wait_until(lambda: len(self.owned(topic)) == 2 and all(self.owned(topic)), WAIT_S, "each owns slots")
        self.assertIn("is used by 2 consumers", self.run_command(NEW, "topic", "upgrade", topic).stderr)
        sender = subprocess.Popen([OLD, "send", topic, "--file", "-", "--key-field", "1"], env=self.environment,
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(sender.kill)
        bodies = [f"k{i % KEYS} {i}" for i in range(EACH)]
        sender.stdin.write("".join(f"{body}\n" for body in bodies))
        sender.stdin.flush()
        for place, worker in enumerate(fleet):
            fleet[place] = self.start(NEW, topic)
            self.stop(worker)
        wait_until(lambda: len(self.handled()) >= len(bodies), WAIT_S, "what the old version has sent is handled")
        self.assertIn("is used by 0 consumers and 1 producers", self.run_command(NEW, "topic", "upgrade", topic).stderr)
        self.must(NEW, "topic", "upgrade", topic, "--force")
        more = [f"k{i % KEYS} {i}" for i in range(EACH, 2 * EACH)]
        self.send(NEW, topic, more)
        _, said = sender.communicate("k1 refused\n", WAIT_S)
        self.assertNotEqual(sender.returncode, 0)
        self.assertIn("was made by a newer slotmq: its format is 5", said)
        self.wait_for(bodies + more)
        self.must(NEW, "topic", "upgrade", topic, "--back")
        self.must(OLD, "send", topic, "k1 last", "--key", "k1")
        for place, worker in enumerate(fleet):
            fleet[place] = self.start(OLD, topic)
            self.stop(worker)
        self.wait_for([*bodies, *more, "k1 last"])

    def test_the_lease_of_one_without_zookeeper_and_back(self):
        """One process of the old version has all slots.  Members of a fleet in Redis stand by until it has ended, and
        share them then; it is refused until the topic is bound back."""
        self.environment = {name: value for name, value in self.environment.items() if name != "SLOTMQ_ZOOKEEPER"}
        topic, bodies = "alone", []

        def send_more():
            more = [f"k{i % KEYS} {len(bodies) + i}" for i in range(EACH)]
            bodies.extend(more)
            self.send(OLD, topic, more)
            self.wait_for(bodies)

        self.must(OLD, "topic", "create", topic)
        old = self.start(OLD, topic)
        send_more()
        fleet = [self.start(NEW, topic, "-v") for _ in range(2)]
        wait_until(lambda: all("a process of version 0.2 has all slots" in worker.errors.read_text() for worker in fleet),
                   WAIT_S, "both say that they stand by")
        send_more()
        self.assertFalse([worker for worker in fleet if worker.handled()])
        self.stop(old)
        send_more()
        wait_until(lambda: send_more() or all(worker.handled() for worker in fleet), WAIT_S, "both handle some")
        refused = self.run_command(OLD, "consume", topic, "--exit-when-empty")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("topic rebind", refused.stderr)
        for worker in fleet:
            self.stop(worker)
        self.must(OLD, "topic", "rebind", topic)
        self.start(OLD, topic)
        send_more()

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


PAGE = (pathlib.Path(__file__).parents[2] / "docs/upgrading.md").read_text()
OFTEN = ["-X", "session_timeout_ms=2s"]  # so that what was killed is gone soon
TYPES = {"prices": ["--type", "priority"], "letters": ["--type", "fifo"],
         "views": ["--type", "range_merge", "--layout", "inline", "--delay", "1h"]}


def commands_of_page():
    """The blocks of the steps from 0.1 to 0.2 in their order, the last of which is the script."""
    chapter = PAGE.split("\n## From 0.1 to 0.2\n")[1].split("\n## ")[0]
    return [re.sub("^ {3}", "", block, flags=re.MULTILINE) if indent else block
            for indent, block in re.findall(r"^( *)```sh\n(.*?)^ *```$", chapter, re.MULTILINE | re.DOTALL)]


@unittest.skipUnless(" 0.1." in subprocess.run([OLD, "--version"], check=True, capture_output=True, text=True).stdout,
                     "docs/upgrading.md has no steps from this version")
class Upgrade(Servers):
    """The steps of docs/upgrading.md, run as they stand there."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, command in [("slotmq", NEW), ("slotmq-0.1", OLD)]:
            (cls.base / name).symlink_to(command)
        cls.environment["PATH"] = f"{cls.base}:{os.environ['PATH']}"
        *cls.steps, script = commands_of_page()
        (cls.base / "bring-over").write_text(script)

    def follow(self, step):
        done = subprocess.run(["bash", "-c", step], env=self.environment, cwd=self.base, text=True, check=False,
                              capture_output=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 0, f"{step}\n{done.stderr}")

    def stored(self, topic):
        """What 0.1 has stored, by the body and the key."""
        states = "waiting,claimed,resting,dead"
        said = json.loads(self.must(OLD, "peek", topic, "--state", states, "--limit", "100000", "--json"))
        return self.by_body(said["messages"])

    def by_body(self, messages):
        return {(message.get("body", message.get("body_base64")), message["key"]): message for message in messages}

    def check_brought(self, before, after, *names):
        self.assertEqual(before.keys(), after.keys())
        for message, old in before.items():
            self.assertEqual({name: old[name] for name in names}, {name: after[message][name] for name in names})

    def start(self, command, topic, *words):
        worker = Worker(self, command, topic, *OFTEN, *words)
        self.addCleanup(worker.kill)
        return worker

    def leave_a_claim(self):
        """The process of a handler is killed."""
        begun = self.base / "begun"
        worker = self.start(OLD, "orders", "--threads", "1", "--", "sh", "-c", f"echo >{begun}; exec sleep {WAIT_S}")
        wait_until(begun.exists, WAIT_S, "a handler is at work")
        worker.kill()

    def fill_orders(self):
        """Messages in each state: dead, claimed, resting or retried, due, and due later."""
        self.must(OLD, "topic", "create", "orders")
        for body, code in [("k1 refused", str(DATA_ERROR)), ("k2 failed", "1")]:
            self.send(OLD, "orders", [body])
            self.must(OLD, "consume", "orders", "--count", "1", "-q", *OFTEN, "--", "sh", "-c", f"exit {code}")
        self.send(OLD, "orders", ["k3 held"])
        self.leave_a_claim()
        self.send(OLD, "orders", [f"k{i % KEYS} {i}" for i in range(10_001)])  # more than the script asks for at once
        self.must(OLD, "send", "orders", "later", "--key", "k1", "--id", "later", "--delay", "1s", "--ttl", "1h",
                  "--retries", "2")
        (self.base / "bytes").write_bytes(b"k2 \x01\xff\xfe \"caf\xc3\xa9\"\n")
        self.must(OLD, "send", "orders", "--file", str(self.base / "bytes"), "--key-field", "1")

    def test_messages_of_each_state(self):
        self.fill_orders()
        before = self.stored("orders")
        self.assertLessEqual({"dead", "claimed", "waiting"}, {message["state"] for message in before.values()})
        for step in self.steps:
            self.follow(step)
        handled = self.start(NEW, "orders")
        wait_until(lambda: handled.log.read_text().count("\n") >= len(before), WAIT_S, "all are handled")
        after = self.by_body(handled.handled())
        self.check_brought(before, after, "id")
        del before["k1 refused", "k1"], after["k1 refused", "k1"]  # it is due anew
        self.check_brought(before, after, "due_at_ms")
        self.assertEqual(handled.stop(), 0)
        self.assertEqual(len(handled.handled()), len(before) + 1)
        self.assertEqual(self.by_body(handled.handled())["k2 failed", "k2"]["attempt"], 2)

    def test_messages_of_each_type(self):
        """A process of 0.1 leads the fleet at the same time, with a topic that was not upgraded yet."""
        self.must(OLD, "topic", "create", "notes")
        notes = self.start(OLD, "notes")
        for topic, flags in TYPES.items():
            self.must(OLD, "topic", "create", topic, *flags)
            self.send(OLD, topic, [f"k{i % 4} {i}" for i in range(12)])
        self.must(OLD, "send", "prices", "dear", "--priority", "7")
        for topic, flags in TYPES.items():
            before = self.stored(topic)
            self.follow(f"sh bring-over {topic} {' '.join(flags)}")
            after = self.by_body(self.lines(NEW, "peek", topic))
            self.check_brought(before, after, "due_at_ms", "priority", "expires_at_ms")
        said = self.must(NEW, "consume", "letters", "--exit-when-empty", "-q", "--threads", "1", *OFTEN).splitlines()
        self.assertEqual([line for line in said if line.startswith("k1 ")], ["k1 1", "k1 5", "k1 9"])
        self.must(OLD, "send", "notes", "still here")
        wait_until(notes.handled, WAIT_S, "0.1 handles its own topic")

    def test_an_old_consumer_that_was_not_ended(self):
        self.must(OLD, "topic", "create", "forgotten")
        self.must(OLD, "pause", "forgotten")
        self.must(OLD, "send", "forgotten", "a")
        old = self.start(OLD, "forgotten")
        show = ["fleet", "show", "--topic", "forgotten", "--json"]
        wait_until(lambda: '"members":1' in self.run_command(OLD, *show).stdout, WAIT_S, "the old consumer is a member")
        self.follow("sh bring-over forgotten")
        new = self.start(NEW, "forgotten")
        wait_until(lambda: f"-{old.process.pid}-" in new.errors.read_text(), WAIT_S, "the old consumer is named")
        self.assertRegex(new.errors.read_text().splitlines()[0], "has a deleted topic of this name: end that process")
        new.kill()
        old.kill()
        self.assertEqual(self.must(NEW, "consume", "forgotten", "--exit-when-empty", "-q"), "a\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
