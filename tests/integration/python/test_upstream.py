#!/usr/bin/env python3
"""The tests that kombu and Celery have themselves, with slotmq on a cluster of three masters.

usage: test_upstream.py ROOT BUILD LIBRARY RUNTIME SANDBOX WHICH [RELEASE]

WHICH is "short", a few that must pass, or "long": all, first with kombu's transport and Celery's backend for Redis, on
one Redis.  What passes there must pass here, but for what upstream/different.txt lists.  The tests come with pip from
the source distributions, of the RELEASE "debian12" (what this system has) by default, or of "debian13" or "newest".
Where pip reaches no index of packages nothing is tested, and a line says so.  The logs of pytest are in meson-logs."""
import collections
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import venv

from installed import BUILD, LIBRARY, ROOT, SANITIZED, Installed

sys.path.insert(0, str(ROOT / "python/tests/celery"))
from one_server import free_port, one_server  # noqa: E402

SANDBOX, WHICH = str(pathlib.Path(sys.argv[5]).resolve()), sys.argv[6]
RELEASE = sys.argv[7] if len(sys.argv) > 7 else "debian12"
HERE = pathlib.Path(__file__).resolve().parent / "upstream"
LOGS = BUILD / "meson-logs"
PACKAGES = {"debian12": [],
            "debian13": ["celery==5.5.2", "kombu==5.5.3", "redis==6.1.0"],
            "newest": ["celery", "kombu", "redis"]}
TOOLS = ["pytest", "cffi", "cryptography", "pydantic", "python-dateutil", "setuptools", "wheel"]  # where the system's are not used
CANVAS, TASKS, INSPECT = (f"t/integration/test_{name}.py" for name in ("canvas", "tasks", "inspect"))
CHOSEN = {
    "short": {
        "kombu": ["test_kombu.py::test_BasicFunctionality", "test_kombu.py::test_BaseExchangeTypes"],
        "celery": [f"{CANVAS}::test_chain::{name}" for name in ("test_simple_chain", "test_chain_of_chords_with_two_tasks")]
        + [f"{CANVAS}::test_chord::{name}" for name in ("test_group_chain", "test_nested_group_chain", "test_chord_on_error")]
        + [f"{TASKS}::test_tasks::{name}" for name in ("test_basic_task", "test_eta", "test_fail", "test_revoked")]
        + [f"{INSPECT}::test_Inspect::{name}" for name in ("test_ping", "test_report", "test_active_queues")]},
    "long": {"kombu": ["test_kombu.py"], "celery": [CANVAS, TASKS, INSPECT]}}
# So many of them pass at least with one Redis, or in the short form with slotmq: no file was missed.
LEAST = {"short": {"kombu": 10, "celery": 12}, "long": {"kombu": 20, "celery": 130}}
LIMIT_S = 30  # for one test; most take less than 1 s
END_S = 30  # for the end of the worker
NO_TESTS = 5  # pytest's exit status
END = "the end of the worker"


