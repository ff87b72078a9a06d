"""What goes wrong with a task, with real workers."""
import os
import pathlib
import signal
import subprocess
import sys
import threading

import conftest
import pytest
import slotmq.testing
from celery import chord
from celery.exceptions import ChordError, TaskError, WorkerLostError

TIMEOUT_S = 30
AWAY_S = 3  # longer than between two heartbeats
SOON = {"slots": 2, "lease_ms": 500, "backoff": "none"}


def test_a_killed_worker_loses_no_task(open_shop):
    shop = open_shop(SOON, worker_prefetch_multiplier=4)
    killed = shop.begin("-c", "2")
    held = [shop.hold.delay("killed") for _ in range(2)]
    shop.wait_begun("killed", 2)
    others = [shop.note.delay("others", i) for i in range(20)]
    killed.kill()
    shop.begin("-c", "2")
    shop.let_end("killed", 2)
    assert all(result.get(timeout=TIMEOUT_S) for result in held)
    for result in others:
        result.get(timeout=TIMEOUT_S)
    assert shop.lines("redelivered.killed") == ["0", "0", "1", "1"]
    assert sorted(map(int, shop.lines("others"))) == list(range(20))
    assert shop.topic().stats().waiting == 0


@pytest.mark.long
def test_in_an_exclusive_queue_tasks_of_a_key_never_overlap_also_when_a_worker_is_killed(open_shop):
    shop = open_shop({**SOON, "slots": 4, "zookeeper": f"{conftest.ZOOKEEPER}/celery", "session_timeout_ms": 2000},
                     task_default_queue="orders", worker_prefetch_multiplier=4,
                     task_queues={"orders": {"queue_arguments": {"x-slotmq-exclusive": True}}})
    workers = [shop.begin("-c", "2") for _ in range(2)]

    def send(key, **kwargs):
        return shop.alone.apply_async((key,), kwargs, slotmq_key=f"customer {key}")

    held = send("7", holds=True)
    [owner] = map(int, shop.wait_begun("7"))
    results = [send(key) for _ in range(10) for key in ("7", "8", "9")]
    # In a queue that is not exclusive the other worker also has some of the first key by then.
    for result in results[1::3] + results[2::3]:
        result.get(timeout=TIMEOUT_S)
    results += [send(key) for _ in range(10) for key in ("7", "8", "9")]
    killed, other = sorted(workers, key=lambda worker: worker.process.pid != owner)
    killed.kill()
    for key in ("7", "8", "9"):
        shop.redis.rpush(shop.key(f"log.{key}"), f"end {owner}")
    assert list(map(int, shop.wait_begun("7"))) == [other.process.pid]
    shop.let_end("7")
    for result in [held, *results]:
        result.get(timeout=TIMEOUT_S)
    logs = {key: shop.lines(f"log.{key}") for key in ("7", "8", "9")}
    for key, lines in logs.items():
        running = None
        for what, worker in map(str.split, lines):
            assert what == "end" or running is None, (key, lines)
            running = worker if what == "begin" else None if running == worker else running
    assert logs["7"][:3] == [f"begin {owner}", f"end {owner}", f"begin {other.process.pid}"]


def test_the_caller_of_a_task_that_kills_its_process_and_a_chord_with_it_get_the_failure(open_shop):
    shop = open_shop({**SOON, "topic": {"max_retries": "none"}}, worker_lost_wait=0.1)
    shop.begin("-c", "2")
    whole = chord([shop.add.s(1, 2), shop.die.s("killer")])(shop.total.s())
    with pytest.raises(WorkerLostError, match="signal 9"):
        whole.parent.results[1].get(timeout=TIMEOUT_S)
    assert isinstance(whole.get(timeout=TIMEOUT_S, propagate=False), ChordError)
    shop.wait_begun("killer")
    [dead] = shop.topic().messages("dead")
    assert dead.reason.startswith("WorkerLostError: Worker exited prematurely: signal 9")


@pytest.mark.long
def test_the_caller_of_a_task_that_kills_its_whole_worker_gets_the_failure(open_shop):
    shop = open_shop({**SOON, "topic": {"max_retries": 1}})
    sent = shop.die.delay("killer")
    for _ in range(2):
        shop.begin("-P", "solo").process.wait()
    shop.begin("-P", "solo")
    with pytest.raises(WorkerLostError, match="its worker died or hung"):
        sent.get(timeout=TIMEOUT_S)
    shop.wait_begun("killer", 2)
    assert not shop.lines("began.killer")


def test_the_caller_of_a_task_that_is_rejected_gets_the_failure(open_shop):
    shop = open_shop(SOON)
    shop.begin("-P", "solo")
    task = shop.refuse.delay("rejected", False)
    with pytest.raises(TaskError, match="it refuses"):
        task.get(timeout=TIMEOUT_S)
    while not shop.topic().stats().dead:
        pass
    assert [(dead.id, dead.reason) for dead in shop.topic().messages("dead")] == [(task.id.encode(), "it refuses")]


@pytest.mark.long
def test_a_task_that_nobody_knows_is_a_dead_letter(open_shop):
    shop = open_shop(SOON)
    shop.begin()
    shop.app.send_task("shop.unknown")
    assert shop.add.delay(1, 2).get(timeout=TIMEOUT_S) == 3
    while not shop.topic().stats().dead:
        pass


