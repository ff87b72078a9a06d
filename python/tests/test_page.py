"""The programs of docs/python.md do what the page says, each in a process of its own, with the address of the server
in the place of that of the page."""
import pathlib
import re
import signal
import subprocess
import sys

import pytest
import slotmq

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/python.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
# Programs that do not open a client go on with that of the page.
OPENED = 'import slotmq\nclient = slotmq.Client("127.0.0.1:6379")\n'


def program(part):
    """The one program of the page that has this part."""
    [found] = [text for text in PROGRAMS if part in text]
    return found if "slotmq.Client(" in found else OPENED + found + "\nclient.close()\n"


@pytest.fixture
def orders(slotmq_server):
    slotmq_server.clear()
    with slotmq.Client(slotmq_server.address) as client:
        yield client.create("orders", shared=True)


def begin(server, text):
    return subprocess.Popen([sys.executable, "-u", "-W", "error", "-c", text.replace("127.0.0.1:6379", server.address)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process):
    said = process.stdout.read()
    assert process.wait() == 0, said
    return said


def answered(topic, count):
    """Wait until so many messages of the topic have an answer; the server is asked again and again."""
    while True:
        stats = topic.stats()
        if stats.done + stats.dead == count:
            return stats


def test_every_program_is_run():
    parts = ["threads=8", "client.limit", "batch=100", "reschedule", "schedules.put", "asyncio.run", "no-such-topic",
             "pytest_plugins", "def test_"]
    assert sorted(PROGRAMS) == sorted([text for text in PROGRAMS for part in parts if part in text])


def test_send_and_consume(slotmq_server, orders):
    with begin(slotmq_server, program("threads=8")) as process:
        assert process.stdout.readline() == "two books\n"
        process.send_signal(signal.SIGTERM)
        assert end(process) == ""
    assert orders.stats().done == 1


def test_batches(slotmq_server, orders):
    with begin(slotmq_server, program("batch=100")) as process:
        answered(orders, 3)
        process.send_signal(signal.SIGTERM)
        assert re.fullmatch("rejected: message .* of topic orders, attempt 1: an order without a body\n", end(process))
    assert (orders.stats().done, orders.stats().dead_rejected) == (2, 1)


def test_several_topics(slotmq_server, orders):
    with slotmq.Client(slotmq_server.address) as client:
        client.create("mail", shared=True)
        with client.producer() as producer:
            for name in ("orders", "mail"):
                producer.send(name, "x")
    with begin(slotmq_server, program("client.limit")) as process:
        assert sorted(process.stdout.readline() for _ in range(2)) == ["mail x\n", "orders x\n"]
        process.send_signal(signal.SIGTERM)
        assert end(process) == ""


def test_options_messages_topics(slotmq_server, orders):
    with begin(slotmq_server, program("reschedule")) as process:
        assert end(process) == "0 1 all is well\n"


def test_schedules(slotmq_server, orders):
    with begin(slotmq_server, program("schedules.put")) as process:
        said = end(process).splitlines()
    assert said[:3] == ["made same", "nightly False ", "pulse True until the shops open"]
    assert "datetime.datetime(2026, 3, 29, 1, 0, tzinfo=datetime.timezone.utc)" in said[3]
    with slotmq.Client(slotmq_server.address) as client:
        reports = client.topic("reports")
        assert [stored.id for stored in reports.schedules.list()] == ["nightly"] and reports.stats().waiting == 1


def test_asyncio(slotmq_server, orders):
    with begin(slotmq_server, program("asyncio.run")) as process:
        assert end(process) == ""
    assert (orders.stats().done, orders.stats().waiting) == (100, 0)


def test_errors(slotmq_server, orders):
    with begin(slotmq_server, program("no-such-topic")) as process:
        assert re.match("NO_TOPIC .*no-such-topic", end(process))


def test_tests_of_a_program(tmp_path):
    [plugins] = [text for text in PROGRAMS if "pytest_plugins" in text]
    [test] = [text for text in PROGRAMS if "def test_" in text]
    (tmp_path / "conftest.py").write_text(plugins)
    (tmp_path / "test_orders.py").write_text(test)
    said = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
                          capture_output=True, text=True, check=False).stdout
    assert "1 passed" in said, said


KILLED = """
import slotmq.testing, sys
with slotmq.testing.Server() as server:
    print(server._folder, server.port, flush=True)
    sys.stdin.read()
"""


def test_a_server_ends_with_the_process_that_has_started_it():
    with subprocess.Popen([sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        folder, port = process.stdout.readline().split()
        process.kill()
    while pathlib.Path(folder).exists():
        pass
    with pytest.raises(slotmq.RetryError):
        slotmq.Client(f"127.0.0.1:{port}", connect_timeout_ms=200)
