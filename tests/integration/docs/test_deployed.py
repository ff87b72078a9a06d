#!/usr/bin/env python3
"""The command lines in deploy/ do on real servers what they are for: the unit and the Pod consume and
stop, the probes tell the truth, and slotmq serve says what rules, dashboard and KEDA ask for, of two
environments, to a real Prometheus.  The settings in docs/deployment.md are settings of Redis.  And each command that a text of slotmq advises
can be followed.

usage: test_deployed.py ROOT SANDBOX SLOTMQ"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

ROOT, SANDBOX, SLOTMQ = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
DEPLOY = ROOT / "deploy"
TIMEOUT_S = 120
TOKEN = "token-of-a-test-of-deploy"

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
    sources = [path for room in ("cli", "serve", "libsrc", "coord") for path in sorted((ROOT / room).rglob("*.c"))]
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
        subprocess.run([SANDBOX, "up", cls.box, "--zookeeper"], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", cls.box], check=True, capture_output=True, text=True).stdout
        cls.environment = {**os.environ, **dict(re.findall(r"^export (\w+)=(\S+)$", said, re.MULTILINE)),
                           "PATH": f"{SLOTMQ.parent}:{os.environ['PATH']}"}
        cls.token = cls.folder / "serve-token"
        cls.token.write_text(TOKEN + "\n")
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

    def here(self, word):
        """What a file for operators names, as it is in this test."""
        secrets = re.sub(r"/(etc|run/secrets)/slotmq/serve-token", str(self.token), word)
        return re.sub(r"^0[.]0[.]0[.]0:\d+$", "127.0.0.1:0", secrets.replace("/usr/local/bin/handle-order", str(self.program)))

    def listening(self, process):
        """The address of its port."""
        found = lambda: re.search(r"listening on (http://\S+)", self.said(process))
        wait_until(lambda: found() or process.poll() is not None, TIMEOUT_S, "it listens")
        self.assertIsNone(process.poll(), self.said(process))
        return found()[1]

    @staticmethod
    def ask(address, token=None, **headers):
        """(status, text); (0, "") while nothing answers."""
        given = {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            with urllib.request.urlopen(urllib.request.Request(address, headers=given), timeout=TIMEOUT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

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
        line = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1]
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
        known = re.findall(r"\bEXIT_(\w+) = (\d+)", (ROOT / "cli/text/exit.h").read_text())
        of_systemd = {"203", "217"}  # there is no such program, no such user
        self.assertLessEqual(set(codes), {code for _, code in known} | of_systemd)
        for words in (["consume"], ["consume", "orders", "--", "/no/such/program"]):
            self.assertIn(str(self.run_shell(["slotmq", *words]).returncode), codes, words)
        away = self.run_shell(["slotmq", "consume", "orders", "-r", "127.0.0.1:1"])
        self.assertNotIn(str(away.returncode), codes, away.stderr)

    def test_the_pod_consumes_and_its_probes_are_true(self):
        pod = container("consumer.yaml", 0)
        command = [self.here(word).replace("$(POD_NAME)", "orders-consumer-x7k2p") for word in pod["command"]]
        process = self.start(command, POD_NAME="orders-consumer-x7k2p")
        address = self.listening(process)
        for probe in ("readinessProbe", "livenessProbe"):
            path = pod[probe]["httpGet"]["path"]
            wait_until(lambda: self.ask(address + path)[0] == 200, TIMEOUT_S, f"{path} says ok")
        self.handle("for the Pod", process)
        wait_until(lambda: "\nslotmq_messages_done_total 1\n" in self.ask(address + "/metrics", TOKEN)[1], TIMEOUT_S,
                   "the metrics of the process have it")
        self.stop(process)

    def test_the_pod_serves_and_its_probes_are_true(self):
        pod = container("serve.yaml", 0)
        process = self.start([self.here(word) for word in pod["command"]])
        address = self.listening(process)
        for probe in ("readinessProbe", "livenessProbe"):
            path = pod[probe]["httpGet"]["path"]
            wait_until(lambda: self.ask(address + path)[0] == 200, TIMEOUT_S, f"{path} says ok")
        scaler = list(yaml.safe_load_all((DEPLOY / "kubernetes/scaledobject.yaml").read_text()))[0]
        asked = scaler["spec"]["triggers"][0]["metadata"]
        host, query = re.fullmatch(r"http://([^/]+)(/.*)", asked["url"]).groups()
        status, text = self.ask(address + query, TOKEN, Host=host)
        self.assertEqual(status, 200, text)
        self.assertEqual(json.loads(text)[asked["valueLocation"]], 0)
        self.assertEqual(self.ask(address + query, TOKEN + "x", Host=host)[0], 401)
        self.assertEqual(self.ask(address + query, TOKEN, Host="another.svc:9095")[0], 403)
        self.stop(process)

    def test_without_redis_the_probe_and_the_verdict_say_so(self):
        process = self.start(["slotmq", "serve", "--listen", "127.0.0.1:0"], SLOTMQ_REDIS="127.0.0.1:1")
        address = self.listening(process)
        wait_until(lambda: "slotmq_serve_check_status 2\n" in self.ask(address + "/metrics")[1], TIMEOUT_S, "a verdict")
        self.assertEqual(self.ask(address + "/readyz")[0], 503)
        self.assertEqual(self.ask(address + "/healthz")[0], 200)
        self.assertNotIn("\nslotmq_topic_", self.ask(address + "/metrics")[1])
        self.stop(process)

    def test_the_commands_of_alerts_can_be_run(self):
        page = (ROOT / "docs/operations.md").read_text()
        section = " ".join(page[page.index("\n## When an alert fires"):].split())
        lines = sorted(set(re.findall(r"`(slotmq (?!(?:check|serve)`)[^`]+)`", section)))
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


class Monitored(Sandboxed):
    """Two environments, of which each has a slotmq serve as the unit starts it, and one Prometheus.  In
    production messages are due and nobody consumes; in staging the same topic is paused."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.staging = cls.folder / "staging"
        subprocess.run([SANDBOX, "up", cls.staging, "--masters", "1"], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", cls.staging], check=True, capture_output=True, text=True).stdout
        cls.redis = {"production": cls.environment["SLOTMQ_REDIS"],
                     "staging": re.search(r"^export SLOTMQ_REDIS=(\S+)$", said, re.MULTILINE)[1]}
        cls.call("send", "orders", "due")
        for words in (["topic", "create", "orders"], ["send", "orders", "due"], ["pause", "orders"]):
            cls.call(*words, "-r", cls.redis["staging"], "-z", "")

    @classmethod
    def tearDownClass(cls):
        subprocess.run([SANDBOX, "down", cls.staging], check=True, capture_output=True)
        super().tearDownClass()

    def serve(self, environment):
        """The address of one, once it has a verdict and the topics."""
        unit = (DEPLOY / "systemd/slotmq-serve.service").read_text()
        given = {**variables(DEPLOY / "systemd/serve.env"), "LISTEN": "127.0.0.1:0"}
        line = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1]
        line = re.sub(r"\$\{(\w+)\}", lambda match: given[match[1]], line)
        own = {"SLOTMQ_REDIS": self.redis[environment], **({"SLOTMQ_ZOOKEEPER": ""} if environment == "staging" else {})}
        process = self.start([self.here(word) for word in shlex.split(line)], **own)
        address = self.listening(process)
        said = lambda: self.ask(address + "/metrics", TOKEN)[1]
        wait_until(lambda: "slotmq_serve_check_status" in said() and '{topic="orders"}' in said(), TIMEOUT_S, "all is read")
        self.assertEqual(self.ask(address + "/metrics", Host=given["HOST"])[0], 200)
        return address

    def asked_for(self):
        """{name: expression} of the dashboard, for one environment."""
        dashboard = json.loads((DEPLOY / "grafana/slotmq.json").read_text())
        return {f"{panel['title']} {target['refId']}": target["expr"].replace("$__rate_interval", "5m")
                .replace("$environment", "production").replace("$fleet", ".*").replace("$topic", ".*")
                for panel in dashboard["panels"] for target in panel.get("targets", [])}

    def test_the_rules_hold_for_what_two_environments_say(self):
        """promtool, with the text of each as series that stay as they are."""
        names = {name for path in ("prometheus/slotmq.rules.yml", "grafana/slotmq.json")
                 for name in re.findall(r"\bslotmq_(?:topic|serve)_\w+", (DEPLOY / path).read_text())}
        series = []
        for environment in self.redis:
            text = self.ask(self.serve(environment) + "/metrics", TOKEN)[1]
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=False, capture_output=True)
            self.assertEqual(done.stderr, "")
            samples = re.findall(r"^(slotmq_\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE)
            self.assertEqual(names - {name for name, _, _ in samples} - {"slotmq_topic_oldest_due_age_seconds"}, set())
            for name, labels, value in samples:
                inside = ",".join(filter(None, [labels, f'environment="{environment}",fleet="main",instance="a"']))
                series.append({"series": f"{name}{{{inside}}}", "values": f"{value}x90"})
        labels = lambda environment: {"severity": "warning", "topic": "orders", "environment": environment, "fleet": "main"}
        told = lambda name, environment, summary: {
            "alertname": name, "eval_time": "80m",
            "exp_alerts": [{"exp_labels": labels(environment), "exp_annotations": {
                "summary": summary, "runbook": f"docs/operations.md#{name.lower()}"}}]}
        test = {"rule_files": [str(DEPLOY / "prometheus/slotmq.rules.yml")], "evaluation_interval": "1m", "tests": [{
            "interval": "1m", "input_series": series, "alert_rule_test": [
                told("SlotmqTopicPaused", "staging", "The topic orders has been paused for an hour."),
                told("SlotmqTopicUnowned", "production", "Messages of orders are due, and nobody consumes 64 of its slots."),
                *({"alertname": name, "eval_time": "80m", "exp_alerts": []}
                  for name in ("SlotmqMetricsMissing", "SlotmqTopicUnreadable", "SlotmqSlotsSilent", "SlotmqTopicDamaged"))]}]}
        file = self.folder / "running.test.yml"
        file.write_text(yaml.safe_dump(test))
        done = self.run_shell(["promtool", "test", "rules", str(file)])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_scrapes_two_environments(self):
        folder = self.folder / "prometheus"
        folder.mkdir()
        config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
        config["scrape_configs"] = [job for job in config["scrape_configs"] if job["job_name"] == "slotmq-serve"]
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(DEPLOY / "prometheus" / name) for name in config["rule_files"]]
        job = config["scrape_configs"][0]
        job["authorization"]["credentials_file"] = str(self.token)
        for targets in job["static_configs"]:
            targets["targets"] = [self.serve(targets["labels"]["environment"]).removeprefix("http://")]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "http://127.0.0.1:{}".format(free.getsockname()[1])
        self.start(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                    f"--web.listen-address={address.removeprefix('http://')}"])

        def query(path, **words):
            status, text = self.ask(f"{address}/api/v1/{path}?{urllib.parse.urlencode(words)}")
            return json.loads(text)["data"] if status == 200 else None
        paused = lambda: {one["metric"]["environment"]: one["value"][1]
                          for one in (query("query", query="slotmq_topic_slots_paused") or {"result": []})["result"]}
        wait_until(lambda: paused() == {"production": "0", "staging": "64"}, TIMEOUT_S, "both are scraped")
        self.assertEqual({target["health"] for target in query("targets")["activeTargets"]}, {"up"})
        states = lambda: {rule["name"]: rule["health"] for group in query("rules")["groups"] for rule in group["rules"]}
        wait_until(lambda: "unknown" not in states().values(), TIMEOUT_S, "each rule was judged")
        self.assertEqual(set(states().values()), {"ok"})
        for name, expression in self.asked_for().items():
            found = query("query", query=expression)
            self.assertIsNotNone(found, f"{name}: {expression}")
            self.assertLessEqual({one["metric"].get("environment") for one in found["result"]}, {"production", None}, name)
        known = query("label/environment/values")
        self.assertEqual(known, ["production", "staging"])


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
        self.call("topic", "create", "whole", "--format", "5")
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
            "schedule put": (None, ["schedule", "put", "orders", "--file", "/dev/null"], ""),
            "topic upgrade": (None, ["topic", "upgrade", "whole", "--back"], "has format 4 now"),
            "topic rebind": (None, ["topic", "rebind", "moved"], ""),
            "topic delete --force": (None, ["topic", "delete", "--force", "doomed", "--yes"], ""),
            "resume": (None, ["resume", "paused"], ""),
            "stat": (None, ["stat"], "orders"),
            "top": (None, ["top", "orders", "--count", "1"], "orders"),
            "work": (None, ["work", "orders"], ""),
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
