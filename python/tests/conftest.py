"""Every test has a client and a topic of its own on one server."""
import itertools
import os
import re

import pytest
import slotmq

pytest_plugins = ["slotmq.testing"]
numbers = itertools.count(1)


def refused_fork():
    raise RuntimeError("with AddressSanitizer a child of fork() may wait for ever: such a test belongs into tests/celery")


if "asan" in os.environ.get("LD_PRELOAD", ""):
    os.fork = refused_fork


@pytest.fixture
def client(slotmq_server):
    with slotmq.Client(slotmq_server.address, name="tested") as opened:
        yield opened


@pytest.fixture
def topic(client, request):
    """A shared topic of one slot, in which a retry comes at once."""
    name = re.sub(r"[^A-Za-z0-9_]+", ".", request.node.name)
    yield client.create(f"{name[:100]}.{next(numbers)}", shared=True, slots=1, backoff="none")


@pytest.fixture
def producer(client):
    with client.producer() as made:
        yield made
