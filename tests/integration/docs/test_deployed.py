#!/usr/bin/env python3
"""The command lines in deploy/ do on real servers what they are for: the unit and the Pod consume and
stop, the probes tell the truth, and the script writes what rules, dashboard and KEDA ask for.  The
settings in docs/deployment.md are settings of Redis.  And each command that a text of slotmq advises
can be followed.

usage: test_deployed.py ROOT SANDBOX SLOTMQ"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT, SANDBOX, SLOTMQ = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
DEPLOY = ROOT / "deploy"
TIMEOUT_S = 120

sys.path.insert(0, str(ROOT / "tests/support"))
from waiting import wait_until  # noqa: E402  the path comes first


def variables(path):
    return dict(re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE))


def container(name, index):
    for document in yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text()):
        if document["kind"] == "Deployment":
            return document["spec"]["template"]["spec"]["containers"][index]
    raise LookupError(name)


def advised():
    """The commands that texts of the command and of the library name: "topic repair --all"."""
    sources = [path for room in ("cli", "libsrc", "coord") for path in sorted((ROOT / room).rglob("*.c"))]
    code = {path: path.read_text() for path in sources}
    verbs = set(re.findall(r'\.name = "([a-z -]+)",\n\s*\.operands', "".join(code.values())))
    found = {}
    for path, text in code.items():
        for literals in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
            joined = re.sub(r'"\s*"', "", literals)
            named = re.findall(r"\bslotmq ([a-z]+(?: [a-z-]+)?)((?: --[a-z-]+)*)", joined)
            for words, flags in named:
                verb = words if words in verbs else words.split()[0]
                if verb in verbs:
                    found[verb + (flags if verb == words else "")] = path.relative_to(ROOT)
            found.update({name: path.relative_to(ROOT) for name in re.findall(r"redis-cli --cluster \w+", joined)})
    return found


class Sandboxed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="slotmq-deployed-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.box = cls.folder / "sandbox"
        subprocess.run([SANDBOX, "up", cls.box], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", cls.box], check=True, capture_output=True, text=True).stdout
        cls.environment = {**os.environ, **dict(re.findall(r"^export (\w+)=(\S+)$", said, re.MULTILINE)),
                           "PATH": f"{SLOTMQ.parent}:{DEPLOY / 'prometheus'}:{os.environ['PATH']}"}
        cls.handled = cls.folder / "handled"
        cls.handled.write_text("")
        cls.program = cls.folder / "handle-order"
        cls.program.write_text(f"#!/bin/sh\ncat >>{cls.handled}\n")
        cls.program.chmod(0o755)
        cls.call("topic", "create", "orders")

    @classmethod
    def tearDownClass(cls):
        subprocess.run([SANDBOX, "down", cls.box], check=True, capture_output=True)
        cls.temporary.cleanup()

    @classmethod
    def call(cls, *words):
        done = subprocess.run(["slotmq", *words], env=cls.environment, check=False, text=True,
                              capture_output=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def run_shell(self, command, **environment):
        return subprocess.run(command, env={**self.environment, **environment}, check=False, text=True,
                              capture_output=True, timeout=TIMEOUT_S)

    def start(self, command, **environment):
        """A process with a group of its own, of which nothing is left after the test."""
        log = tempfile.TemporaryFile("w+", dir=self.folder)
        self.addCleanup(log.close)
        process = subprocess.Popen(command, env={**self.environment, **environment}, text=True, stdout=log,
                                   stderr=log, start_new_session=True)
        process.log = log
        self.addCleanup(process.wait)
        self.addCleanup(self.end_group, process.pid)
        return process

    @staticmethod
    def end_group(leader):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)

    @staticmethod
    def said(process):
        process.log.seek(0)
        return process.log.read()

    def stop(self, process):
        """SIGTERM is a clean end."""
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(TIMEOUT_S), 0, self.said(process))

    def handle(self, text, process):
        self.call("send", "orders", text)
        wait_until(lambda: text in self.handled.read_text() or process.poll() is not None, TIMEOUT_S,
                   f"it handles {text}")
        self.assertIsNone(process.poll(), self.said(process))


class Deployed(Sandboxed):
    def test_the_unit_consumes(self):
        given = {**variables(DEPLOY / "systemd/consume.env"), "PROGRAM": str(self.program)}
        unit = (DEPLOY / "systemd/slotmq-consume@.service").read_text()
        line = re.search(r"^ExecStart=/usr/bin/(.*)$", unit, re.MULTILINE)[1]
        line = re.sub(r"\$\{(\w+)\}", lambda match: given[match[1]], line)
        process = self.start(shlex.split(line.replace("%H", "host.example").replace("%i", "orders")))
        self.handle("for the unit", process)
        members = json.loads(self.call("fleet", "show", "--json"))["members"]
        self.assertEqual([member["name"] for member in members], ["host.example:orders"])
        self.stop(process)

    def test_what_a_restart_does_not_cure(self):
        """The codes of the unit are those with which the command ends then."""
        unit = (DEPLOY / "systemd/slotmq-consume@.service").read_text()
        codes = re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE)[1].split()
        known = re.findall(r"\bEXIT_(\w+) = (\d+)", (ROOT / "cli/exit.h").read_text())
        self.assertLessEqual(set(codes), {code for _, code in known})
        for words in (["consume"], ["consume", "orders", "--", "/no/such/program"]):
            self.assertIn(str(self.run_shell(["slotmq", *words]).returncode), codes, words)
        away = self.run_shell(["slotmq", "consume", "orders", "-r", "127.0.0.1:1"])
        self.assertNotIn(str(away.returncode), codes, away.stderr)

    def test_the_pod_consumes_and_its_probe_is_true(self):
        pod = container("consumer.yaml", 0)
        name = "orders-consumer-6d4cf56db6-x7k2p"
        probe = pod["readinessProbe"]["exec"]["command"]
        command = [word.replace("$(POD_NAME)", name).replace("/usr/local/bin/handle-order", str(self.program))
                   for word in pod["command"]]
        ready = lambda: self.run_shell(probe, POD_NAME=name).returncode == 0
        self.assertFalse(ready())
        process = self.start(command, POD_NAME=name)
        wait_until(lambda: ready() or process.poll() is not None, TIMEOUT_S, "the Pod is ready")
        self.handle("for the Pod", process)
        self.assertNotEqual(self.run_shell(probe, POD_NAME="another").returncode, 0)
        self.stop(process)
        self.assertFalse(ready(), "the Pod has ended, and is still a member")

    def test_the_metrics_are_those_that_are_asked_for(self):
        file = self.folder / "metrics" / "slotmq.prom"
        file.parent.mkdir()
        collect = container("metrics.yaml", 0)
        process = self.start([word.replace("/metrics/", f"{file.parent}/") for word in collect["command"]])
        wait_until(lambda: file.exists() or process.poll() is not None, TIMEOUT_S, "the file is there")
        probe = [word.replace("/metrics/", f"{file.parent}/") for word in collect["livenessProbe"]["exec"]["command"]]
        self.assertEqual(self.run_shell(probe).returncode, 0)
        self.stop(process)
        text = file.read_text()
        self.assertEqual([path.name for path in file.parent.iterdir()], ["slotmq.prom"])
        self.assertEqual(subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=False,
                                        capture_output=True).stderr, "")
        asked = {name for path in ("prometheus/slotmq.rules.yml", "grafana/slotmq.json", "kubernetes/scaledobject.yaml")
                 for name in re.findall(r"\b(?:slotmq_topic_\w+|slotmq_check_status)\b", (DEPLOY / path).read_text())}
        printed = dict(re.findall(r"^(slotmq_\w+)(\S*) \S+$", text, re.MULTILINE))
        self.assertEqual(asked - set(printed), set())
        labels = {re.sub(r',cause="\w+"', "", printed[name]) for name in asked}
        self.assertEqual(labels, {"", '{topic="orders"}'})
        self.assertIn("slotmq_check_status 0\n", text)
        os.utime(file, (0, 0))
        self.assertNotEqual(self.run_shell(probe).returncode, 0)

    def test_without_redis_only_the_verdict_is_written(self):
        file = self.folder / "away.prom"
        file.write_text("slotmq_topic_messages_due 7\n")
        done = self.run_shell(["slotmq-metrics", file], SLOTMQ_REDIS="127.0.0.1:1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("127.0.0.1:1: connection refused", done.stderr)
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(lines, ["slotmq_check_status 2"])
        done = self.run_shell(["slotmq-metrics", file], PATH=f"{DEPLOY / 'prometheus'}:/usr/bin:/bin")
        self.assertIn("slotmq_check_status 3\n", file.read_text())

    def test_the_commands_of_alerts_can_be_run(self):
        page = (ROOT / "docs/operations.md").read_text()
        section = " ".join(page[page.index("\n## When an alert fires"):].split())
        lines = sorted(set(re.findall(r"`(slotmq (?!check`)[^`]+)`", section)))
        self.assertGreater(len(lines), 10)
        for line in lines:
            words = shlex.split(line) + (["--count", "1"] if line.startswith("slotmq top ") else [])
            done = self.run_shell(words)
            self.assertIn(done.returncode, (0, 1), f"{line}: {done.stderr}")

    def test_redis_knows_the_settings(self):
        page = (ROOT / "docs/deployment.md").read_text()
        block = re.search(r"^```redis\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
        host, _, port = self.environment["SLOTMQ_REDIS"].split(",")[0].rpartition(":")
        redis = ["redis-cli", "-h", host, "-p", port, "config"]
        settings = [line.split(" ", 1) for line in block.splitlines() if not line.startswith("#")]
        for name, value in settings:
            before = self.run_shell([*redis, "get", name]).stdout.splitlines()
            self.assertEqual(len(before), 2, f"{name}: {before}")
            if name != "cluster-enabled": # which cannot be set while it runs
                self.assertEqual(self.run_shell([*redis, "set", name, value]).stdout.strip(), "OK", name)
                self.assertEqual(self.run_shell([*redis, "set", *before]).stdout.strip(), "OK", name)
            else:
                self.assertEqual(before[1], value)


class Advice(Sandboxed):
    def redis(self, *words):
        address = self.environment["SLOTMQ_REDIS"].split(",")[0]
        done = self.run_shell(["redis-cli", "-c", "-u", f"redis://{address}", *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_each_advice_can_be_followed(self):
        """Each command that a text advises, in the state in which it is advised."""
        address = self.environment["SLOTMQ_REDIS"].split(",")[0]
        for name in ("lost", "paused", "moved", "doomed"):
            self.call("topic", "create", name, "--slots", "2")
        self.call("send", "doomed", "a")
        self.call("pause", "paused")
        self.run_shell(["slotmq", "consume", "moved", "--exit-when-empty", "-z", ""])
        hangs = self.start(["slotmq", "consume", "lost", "-X", "name=hangs"])
        shown = lambda: self.run_shell(["slotmq", "fleet", "show", "--json"]).stdout
        wait_until(lambda: '"hangs"' in shown(), TIMEOUT_S, "the member has joined")
        rows = {  # advice: what it is for, the command, what it says
            "topic create": (None, ["topic", "create", "first"], "is ready"),
            "topic repair": (lambda: self.redis("DEL", "slot{orders_0}"), ["topic", "repair", "orders"], "is repaired"),
            "topic repair --all": (lambda: self.redis("DEL", "slotmq{topics}"), ["topic", "repair", "--all"], "orders"),
            "topic rebind": (None, ["topic", "rebind", "moved"], ""),
            "topic delete --force": (None, ["topic", "delete", "--force", "doomed", "--yes"], ""),
            "resume": (None, ["resume", "paused"], ""),
            "stat": (None, ["stat"], "orders"),
            "top": (None, ["top", "orders", "--count", "1"], "orders"),
            "peek": (None, ["peek", "orders", "--state", "resting"], ""),
            "dead list": (None, ["dead", "list", "orders"], ""),
            "send": (None, ["send", "orders", "to=ann", "--key", "ann"], "sent 1"),
            "consume": (None, ["consume", "orders", "--exit-when-empty", "--", self.program], ""),
            "check": (None, ["check", "lost"], "SLOTMQ"),
            "completion": (None, ["completion", "bash"], "complete"),
            "fleet show": (None, ["fleet", "show"], "hangs"),
            "fleet evict": (None, ["fleet", "evict", "hangs", "--yes"], ""),
            "fleet raise-fence": (None, ["fleet", "raise-fence", "--yes"], ""),
            "doctor": (None, ["doctor"], ""),
        }
        for name, (prepare, words, text) in rows.items():
            if prepare:
                prepare()
            done = self.run_shell(["slotmq", *words])
            self.assertIn(done.returncode, (0, 1), f"{name}: {done.stdout}{done.stderr}")
            self.assertIn(text, done.stdout + done.stderr, name)
        self.stop(hangs)
        self.redis("CLUSTER", "DELSLOTS", "5")
        fixes = {"redis-cli --cluster check": "Not all 16384 slots are covered", "redis-cli --cluster fix": ""}
        for name, text in fixes.items():
            done = subprocess.run([*name.split(), address], input="yes\n", text=True, capture_output=True,
                                  check=False, timeout=TIMEOUT_S)
            self.assertIn(text, done.stdout + done.stderr, name)
        self.assertIn("All 16384 slots covered", self.run_shell(["redis-cli", "--cluster", "check", address]).stdout)
        found = advised()
        self.assertGreater(len(found), 10)
        self.assertEqual({name: str(path) for name, path in found.items() if name not in {*rows, *fixes}}, {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
