"""What hostile applications and tasks leave behind."""
import pathlib
import random
import subprocess
import sys
import time

import conftest
import hostile
import pytest

PROGRAM = str(pathlib.Path(hostile.__file__))
TIMEOUT_S = 60


def test_hostile_processes_leave_nothing_claimed():
    """Here they may fork."""
    run = subprocess.run([sys.executable, PROGRAM, "--only", "process", "--seed", "1", "--count", "8",
                          "--server", conftest.CLUSTER], capture_output=True, text=True, errors="replace", check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]


# Celery never acknowledges a task that fails so, or its process ends by it.
NOT_CELERY = {"Leaving", "MemoryError", "Unnamed"}


def harms(pool):
    """Always the same.  Billiard needs 5 s to see the end of a process, and threads lose a task that would end it."""
    choice = random.Random(1)
    kinds = [name for name, kind in hostile.KINDS.items() if issubclass(kind, Exception) and name not in NOT_CELERY]
    found = [("raise", kind, choice.choice(list(hostile.TEXTS))) for kind in kinds]
    found += [("return", value) for value in hostile.RETURNS] + [("text", text) for text in hostile.TEXTS]
    return found + ([("raise", "SystemExit", "half"), ("leave", "kill")] if pool == "prefork" else [])


@pytest.mark.parametrize("pool", [pytest.param("prefork", marks=pytest.mark.long), "threads"])
def test_hostile_tasks_leave_nothing_claimed_and_a_worker_that_works(open_shop, pool):
    """A task that ends its process comes again, until its retries are used."""
    shop = open_shop({"max_retries": 1, "slots": 1, "backoff": "none"})
    shop.begin("-c", "4", "-P", pool)
    for words in harms(pool):
        shop.harm.delay(*words)
    assert shop.add.delay(1, 2).get(timeout=TIMEOUT_S) == 3
    end, topic = time.monotonic() + TIMEOUT_S, shop.topic()
    while (stats := topic.stats()).waiting or stats.claimed or stats.resting:
        assert time.monotonic() < end, stats
    assert shop.add.delay(3, 4).get(timeout=TIMEOUT_S) == 7


@pytest.mark.parametrize("pool", [pytest.param("prefork", marks=pytest.mark.long), "solo"])
def test_what_other_programs_put_into_a_queue_ends_no_worker(open_shop, pool):
    shop = open_shop({"slots": 1}, worker_prefetch_multiplier=100)
    shop.add.delay(1, 2)
    foreign = [*hostile.FOREIGN.values(), *hostile.FOREIGN_TASKS]
    with shop.session.client.producer() as producer:
        producer.send_batch(shop.topic().name, foreign)
    shop.begin("-c", "1", "-P", pool)
    assert shop.add.delay(3, 4).get(timeout=TIMEOUT_S) == 7
    stats = shop.topic().stats()
    assert (stats.dead, stats.retried, stats.lease_lost) == (len(foreign), 0, 0)
