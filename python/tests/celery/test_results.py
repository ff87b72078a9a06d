"""The result backend, without a worker."""
import time

import pytest
from celery import group, states
from celery.exceptions import TaskRevokedError
from redis.cluster import ClusterPipeline

COUNT = 60
TIMEOUT_S = 10


@pytest.fixture
def open_backend(open_shop):
    def make(**settings):
        return open_shop(**settings).app.backend
    return make


def ids(count):
    return [f"task {i}" for i in range(count)]


def test_many_results_are_read_from_all_nodes(open_backend):
    backend = open_backend()
    for i, task_id in enumerate(ids(COUNT)):
        backend.mark_as_done(task_id, i)
    keys = [backend.get_key_for_task(task_id) for task_id in ids(COUNT)]
    assert len({backend.client.get_node_from_key(key).name for key in keys}) == 3
    values = backend.mget([keys[0], backend.get_key_for_task("unknown"), *keys[1:]])
    assert values[1] is None
    assert [backend.decode(value)["result"] for value in values[:1] + values[2:]] == list(range(COUNT))
    found = dict(backend.get_many(ids(COUNT), timeout=TIMEOUT_S))
    assert [found[task_id]["result"] for task_id in ids(COUNT)] == list(range(COUNT))
    assert backend.mget([]) == []


def test_results_expire(open_backend):
    backend = open_backend(result_expires=1)
    backend.mark_as_done("short", 1)
    group_result = backend.app.GroupResult("some group", [backend.app.AsyncResult("short")])
    group_result.save()
    keys = [backend.get_key_for_task("short"), backend.get_key_for_group("some group")]
    assert all(0 < backend.client.pttl(key) <= 1000 for key in keys)
    end = time.monotonic() + TIMEOUT_S
    while any(backend.client.exists(key) for key in keys):
        assert time.monotonic() < end
    assert backend.get_state("short") == states.PENDING


def test_results_are_kept_where_they_may_be(open_backend):
    backend = open_backend(result_expires=0)
    backend.mark_as_done("kept", 1)
    assert backend.client.pttl(backend.get_key_for_task("kept")) == -1


def test_a_chord_that_is_not_complete_expires(open_shop):
    backend = open_shop(result_expires=3600).app.backend
    backend.set_chord_size("some chord", 2)
    assert 0 < backend.client.pttl(backend.get_key_for_group("some chord", ".s")) <= 3_600_000


def test_calls_follow_a_delete_in_a_pipeline_also_if_that_of_redis_py_returns_nothing(open_backend, monkeypatch):
    """As in redis-py 6.1; Celery does so when a chord is complete."""
    client = open_backend().client
    monkeypatch.setattr(ClusterPipeline, "delete", lambda *_: None)
    client.set("one", 1)
    with client.pipeline() as pipeline:
        pipeline.delete("one").delete("other").execute()
    assert not client.exists("one")


def test_what_is_revoked_says_so_and_what_has_a_state_keeps_it(open_backend):
    backend = open_backend()
    backend.mark_as_done("task 1", "done")
    assert backend.mark_new_as_revoked(ids(3), "revoked") == ["task 1"]
    assert [backend.get_state(task_id) for task_id in ids(3)] == [states.REVOKED, states.SUCCESS, states.REVOKED]
    with pytest.raises(TaskRevokedError, match="revoked"):
        backend.app.AsyncResult("task 0").get(timeout=TIMEOUT_S)


def test_a_group_waits_for_all_its_results(open_shop):
    shop = open_shop()
    sent = group(shop.add.s(i, 1) for i in range(COUNT)).apply_async()
    for i, result in enumerate(sent.results):
        shop.app.backend.mark_as_done(result.id, i)
    assert sent.get(timeout=TIMEOUT_S) == list(range(COUNT))
