"""Celery on a cluster of three masters.  Each test has a prefix of its own there.

The cluster is that of SLOTMQ_TEST_CLUSTER, "host:port,host:port"; tests/integration/python/test_celery.py starts it.
Without it there are no tests here."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import uuid

import pytest
from one_server import free_port, one_server

FOLDER = pathlib.Path(__file__).parent
READY_S = 60
CLUSTER = os.environ.get("SLOTMQ_TEST_CLUSTER")
ZOOKEEPER = os.environ.get("SLOTMQ_TEST_ZOOKEEPER")  # for long tests
SANDBOX = os.environ.get("SLOTMQ_TEST_SANDBOX")
collect_ignore_glob = [] if CLUSTER else ["*"]


def pytest_configure(config):
    config.addinivalue_line("markers", "long: a test that only the nightly run has")


class Worker:
    """A real worker, in a process group of its own."""

    words, ready = ("worker", "--without-mingle"), " ready."

    def __init__(self, url, options, settings, arguments):
        environment = {**os.environ, "SHOP_BROKER": url, "SHOP_OPTIONS": json.dumps(options),
                       "SHOP_SETTINGS": json.dumps(settings), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "shop", *self.words, "-l", "info", *arguments], cwd=FOLDER, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.said = []
        self._ready = threading.Event()
        self._read_one = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(READY_S) or self.process.poll() is not None:
            raise AssertionError("".join(self.said))

    def _read(self):
        for line in self.process.stdout:
            with self._read_one:
                self.said.append(line)
                self._read_one.notify_all()
            if self.ready in line:
                self._ready.set()
        self._ready.set()

    def wait_said(self, text):
        """Wait for such a line."""
        with self._read_one:
            assert self._read_one.wait_for(lambda: any(text in line for line in self.said), READY_S), "".join(self.said)

    def kill(self):
        """The whole group at once, as when a machine fails."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._read_rest()

    def _read_rest(self):
        """Also a child that outlives its worker keeps the pipe open."""
        self._reader.join(READY_S)
        assert not self._reader.is_alive(), "".join(["a process of the worker did not end\n", *self.said])

    def end(self):
        """A warm shutdown."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(READY_S)
        finally:
            if self.process.poll() is None:
                self.kill()
        self._read_rest()
        return "".join(self.said)


class Beat(Worker):
    """As Worker."""

    words, ready = ("beat", "-S", "slotmq.celery:Scheduler"), "beat: Starting"


def broker_url(servers=CLUSTER):
    return f"slotmq://{servers}/{uuid.uuid4().hex[:8]}"


class Shop:
    """An application in this process, and workers."""

    def __init__(self, url, options, settings):
        import shop
        self.url, self.options, self.settings = url, options, settings
        self.prefix = url.rpartition("/")[2] + "."
        self.app = shop.make(url, options, **settings)
        self.redis = shop.open_notes(url, settings)
        self.tasks = {name[len("shop."):]: task for name, task in self.app.tasks.items() if name.startswith("shop.")}
        self.workers = []
        self.may_fail = False  # a worker loses its connection

    def begin_beat(self):
        self.workers.append(Beat(self.url, self.options, self.settings, ()))
        return self.workers[-1]

    def __getattr__(self, name):
        return self.__dict__["tasks"][name]

    def begin(self, *arguments, **settings):
        worker = Worker(self.url, self.options, {**self.settings, **settings},
                        ("-n", f"w{len(self.workers)}@%h", *(arguments or ("-c", "2"))))
        self.workers.append(worker)
        return worker

    @property
    def session(self):
        with self.app.connection_for_read() as connection:
            return connection.default_channel.session

    def topic(self, queue="celery"):
        return self.session.client.topic(self.prefix + queue)

    def key(self, name):
        """Where tasks note something."""
        return f"note.{self.prefix}{name}"

    def lines(self, name):
        return [line.decode() for line in self.redis.lrange(self.key(name), 0, -1)]

    def wait_begun(self, name, count=1):
        """Wait until so many tasks said so."""
        return [self.redis.blpop(self.key(f"began.{name}"), 30)[1] for _ in range(count)]

    def let_end(self, name, count=1):
        self.redis.rpush(self.key(f"end.{name}"), *range(count))

    def close(self):
        said = [worker.end() for worker in self.workers]
        self.app.close()
        self.redis.close()
        for text in said:
            assert self.may_fail or "slotmq/celery/" not in text, text  # no traceback of ours


@pytest.fixture(scope="session", autouse=True)
def sessions():
    yield
    from slotmq.celery import close_sessions
    close_sessions()


class OwnCluster:
    """Servers that a test may end."""

    def __init__(self, folder):
        self._folder = folder
        subprocess.run([SANDBOX, "up", folder], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", folder], check=True, capture_output=True, text=True).stdout
        self.address = re.search(r"^export SLOTMQ_REDIS=(\S+)$", said, re.MULTILINE)[1]

    def end(self):
        subprocess.run([SANDBOX, "down", self._folder], check=True, capture_output=True)


@pytest.fixture
def own_cluster(tmp_path):
    opened = OwnCluster(tmp_path / "sandbox")
    yield opened
    opened.end()


@pytest.fixture
def alone():
    """The port of one Redis without cluster mode."""
    from slotmq.celery import close_sessions
    port = free_port()
    with one_server(f"port {port}"):
        yield port
        close_sessions()


@pytest.fixture
def open_shop():
    """Make applications, whose workers end with the test."""
    made = []

    def make(options=None, url=None, **settings):
        url = url or broker_url()
        os.environ["SHOP_BROKER"] = url
        made.append(Shop(url, options or {}, settings))
        return made[-1]
    sys.path.insert(0, str(FOLDER))
    os.environ.setdefault("SHOP_OPTIONS", "{}")
    os.environ.setdefault("SHOP_SETTINGS", "{}")
    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def running():
    """An application with a worker of two processes, for all tests of a file."""
    url = broker_url()
    sys.path.insert(0, str(FOLDER))
    os.environ.update(SHOP_BROKER=url, SHOP_OPTIONS="{}", SHOP_SETTINGS="{}")
    shop = Shop(url, {"slots": 4}, {})
    shop.begin()
    yield shop
    shop.close()
