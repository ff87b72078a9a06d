"""The programs of examples/python, each in a process of its own."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest
import slotmq

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


@pytest.fixture
def orders(slotmq_server):
    slotmq_server.clear()
    with slotmq.Client(slotmq_server.address) as client:
        yield client.create("orders", shared=True, max_retries=5)


def test_readme(slotmq_server, orders):
    said = subprocess.run([sys.executable, FOLDER / "readme.py", slotmq_server.address], check=True, capture_output=True)
    assert said.stdout == b"two books\n"
    assert orders.stats().done == 1


def test_worker(slotmq_server, orders):
    with orders._client.producer() as producer:
        for body in ("too early", "two books"):
            producer.send("orders", body, key="ann")
    with subprocess.Popen([sys.executable, FOLDER / "worker.py", slotmq_server.address], stdout=subprocess.PIPE,
                          text=True) as process:
        assert {process.stdout.readline() for _ in range(2)} == {"ann: two books\n", "ann: too early\n"}
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == ""
    assert process.returncode == 0
    stats = orders.stats()
    assert (stats.done, stats.retried, stats.dead) == (2, 1, 0)


def asked(address, method, path):
    """(the status, the answer) of a request."""
    connection = http.client.HTTPConnection(*address, timeout=20)
    connection.request(method, path)
    with connection.getresponse() as response:
        return response.status, json.loads(response.read())


def test_web(slotmq_server, orders):
    """The socket listens before the service does, so that nobody asks in vain."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--app-dir", FOLDER, "--fd", str(listening.fileno()), "web:app"],
            pass_fds=[listening.fileno()],
            env={**os.environ, "SLOTMQ_REDIS": slotmq_server.address},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with process:
            status, answer = asked(address, "POST", "/orders?customer=ann&what=two+books")
            assert status == 202 and answer["id"]
            while orders.stats().done == 0:
                assert process.poll() is None
            assert asked(address, "GET", "/orders") == (200, [{"customer": "ann", "order": "two books"}])
            status, answer = asked(address, "POST", f"/orders?customer={'x' * 1025}&what=two+books")
            assert status == 400 and "key" in answer["detail"]
            process.send_signal(signal.SIGTERM)
            said = process.stdout.read()
        # Since version 0.29 uvicorn ends by the signal.
        assert "Application shutdown complete." in said and process.returncode in (0, -signal.SIGTERM), said
