"""A plugin of pytest for the tests of kombu and Celery themselves.

It writes a line of JSON to the descriptor SLOTMQ_TEST_OUTCOMES when a test begins, and one when it has ended.  It runs
the tests that the file SLOTMQ_TEST_CHOSEN names, or all if that is empty, but none that SLOTMQ_TEST_BEGUN names.

Celery's tests know one Redis on the usual port: of TEST_REDIS they get a client instead, of one server or of a cluster.
"""
import contextlib
import functools
import json
import os
import pathlib
import sys
import types

import pytest
import redis

from slotmq.celery.link import open_redis
from slotmq.celery.settings import servers_of

_strict = redis.StrictRedis
_said = {}


def _client(*args, **kwargs):
    """Celery's own backend gives a pool of connections; the tests give no more than a host and a port."""
    if "connection_pool" in kwargs:
        return _strict(*args, **kwargs)
    return open_redis(servers_of(os.environ["TEST_REDIS"])[0], {}, socket_timeout=None)


redis.StrictRedis = _client
sys.modules["pytest_subtests"] = types.ModuleType("pytest_subtests")  # one fixture of it is needed, and is below


def _tell(*words):
    os.write(int(os.environ["SLOTMQ_TEST_OUTCOMES"]), f"{json.dumps(words)}\n".encode())


class _Url(str):
    """Most tests of Celery run only where the URL of the results begins with "redis"."""

    def startswith(self, prefix, *place):
        return prefix == "redis" or isinstance(prefix, tuple) and "redis" in prefix or super().startswith(prefix, *place)


def _names(variable):
    return set(pathlib.Path(os.environ[variable]).read_text(encoding="utf-8").splitlines())


def pytest_collection_modifyitems(items):
    begun = _names("SLOTMQ_TEST_BEGUN")
    chosen = _names("SLOTMQ_TEST_CHOSEN") or {item.nodeid for item in items}
    items[:] = [item for item in items if item.nodeid in chosen - begun]


def pytest_runtest_logstart(nodeid):
    _said.clear()
    _tell("begun", nodeid)


def pytest_runtest_logreport(report):
    _said[report.outcome] = str(report.longrepr)
    if report.when == "teardown":
        outcome = next(one for one in ("failed", "skipped", "passed") if one in _said)
        _tell(outcome, report.nodeid, _said[outcome] if outcome != "passed" else "")


@pytest.fixture
def subtests():
    """As of pytest-subtests; the first part that fails ends the test."""
    class Parts:
        @staticmethod
        def test(*_, **__):
            return contextlib.nullcontext()
    return Parts


@pytest.fixture(scope="session", autouse=True)
def prepared(request):
    """What Celery's tests need before the worker begins."""
    if os.environ["SLOTMQ_TEST_OF"] != "celery":
        return
    from celery.contrib.testing import worker
    from t.integration import conftest
    from t.integration.tasks import ClassBasedAutoRetryTask
    conftest.TEST_BACKEND = _Url(conftest.TEST_BACKEND)
    # Its threads get 10 s for their end by themselves, which is short beside other work; test_upstream.py gives all 30.
    worker.start_worker = functools.partial(worker.start_worker, shutdown_timeout=25)
    # The worker of Celery 5.2 forks before it binds this task to its application, and its processes cannot begin.
    ClassBasedAutoRetryTask.bind(request.getfixturevalue("celery_session_app"))
