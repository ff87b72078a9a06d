#!/usr/bin/env python3
"""What real members of a fleet did is a path of the model, and what they did not do is none.
usage: test_trace.py COORD-MEMBER SANDBOX

Three members move the slots of a topic between them, one of them does not reach Redis for a while, one joins late,
one is stopped for longer than its session, one does not give its slots up in time, and one is killed.  They agree in
ZooKeeper, and then in a tree in Redis.  All of it is recorded as coord/model/README.md says, and the trace check looks
at it.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SESSION_MS = 4000
SLOTS = 4
WAIT_S = 60
MEMBER, SANDBOX = sys.argv[1:3]
CHECK = pathlib.Path(__file__).resolve().parents[3] / "coord" / "model" / "trace_check.py"


class History:
    """Lines of all members, in the order of their times."""

    def __init__(self):
        self.lock = threading.Condition()
        self.lines = []

    def add(self, **line):
        with self.lock:
            self.lines.append(line)
            self.lock.notify_all()

    def wait(self, true_of):
        with self.lock:
            assert self.lock.wait_for(lambda: true_of(self.lines), WAIT_S), "nothing came of it"


class Member:
    """A process coord-member; what it prints becomes lines of the history."""

    def __init__(self, history, servers, name):
        self.history, self.name, self.sessions = history, name, 0
        self.process = subprocess.Popen([MEMBER, servers, name, str(SESSION_MS), "continue"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ended = False
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.say(f"join orders n1 1 {SLOTS} 1 500")

    def say(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def read(self):
        for text in self.process.stdout:
            at, what, *words = text.split()
            if what in ("granted", "revoked", "released", "lost"):
                if what == "granted" and self.ended:
                    self.sessions, self.ended = self.sessions + 1, False
                line = {"slot": int(words[1]), "what": what}
                if what == "granted":
                    line["token"] = f"{int(words[2]):08x}{int(words[3]):016x}"
                self.add(at, **line)
            elif what == "event" and words[0] == "session_lost":
                self.ended = True
                self.add(at, what="session_lost")
            elif what == "event" and words[0] == "not_released":
                found = re.search(r"member (\S+) at host \S+ did not release \d+ slots \(([-,\d]+)\)", text)
                for first, last in (piece.split("-") for piece in found[2].split(",")):
                    for slot in range(int(first), int(last) + 1):
                        self.history.add(ts=int(at), member=found[1], topic="orders", slot=slot, what="timed_out")

    def add(self, at, **line):
        self.history.add(ts=int(at), member=self.name, incarnation=f"{self.process.pid}.{self.sessions}",
                         **({"topic": "orders"} if "slot" in line else {}), **line)

    def cut(self, number):
        """Send a signal after which the session may end; that is in the history first."""
        self.history.add(ts=time.monotonic_ns(), member=self.name, what="cut")
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def owners(lines, ends=("released", "lost")):
    """By slot the name of who was granted it last, and has not ended it."""
    found = {}
    for line in sorted(lines, key=lambda line: line["ts"]):
        if line["what"] == "granted":
            found[line["slot"]] = line["member"]
        elif line["what"] in ends and found.get(line["slot"]) == line["member"]:
            del found[line["slot"]]
    return found


def record(history, servers):
    members = []

    def start(name):
        members.append(Member(history, servers, name))
        return members[-1]

    def wait_owned(names):
        history.wait(lambda lines: set(owners(lines).values()) == set(names) and len(owners(lines)) == SLOTS)

    def wait_passed_over(name):
        """Who was stopped or killed says nothing, so it counts until another is granted its slots."""
        history.wait(lambda lines: name not in owners(lines, ends=()).values())

    try:
        first, second = start("a"), start("b")
        wait_owned("ab")
        third = start("c")
        wait_owned("abc")
        third.say("reachable 0")
        wait_owned("ab")
        third.say("reachable 1")
        wait_owned("abc")
        second.cut(signal.SIGSTOP)
        wait_passed_over("b")
        second.process.send_signal(signal.SIGCONT)
        wait_owned("abc")
        first.say("hold")
        fourth = start("d")
        wait_owned("abcd")
        first.say("release")
        third.cut(signal.SIGKILL)
        wait_passed_over("c")
        fourth.say("leave orders")
        wait_owned("ab")
    finally:
        for member in members:
            member.end()


class InZooKeeper(unittest.TestCase):
    SERVERS = "SLOTMQ_ZOOKEEPER", "{}/trace"

    @classmethod
    def setUpClass(cls):
        history = History()
        cls.folder = tempfile.TemporaryDirectory()
        sandbox = os.path.join(cls.folder.name, "sandbox")
        subprocess.run([SANDBOX, "up", sandbox, "--masters", "1", "--zookeeper"], check=True, stdout=subprocess.DEVNULL)
        try:
            words = subprocess.run([SANDBOX, "env", sandbox], check=True, capture_output=True, text=True).stdout
            variable, form = cls.SERVERS
            servers = re.search(rf"{variable}='?([^'\s]+)", words)[1].split("/")[0]
            record(history, form.format(servers))
        finally:
            subprocess.run([SANDBOX, "down", sandbox], check=True, stdout=subprocess.DEVNULL)
        cls.lines = sorted(history.lines, key=lambda line: line["ts"])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def verdict(self, lines):
        path = pathlib.Path(self.folder.name) / "history.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True, check=False)

    def moved(self):
        """A slot that one member released and another was granted: the two lines."""
        for line in self.lines:
            if line["what"] == "released":
                for later in self.lines:
                    if later["ts"] > line["ts"] and later["what"] == "granted" and later["slot"] == line["slot"]:
                        return line, later
        return None

    def test_what_happened_is_a_path(self):
        result = self.verdict(self.lines)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{SLOTS} slots checked, 0 of them", result.stdout)

    def test_a_grant_before_the_release_is_no_path(self):
        released, granted = self.moved()
        late = dict(released, ts=granted["ts"] + 1)
        result = self.verdict([late if line is released else line for line in self.lines])
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot follow", result.stdout)

    def test_a_token_that_does_not_grow_is_no_path(self):
        _, granted = self.moved()
        old = dict(granted, token="00000001" + "0" * 15 + "1")
        result = self.verdict([old if line is granted else line for line in self.lines])
        self.assertEqual(result.returncode, 1)

    def test_a_session_that_ends_without_a_cause_is_no_path(self):
        result = self.verdict([line for line in self.lines if line["what"] not in ("cut", "session_lost")])
        self.assertEqual(result.returncode, 1)

    def test_a_time_out_that_nobody_saw_is_no_path(self):
        self.assertTrue(any(line["what"] == "timed_out" for line in self.lines))
        result = self.verdict([line for line in self.lines if line["what"] != "timed_out"])
        self.assertEqual(result.returncode, 1)


class InRedis(InZooKeeper):
    SERVERS = "SLOTMQ_REDIS", "redis:{}/trace"


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
