#!/usr/bin/env python3
"""The files in deploy/: rules, dashboard, units and manifests are valid, and name only metrics, flags
and files that exist.

Each check returns findings.  There must be none for the files as they are, and some after each of
the mistakes in Mistakes."""
import configparser
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = "prometheus/slotmq.rules.yml"
RULES_TEST = "prometheus/slotmq.rules.test.yml"
DASHBOARD = "grafana/slotmq.json"
SCALED = "kubernetes/scaledobject.yaml"
SERVE = "kubernetes/serve.yaml"
MANIFESTS = ["kubernetes/consumer.yaml", SERVE, SCALED]
SCRAPE = "prometheus/prometheus.yml"
# What Prometheus adds to each sample.
ADDED = {"instance", "job", "pod", "environment", "fleet"}
# How long `slotmq consume` may need beyond --drain-timeout, to kill its programs.
BEYOND_DRAIN_S = 5


def run(*command, **options):
    """(exit status, output)"""
    done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    return done.returncode, done.stdout


def metrics():
    """{name: type} of what the library and slotmq serve print."""
    known = dict(re.findall(r"^\| `(slotmq_\w+)` \| (\w+) \|", (ROOT / "docs/METRICS.md").read_text(), re.MULTILINE))
    for name in [name for name, kind in known.items() if kind == "histogram"]:
        known.update({f"{name}_bucket": "counter", f"{name}_sum": "counter", f"{name}_count": "counter"})
    return known


def labels_of(name):
    if name == "slotmq_topic_dead_letters_total":
        return ADDED | {"topic", "cause"}
    if name.startswith("slotmq_topic_"):
        return ADDED | {"topic"}
    if name.endswith("_bucket"):
        return ADDED | {"le"}
    return ADDED


def expressions(folder):
    """[(where, expression)], with what Grafana puts in for its variables."""
    found = [(rule["alert"], rule["expr"]) for rule in alerts(folder)]
    dashboard = json.loads((folder / DASHBOARD).read_text())
    for panel in dashboard["panels"]:
        found += [(panel["title"], target["expr"]) for target in panel.get("targets", [])]
    for variable in dashboard["templating"]["list"]:
        found += [(variable["name"], name) for name in re.findall(r"label_values\((\w+)[,{]", str(variable["query"]))]
    return [(where, re.sub(r"\$(topic|fleet|environment)\b", ".*", text.replace("$__rate_interval", "5m")))
            for where, text in found]


def alerts(folder):
    return [rule for group in yaml.safe_load((folder / RULES).read_text())["groups"] for rule in group["rules"]]


def documents(folder, name):
    return list(yaml.safe_load_all((folder / name).read_text()))


def scaled(folder):
    return documents(folder, SCALED)[0]


def check_names(folder):
    """Metrics, labels, and functions of counters and gauges."""
    known = metrics()
    for where, text in expressions(folder):
        names = re.findall(r"\bslotmq_\w+", re.sub(r'"[^"]*"', '""', text))
        if not names:
            yield f"{where}: no metric in {text}"
        for name in names:
            if name not in known:
                yield f"{where}: there is no metric {name}"
        allowed = set().union(*map(labels_of, names))
        used = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", text)
        used += [word for list_ in re.findall(r"\b(?:by|on|without|ignoring) \(([^)]*)\)", text)
                 for word in re.findall(r"\w+", list_)]
        yield from (f"{where}: no label {label}" for label in set(used) - allowed)
        for function, name in re.findall(r"\b(rate|increase|delta|\w+_over_time)\((\w+)", text):
            if (known.get(name) == "counter") != (function in ("rate", "increase")):
                yield f"{where}: {function}() of {name}, a {known.get(name)}"


def check_syntax(folder):
    """promtool understands each expression."""
    rules = [{"record": "x", "expr": text, "labels": {"where": str(number)}}
             for number, (_, text) in enumerate(expressions(folder))]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}, file)
        file.flush()
        status, said = run("promtool", "check", "rules", file.name)
    if status != 0:
        yield said


def check_rules(folder):
    """They can be loaded, and fire in the tests with recorded series."""
    for verb, name in (("check", RULES), ("test", RULES_TEST)):
        status, said = run("promtool", verb, "rules", folder / name)
        if status != 0:
            yield said