def pip(*arguments):
    """What needs an index of packages; without one this program ends."""
    run = subprocess.run([PROGRAMS / "python", "-m", "pip", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    if "No matching distribution found" in run.stdout:
        print(f"SKIPPED: pip {arguments[0]}: {' '.join(run.stdout.split())}")
        sys.exit(0)
    if run.returncode != 0:
        sys.exit(run.stdout)


def version(package):
    return subprocess.run(
        [PROGRAMS / "python", "-c", f"from importlib.metadata import version; print(version({package!r}))"],
        check=True, capture_output=True, text=True).stdout.strip()


def fetch():
    """Make the environment, and the folders of the tests `t` of kombu and Celery, with nothing else of them."""
    venv.create(PROGRAMS.parent, with_pip=True, system_site_packages=not PACKAGES[RELEASE])
    if PACKAGES[RELEASE]:
        pip("install", "--quiet", *TOOLS, *PACKAGES[RELEASE])
    for package in ("kombu", "celery"):
        pip("download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(FOLDER),
            f"{package}=={version(package)}")
        [archive] = FOLDER.glob(f"{package}-*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(FOLDER, [one for one in tar.getmembers() if one.name.split("/")[1:2] == ["t"]])
        archive.with_name(archive.name[:-len(".tar.gz")]).rename(FOLDER / package)
    shutil.copy(HERE / "test_kombu.py", FOLDER / "kombu")
    print(*(f"{package} {version(package)}" for package in ("celery", "kombu", "redis")), flush=True)


def different(package):
    """The tests of different.txt, for this release: a set of those that never pass here, and of those that may fail."""
    found = {"never": set(), "sometimes": set()}
    for line in (HERE / "different.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            when, releases, of, test = line.split()
            if RELEASE in releases.split(",") and of == package:
                found[when].add(test)
    return found["never"], found["sometimes"]


def clear(ports):
    for port in ports:
        subprocess.run(["redis-cli", "-p", port, "flushall"], check=True, capture_output=True)


class Run:
    """The tests of one package with one broker.  `outcomes`: of each test "passed", "failed", "skipped" or "hung";
    `why` says more of those that did not pass.  A test that is expected to fail, and does, is "skipped"."""

    def __init__(self, package, side, arguments, environment, chosen=()):
        self.outcomes, self.why = {}, {}
        self._name, self._folder, self._arguments = f"upstream-{package}-{side}", FOLDER / package, arguments
        self._log = LOGS / f"{self._name}.log"
        self._log.write_text("")
        self._chosen, self._begun = FOLDER / f"{self._name}.chosen", FOLDER / f"{self._name}.begun"
        self._chosen.write_text("".join(f"{test}\n" for test in chosen))
        self._environment = {
            **os.environ, **SANITIZED, **environment, "PYTHONDONTWRITEBYTECODE": "1", "SLOTMQ_TEST_OF": package,
            "SLOTMQ_TEST_CHOSEN": str(self._chosen), "SLOTMQ_TEST_BEGUN": str(self._begun)}

    def run_all(self, ports):
        """A test that fails or hangs may leave tasks behind: those after it begin anew, on empty servers."""
        begin, before = time.monotonic(), -1
        while len(self.outcomes) > before:
            before = len(self.outcomes)
            clear(ports)
            if self._run() in (0, NO_TESTS):
                break
        count = collections.Counter(self.outcomes.values())
        print(f"{self._name}: {dict(count)}, {time.monotonic() - begin:.0f} s", flush=True)
        for test, why in self.why.items():
            errors = re.findall(r"^E +(.*)", why, re.MULTILINE) or why.splitlines()[-1:]
            print(f"  {self.outcomes[test]}: {test}: {''.join(errors[:1])[:200]}", flush=True)

    def _run(self):
        """pytest's exit status: 0 when all tests that were left have passed."""
        self._begun.write_text("".join(f"{test}\n" for test in self.outcomes))
        reader, writer = os.pipe()
        with open(self._log, "ab") as log, open(reader, "rb", buffering=0) as lines:
            process = subprocess.Popen(
                [PROGRAMS / "python", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "stand_in",
                 "-o", "python_classes=test_*", "-o", f"faulthandler_timeout={LIMIT_S - 5}", "--tb=short", *self._arguments],
                cwd=self._folder, stdout=log, stderr=log, pass_fds=[writer], start_new_session=True,
                env={**self._environment, "SLOTMQ_TEST_OUTCOMES": str(writer)})
            os.close(writer)
            try:
                self._follow(process, lines)
                return process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._note("hung", END, f"no end after {END_S} s")
                return None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _follow(self, process, lines):
        """Note what the plugin tells, until pytest ends, or a test has not ended in time."""
        said, running, ended = b"", None, os.pidfd_open(process.pid)
        try:
            while True:
                ready = select.select([lines, ended], [], [], LIMIT_S)[0]
                if not ready and running:
                    self._note("hung", running, f"no end after {LIMIT_S} s")
                    process.kill()
                got = lines.read(65536) if lines in ready else b""
                if not got:
                    return
                *whole, said = (said + got).split(b"\n")
                for line in whole:
                    kind, test, *why = json.loads(line)
                    running = test if kind == "begun" else None
                    if not running:
                        self._note(kind, test, *why)
        finally:
            os.close(ended)

    def _note(self, outcome, test, why):
        self.outcomes[test] = outcome
        if outcome != "passed":
            self.why[test] = why


class Upstream(Installed):
    @contextlib.contextmanager
    def cluster(self):
        """Three masters; "host:port,host:port,host:port"."""
        box = FOLDER / "sandbox"
        subprocess.run([SANDBOX, "up", box], check=True, capture_output=True)
        try:
            said = subprocess.run([SANDBOX, "env", box], check=True, capture_output=True, text=True).stdout
            yield re.search(r"^export SLOTMQ_REDIS=(\S+)$", said, re.MULTILINE)[1]
        finally:
            subprocess.run([SANDBOX, "down", box], check=True, capture_output=True)

    def run_upstream(self, package, side, servers, broker, backend, chosen=()):
        """With these two schemes of URLs, on these servers."""
        plugins = {"kombu": ["slotmq.celery"], "celery": ["slotmq.celery", "celery.contrib.pytest"]}[package]
        run = Run(package, side, [*(f"-p{plugin}" for plugin in plugins), *CHOSEN[WHICH][package]],
                  {"PYTHONPATH": f"{self.site}:{HERE}:{FOLDER / package}", "TEST_REDIS": f"slotmq://{servers}",
                   "TEST_BROKER": f"{broker}://{servers}", "TEST_BACKEND": f"{backend}://{servers}"}, chosen)
        run.run_all(re.findall(r":(\d+)", servers))
        return run

    def with_one_redis(self, package):
        """Those that pass with stock Redis."""
        with one_server(f"port {(port := free_port())}"):
            run = self.run_upstream(package, "redis", f"127.0.0.1:{port}", "redis", "redis")
        return [test for test, outcome in run.outcomes.items() if outcome == "passed"]

    def check(self, package):
        expected = self.with_one_redis(package) if WHICH == "long" else []
        with self.cluster() as servers:
            run = self.run_upstream(package, "slotmq", servers, "slotmq", "slotmq-results", expected)
        passed = {test for test, outcome in run.outcomes.items() if outcome == "passed"}
        self.assertGreaterEqual(len(expected or passed), LEAST[WHICH][package])
        never, sometimes = different(package)
        self.assertEqual({*expected, *run.outcomes} - passed - sometimes, never & {*expected}, run.why)

    def test_what_passes_with_redis_passes_with_slotmq(self):
        self.install(PKG_CONFIG_PATH=str(LIBRARY / "meson-uninstalled"))
        for package in CHOSEN[WHICH]:
            with self.subTest(package):
                self.check(package)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="slotmq-upstream-") as made:
        FOLDER = pathlib.Path(made)
        PROGRAMS = FOLDER / "venv/bin"
        fetch()
        unittest.main(argv=sys.argv[:1])
