"""What ends waits, and what closes what was opened: signals, close(), and an object that is dropped."""
import asyncio
import gc
import os
import subprocess
import sys
import threading

import pytest
import slotmq

# Ctrl-C comes when the main thread is in a call of the package.
INTERRUPTED = """
import os, signal, slotmq, socket, sys, threading
address, name = sys.argv[1:]

def interrupt():
    while not asked.is_set() or not sys._current_frames()[main].f_code.co_filename.endswith("slotmq/calls.py"):
        pass
    os.kill(os.getpid(), signal.SIGINT)

def pause():
    connection = socket.create_connection(address.split(":"))
    connection.sendall(b"CLIENT PAUSE 600000 WRITE\\r\\n")
    connection.recv(100)
    asked.set()

asked, main = threading.Event(), threading.get_ident()
threading.Thread(target=interrupt, daemon=True).start()
HOUR_MS = 3_600_000
with slotmq.Client(address, request_timeout_ms=200) as client, client.producer(send_timeout_ms=HOUR_MS) as producer:
    topic = client.topic(name)
    try:
        {body}
    except KeyboardInterrupt:
        print("interrupted")
"""
WAITS = {
    "poll": "with client.consumer(name) as consumer:\n            asked.set()\n            consumer.poll(1, -1)",
    "send": "pause(); producer.send(name, 'x')",
    "flush": "with client.consumer(name) as consumer:\n            producer.send(name, 'x')\n"
             "            [delivery] = consumer.poll(1, -1); pause(); delivery.done(); consumer.flush(HOUR_MS)",
    "client": "server = socket.create_server(('127.0.0.1', 0)); asked.set()\n"
              "        slotmq.Client('127.0.0.1:%d' % server.getsockname()[1], connect_timeout_ms='10m')",
    "messages": "producer.send_batch(name, 'x' * 300); asked.set()\n"
                "        while True: assert len(list(topic.messages())) == 300",
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_ends_by_a_signal(slotmq_server, topic, wait):
    try:
        said = subprocess.run(
            [sys.executable, "-c", INTERRUPTED.format(body=WAITS[wait]), slotmq_server.address, topic.name],
            capture_output=True, text=True, check=False)
    finally:
        slotmq_server.command("CLIENT", "UNPAUSE")
    assert (said.stdout, said.returncode) == ("interrupted\n", 0), said.stderr


def test_a_poll_ends_when_its_consumer_is_closed(client, topic):
    consumer, ended = client.consumer(topic.name), []

    def poll():
        try:
            while True:
                consumer.poll(1, -1)
        except slotmq.Closed as error:
            ended.append(error.name)

    thread = threading.Thread(target=poll)
    thread.start()
    while not sys._current_frames()[thread.ident].f_code.co_filename.endswith("slotmq/calls.py"):
        pass
    consumer.close()
    thread.join()
    assert ended == ["CLOSED"]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("opened", [
    lambda client, name: client.producer(), lambda client, name: client.consumer(name),
    lambda client, name: asyncio.run(client.producer().send_async(name, "x")),
    lambda client, name: slotmq.Client(client._servers)], ids=["producer", "consumer", "asyncio", "client"])
def test_what_is_dropped_is_closed(client, topic, opened):
    before = descriptors()
    for _ in range(2):  # a second consumer of a topic would be refused
        with pytest.warns(ResourceWarning, match="was dropped without close"):
            opened(client, topic.name)
        gc.collect()
    while descriptors() > before:
        pass


DROPPED = """
import slotmq, sys
client = slotmq.Client(sys.argv[1])
producer, consumer = client.producer(), client.consumer(sys.argv[2])
producer.send(sys.argv[2], "x")
@client.worker(sys.argv[2])
def handle(_): pass
"""


def test_what_is_open_at_the_end_of_a_program_does_not_hold_it_up(slotmq_server, topic):
    said = subprocess.run([sys.executable, "-W", "error", "-c", DROPPED, slotmq_server.address, topic.name],
                          capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