def check_alerts(folder):
    """Each alert has a test in which it fires, and a section of docs/operations.md."""
    tests = yaml.safe_load((folder / RULES_TEST).read_text())["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
    headings = re.findall(r"^### (Slotmq\w+)$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)
    names = [rule["alert"] for rule in alerts(folder)]
    yield from (f"{name}: no test in which it fires" for name in set(names) - fired)
    yield from (f"{name}: docs/operations.md and the rules differ" for name in set(names) ^ set(headings))
    for rule in alerts(folder):
        if rule["annotations"]["runbook"] != f"docs/operations.md#{rule['alert'].lower()}":
            yield f"{rule['alert']}: its runbook is another section"
        if rule["labels"]["severity"] not in ("warning", "critical"):
            yield f"{rule['alert']}: severity {rule['labels']['severity']}"


def check_dashboard(folder):
    dashboard = json.loads((folder / DASHBOARD).read_text())
    panels = dashboard["panels"]
    numbers = [panel["id"] for panel in panels]
    if len(numbers) != len(set(numbers)):
        yield f"two panels have one id: {numbers}"
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if at["x"] + at["w"] > 24 or cells & taken:
            yield f"{panel['title']}: its place is taken or too wide"
        taken |= cells
        if panel["type"] != "row" and not panel.get("targets"):
            yield f"{panel['title']}: no expression"
        letters = [target["refId"] for target in panel.get("targets", [])]
        if len(letters) != len(set(letters)):
            yield f"{panel['title']}: two targets have one refId"
        known = {"${" + variable["name"] + "}" for variable in dashboard["templating"]["list"]}
        yield from (f"{panel['title']}: no data source {target['datasource']['uid']}"
                    for target in panel.get("targets", []) if target["datasource"]["uid"] not in known)


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(s|min|m)?", str(text)).groups()
    return int(number) * (60 if unit in ("m", "min") else 1)


def drain(command):
    return seconds(command[command.index("--drain-timeout") + 1])


def check_units(folder):
    """systemd loads them without a word, finds slotmq where a build or a package puts it, and does not try for ever
    what no restart cures: no such program, no such user.  The program is one of this machine."""
    with tempfile.TemporaryDirectory() as units:
        names = []
        for path in sorted((folder / "systemd").glob("slotmq-*.*")):
            text = path.read_text()
            prevented = re.search(r"^RestartPreventExitStatus=(.*)$", text, re.MULTILINE)
            if "\nExecStart=slotmq " not in text:
                yield f"{path.name}: slotmq is in /usr/local/bin or in /usr/bin"
            if not prevented or not {"203", "217"} <= set(prevented[1].split()):
                yield f"{path.name}: it is tried for ever"
            text = text.replace("=slotmq ", "=true ")
            names.append(pathlib.Path(units) / path.name)
            names[-1].write_text(text)
        status, said = run("systemd-analyze", "verify", "--man=no", *names)
    if status != 0 or said:
        yield f"systemd-analyze: {status} {said}"
    with tempfile.TemporaryDirectory() as root:
        made = pathlib.Path(root, "etc/passwd")
        made.parent.mkdir()
        status, said = run("systemd-sysusers", f"--root={root}", folder / "systemd/slotmq.sysusers")
        if status != 0 or not made.exists():
            yield f"systemd-sysusers: {status} {said}"
        users = re.findall(r"^([\w-]+):", made.read_text(), re.MULTILINE) if made.exists() else []
    served = re.search(r"^User=(.*)$", (folder / "systemd/slotmq-serve.service").read_text(), re.MULTILINE)[1]
    if served not in users:
        yield f"there is no user {served}"
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(folder / "systemd/slotmq-consume@.service")
    service = unit["Service"]
    if service["User"] not in users:
        yield f"there is no user {service['User']}"
    if seconds(service["TimeoutStopSec"]) < drain(service["ExecStart"].split()) + BEYOND_DRAIN_S:
        yield "TimeoutStopSec is too short"


def containers(folder):
    for name in MANIFESTS:
        for document in documents(folder, name):
            if document["kind"] == "Deployment":
                for container in document["spec"]["template"]["spec"]["containers"]:
                    yield document, container


def check_manifests(folder):
    """What one manifest names another one has; the times and numbers fit."""
    every = [document for name in MANIFESTS for document in documents(folder, name)]
    named = {(document["kind"], document["metadata"]["name"]) for document in every}
    for document, container in containers(folder):
        pod = document["spec"]["template"]
        where = f"{document['metadata']['name']}/{container['name']}"
        if document["spec"]["selector"]["matchLabels"] != pod["metadata"]["labels"]:
            yield f"{where}: the selector is not the label"
        listens = [word.rpartition(":")[2] for word in command_of(container, "--listen")]
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        if listens != [str(port) for port in ports.values()]:
            yield f"{where}: it listens on {listens}, and not on {ports}"
        for probe in ("readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            if asked["port"] not in ports or asked["path"] != {"r": "/readyz", "l": "/healthz"}[probe[0]]:
                yield f"{where}: {probe} asks for {asked}"
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        yield from (f"{where}: no volume {name}" for name in mounts - volumes)
        yield from (f"{where}: no {source}" for source in container.get("envFrom", [])
                    if ("ConfigMap", source["configMapRef"]["name"]) not in named)
        command = container.get("command", [])
        if "--drain-timeout" in command:
            if pod["spec"]["terminationGracePeriodSeconds"] < drain(command) + BEYOND_DRAIN_S:
                yield f"{where}: terminationGracePeriodSeconds is too short"
    yield from check_scaled(folder, named, every)


def command_of(container, flag):
    command = container.get("command", [])
    return [command[index + 1] for index, word in enumerate(command) if word == flag]


def check_scaled(folder, named, every):
    """KEDA asks a Service that is there, under one of its names, and for what serve answers."""
    spec = scaled(folder)["spec"]
    services = {document["metadata"]["name"]: document["spec"] for document in every if document["kind"] == "Service"}
    hosts = [host for _, container in containers(folder) for words in command_of(container, "--host")
             for host in words.split(",")]
    openapi = json.loads((ROOT / "serve/openapi.json").read_text())
    parameters = openapi["components"]["parameters"]
    known = [parameters[one["$ref"].rsplit("/", 1)[1]]["name"] for one in openapi["paths"]["/lag"]["get"]["parameters"]]
    for trigger in spec["triggers"]:
        asked = trigger["metadata"]
        host, port, path, name = re.fullmatch(r"http://([\w.-]+):(\d+)(/\w+)\?(\w+)=\w+", asked["url"]).groups()
        service = services.get(host.split(".")[0], {"ports": []})
        if host not in hosts or port not in [str(one["port"]) for one in service["ports"]]:
            yield f"KEDA: nothing answers at {host}:{port}"
        if path != "/lag" or name not in known:
            yield f"KEDA: nothing answers {asked['url']}"
        if asked["valueLocation"] not in openapi["components"]["schemas"]["Lag"]["required"]:
            yield f"KEDA: the answer has no {asked['valueLocation']}"
        if ("TriggerAuthentication", trigger["authenticationRef"]["name"]) not in named:
            yield "KEDA: no TriggerAuthentication"
    if ("Deployment", spec["scaleTargetRef"]["name"]) not in named:
        yield f"KEDA: no Deployment {spec['scaleTargetRef']['name']}"
    slots = int(re.search(r"^\| `slots` \| integer \| (\d+)", (ROOT / "docs/CONFIGURATION.md").read_text(),
                          re.MULTILINE)[1])
    if not 1 <= spec["minReplicaCount"] <= spec["maxReplicaCount"] <= slots // 4:
        yield "KEDA: more consumers than a quarter of the slots, or the numbers are mixed up"


def check_variables(folder):
    """Each variable SLOTMQ_... is in the manual."""
    manual = (ROOT / "docs/slotmq.1").read_text()
    files = [*folder.glob("systemd/*.env"), *(folder / name for name in MANIFESTS)]
    for path in files:
        for name in re.findall(r"\bSLOTMQ_\w+", path.read_text()):
            if not re.search(rf"\b{name}\b", manual):
                yield f"{path.name}: slotmq does not read {name}"


def check_container(folder):
    """The packages are those of debian/, and what is copied is in the tree."""
    text = (folder / "container/Containerfile").read_text()
    packages = set(re.findall(r"^Package: (\S+)$", (ROOT / "debian/control").read_text(), re.MULTILINE))
    for source in re.findall(r"\bbuild-package/\w+/(\S+?)_\*\.deb", text):
        if source not in packages:
            yield f"debian/control has no package {source}"
    if "build-package" not in text or 'ROOT / "build-package"' not in (ROOT / "packaging/package.py").read_text():
        yield "./dev package puts the packages elsewhere"
    for source in re.findall(r"\b(deploy/\S+)", text):
        if not (folder.parent / source).exists():
            yield f"there is no {source}"


def check_scrape(folder):
    """promtool takes it, it loads the rules, and each environment has both kinds of targets."""
    with tempfile.TemporaryDirectory() as copy:
        (pathlib.Path(copy) / "token").write_text("token\n")
        text = (folder / SCRAPE).read_text().replace("/etc/prometheus/slotmq-token", "token")
        (pathlib.Path(copy) / "prometheus.yml").write_text(text)
        shutil.copy(folder / RULES, copy)
        status, said = run("promtool", "check", "config", pathlib.Path(copy) / "prometheus.yml")
    if status != 0 or "1 rule files found" not in said:
        yield said
    for job in yaml.safe_load(text)["scrape_configs"]:
        labels = [set(targets["labels"]) for targets in job["static_configs"]]
        if {"environment", "fleet"} not in labels or len(labels) < 2 or any(one != labels[0] for one in labels):
            yield f"{job['job_name']}: {labels}"


CHECKS = [check_names, check_scrape, check_syntax, check_rules, check_alerts, check_dashboard, check_units, check_manifests,
          check_variables, check_container]


class Files(unittest.TestCase):
    def test_there_is_nothing_to_find(self):
        for check in CHECKS:
            with self.subTest(check=check.__name__):
                self.assertEqual(list(check(ROOT / "deploy")), [])

    def test_readme_names_each_file(self):
        text = (ROOT / "deploy/README.md").read_text()
        for path in (ROOT / "deploy").rglob("*"):
            if path.is_file() and path.name not in ("README.md", "slotmq.rules.test.yml"):
                self.assertIn(str(path.relative_to(ROOT / "deploy")), text)


class Mistakes(unittest.TestCase):
    """(check, file, what is right, the mistake)"""
    PLANTED = [
        (check_names, RULES, "slotmq_topic_slots_damaged)", "slotmq_topic_slots_broken)"),
        (check_names, RULES, "(instance, pod) (slotmq_topic_slots_silent)", "(instance, queue) (slotmq_topic_slots_silent)"),
        (check_names, RULES, "(increase(slotmq_slots_lost_total", "(delta(slotmq_slots_lost_total"),
        (check_names, DASHBOARD, "slotmq_sends_pending", "slotmq_sends_waiting"),
        (check_names, DASHBOARD, "label_values(slotmq_topic_unreadable", "label_values(slotmq_topic_readable"),
        (check_names, DASHBOARD, 'environment=~\\"$environment\\",fleet', 'stage=~\\"$environment\\",fleet'),
        (check_scrape, SCRAPE, "slotmq.rules.yml", "slotmq.rule.yml"),
        (check_scrape, SCRAPE, "labels: {environment: staging, fleet: main}", "labels: {fleet: staging}"),
        (check_manifests, SCALED, "/lag?topic=", "/lags?topic="),
        (check_manifests, SCALED, "slotmq-serve.default.svc:9095", "slotmq-serve.other.svc:9095"),
        (check_manifests, SCALED, "svc:9095", "svc:9096"),
        (check_manifests, SCALED, "valueLocation: value", "valueLocation: lags"),
        (check_manifests, SCALED, "authenticationRef: {name: slotmq-serve}", "authenticationRef: {name: serve}"),
        (check_manifests, SERVE, "- 0.0.0.0:9095", "- 0.0.0.0:9096"),
        (check_manifests, SERVE, "path: /readyz", "path: /ready"),
        (check_manifests, "kubernetes/consumer.yaml", "path: /healthz", "path: /readyz"),
        (check_syntax, DASHBOARD, "histogram_quantile(0.5, ", "histogram_quantile("),
        (check_rules, RULES, "> 300\n          unless", "> 100000\n          unless"),
        (check_rules, RULES, "unless max without (instance, pod) (slotmq_topic_slots_paused) > 0", ""),
        (check_rules, RULES, "unless max without (instance, pod) (slotmq_topic_slots_paused) > 0",
         "unless on (topic) slotmq_topic_slots_paused > 0"),
        (check_rules, RULES, "max without (instance, pod) (slotmq_serve_check_status) == 2",
         "max(slotmq_serve_check_status) == 2"),
        (check_rules, RULES, "for: 1h", "for: 1 hour"),
        (check_alerts, RULES_TEST, "alertname: SlotmqSendsFail\n", "alertname: SlotmqRedisUnreachable\n"),
        (check_alerts, RULES, "alert: SlotmqTopicPaused", "alert: SlotmqTopicStopped"),
        (check_alerts, RULES, "#slotmqconsumersdie", "#slotmqconsumersdied"),
        (check_dashboard, DASHBOARD, '"id": 3,', '"id": 2,'),
        (check_dashboard, DASHBOARD, '"x": 16', '"x": 17'),
        (check_dashboard, DASHBOARD, '"uid": "${datasource}"', '"uid": "${prometheus}"'),
        (check_units, "systemd/slotmq-consume@.service", "KillMode=mixed", "KillMod=mixed"),
        (check_units, "systemd/slotmq-consume@.service", "TimeoutStopSec=45s", "TimeoutStopSec=30s"),
        (check_units, "systemd/slotmq-consume@.service", "User=slotmq", "User=nobody"),
        (check_units, "systemd/slotmq-consume@.service", " 203 217", " 217"),
        (check_units, "systemd/slotmq-serve.service", "=slotmq serve", "=/bin/true serve"),
        (check_units, "systemd/slotmq-serve.service", "User=slotmq-serve", "User=serve"),
        (check_variables, "systemd/serve.env", "SLOTMQ_REDIS=", "SLOTMQ_SERVERS="),
        (check_units, "systemd/slotmq-serve.service", "Restart=always", "Restart=ever"),
        (check_units, "systemd/slotmq.sysusers", "u     slotmq", "user  slotmq"),
        (check_manifests, "kubernetes/consumer.yaml", "GracePeriodSeconds: 45", "GracePeriodSeconds: 30"),
        (check_manifests, "kubernetes/consumer.yaml", "labels: {app: orders-consumer}", "labels: {app: orders}"),
        (check_manifests, SERVE, "configMapRef: {name: slotmq}", "configMapRef: {name: servers}"),
        (check_manifests, SERVE, "- name: secrets\n          secret", "- name: files\n          secret"),
        (check_manifests, SCALED, "    name: orders-consumer\n  #", "    name: consumer\n  #"),
        (check_manifests, SCALED, "maxReplicaCount: 16", "maxReplicaCount: 32"),
        (check_variables, "systemd/consume.env", "SLOTMQ_ZOOKEEPER=", "SLOTMQ_ZK="),
        (check_variables, "kubernetes/consumer.yaml", "SLOTMQ_REDIS_PASSWORD_FILE", "SLOTMQ_REDIS_PASSWORDFILE"),
        (check_container, "container/Containerfile", "libslotmq0.3_", "libslotmq0.2_"),
    ]

    def test_each_is_found(self):
        for check, name, right, wrong in self.PLANTED:
            with self.subTest(file=name, mistake=wrong), tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / "deploy"
                shutil.copytree(ROOT / "deploy", copy)
                text = (copy / name).read_text()
                self.assertIn(right, text)
                (copy / name).write_text(text.replace(right, wrong))
                self.assertNotEqual(list(check(copy)), [])

    def test_each_check_has_one(self):
        self.assertEqual({check for check, *_ in self.PLANTED}, set(CHECKS))


if __name__ == "__main__":
    unittest.main()