@pytest.mark.parametrize("pool", [pytest.param("prefork", marks=pytest.mark.long), "solo"])
def test_a_warm_shutdown_gives_back_what_has_not_begun(open_shop, pool):
    shop = open_shop({**SOON, "slots": 1}, worker_prefetch_multiplier=4)
    shop.hold.delay("warm")
    shop.note.delay("after", 1)
    worker = shop.begin("-c", "1", "-P", pool)
    shop.wait_begun("warm")
    worker.process.send_signal(signal.SIGTERM)
    shop.let_end("warm")
    worker.end()
    assert shop.lines("after") == []
    stats = shop.topic().stats()
    assert (stats.waiting, stats.due, stats.claimed, stats.lease_lost) == (1, 1, 0, 0)


@pytest.mark.long
def test_a_task_that_runs_for_many_leases_runs_once(open_shop):
    shop = open_shop({**SOON, "lease_ms": 200})
    shop.begin()
    held = shop.hold.delay("long")
    shop.wait_begun("long")
    # Five leases, by the clock of another task.
    shop.again.delay("clock", 1).get(timeout=TIMEOUT_S)
    shop.let_end("long")
    assert held.get(timeout=TIMEOUT_S)
    stats = shop.topic().stats()
    assert (stats.lease_lost, stats.retried) == (0, 0)


def connections_made(shop):
    """By all, since the servers began."""
    return sum(node["total_connections_received"] for node in shop.redis.info("stats", target_nodes="primaries").values())


@pytest.mark.parametrize("pool", ["gevent", *(pytest.param(pool, marks=pytest.mark.long)
                                              for pool in ("solo", "threads", "eventlet"))])
def test_another_pool(open_shop, pool):
    shop = open_shop(SOON)
    shop.begin("-P", pool, "-c", "1" if pool == "solo" else "4")
    shop.note.delay("warm", 0).get(timeout=TIMEOUT_S)
    before = connections_made(shop)
    results = [shop.note.delay("pool", i) for i in range(60)]
    for result in results:
        result.get(timeout=TIMEOUT_S)
    assert sorted(map(int, shop.lines("pool"))) == list(range(60))
    assert connections_made(shop) - before < 60  # not some for each task
    assert shop.app.control.inspect(timeout=TIMEOUT_S, limit=1).ping()


def cpu_s(pid):
    """Processor time that the process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("pools", [["eventlet"], pytest.param(["prefork", "solo", "threads", "gevent"],
                                                              marks=pytest.mark.long)], ids="+".join)
def test_a_worker_whose_servers_vanish_waits_without_work(own_cluster, open_shop, pools):
    shop = open_shop(SOON, url=conftest.broker_url(own_cluster.address))
    shop.may_fail = True
    workers = [shop.begin("-P", pool, "-c", "1") for pool in pools]
    shop.note.delay("vanish", 1).get(timeout=TIMEOUT_S)
    own_cluster.end()
    for worker in workers:
        worker.wait_said("it is tried again")
    before = [cpu_s(worker.process.pid) for worker in workers]
    with pytest.raises(subprocess.TimeoutExpired):
        workers[0].process.wait(AWAY_S)
    used = [cpu_s(worker.process.pid) - began for worker, began in zip(workers, before)]
    assert all(worker.process.poll() is None for worker in workers)
    assert max(used) < 0.5, used
    for worker in workers:
        worker.kill()


def status_of_child(work):
    """The exit status of a child that does the work while other threads of this process do theirs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_of_fork_sends_with_a_client_of_its_own(open_shop):
    shop = open_shop(SOON)
    shop.note.delay("fork", 1)
    assert status_of_child(lambda: shop.note.delay("fork", 2)) == 0
    shop.note.delay("fork", 3)
    assert shop.topic().stats().waiting == 3


def test_a_child_of_fork_is_refused_what_its_parent_has_opened(open_shop):
    topic = open_shop(SOON).topic()
    inherited = topic._client
    topic.create(shared=True, slots=1)

    def work():
        with pytest.raises(slotmq.UsageError, match="fork") as raised:
            topic.stats()
        assert raised.value.name == "FORKED"
        inherited.close()
        with slotmq.Client(conftest.CLUSTER) as own:
            own.producer().send(topic.name, "from the child")
    assert status_of_child(work) == 0
    assert topic.stats().waiting == 1


def test_a_server_for_tests_ends_while_a_child_of_fork_lives_and_not_with_a_child():
    server = slotmq.testing.Server()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    stopping = threading.Thread(target=server.stop, daemon=True)
    try:
        assert status_of_child(server.stop) == 0
        assert server.command("PING") == "+PONG"
        stopping.start()
        stopping.join(TIMEOUT_S)
        assert not stopping.is_alive() and not pathlib.Path(server._folder).exists()
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)
        server.stop()


@pytest.mark.long
def test_an_autoscaled_worker_changes_its_prefetch(open_shop):
    shop = open_shop(SOON)
    shop.begin("-c", "1")
    shop.app.control.pool_grow(2, reply=True, limit=1, timeout=TIMEOUT_S)
    results = [shop.hold.delay("grown") for _ in range(3)]
    shop.wait_begun("grown", 3)
    shop.let_end("grown", 3)
    assert all(result.get(timeout=TIMEOUT_S) for result in results)


def test_a_deleted_queue_is_declared_again(open_shop):
    shop = open_shop(SOON)
    shop.begin()
    shop.may_fail = True
    shop.add.delay(1, 2).get(timeout=TIMEOUT_S)
    shop.topic().delete(force=True)
    assert shop.add.delay(1, 2).get(timeout=TIMEOUT_S) == 3
