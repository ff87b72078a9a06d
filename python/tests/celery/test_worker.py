"""Tasks through a real worker."""
import datetime
import time

import pytest
from celery import chord, group
from celery.exceptions import ChordError, TaskRevokedError
from slotmq.celery.compat import shown

TIMEOUT_S = 30


def test_each_of_many_tasks_runs_once(running):
    results = [running.note.delay("once", i) for i in range(200)]
    for result in results:
        result.get(timeout=TIMEOUT_S)
    assert sorted(map(int, running.lines("once"))) == list(range(200))
    assert running.topic().stats().waiting == 0


def test_a_group_and_a_chord(running):
    assert group(running.add.s(i, 1) for i in range(20)).apply_async().get(timeout=TIMEOUT_S) == list(range(1, 21))
    assert chord([running.add.s(i, 1) for i in range(20)])(running.total.s()).get(timeout=TIMEOUT_S) == 210


def test_a_chord_of_a_task_that_fails_has_its_error(running):
    with pytest.raises((ChordError, ValueError), match="it fails"):
        chord([running.add.s(1, 1), running.fail.s()])(running.total.s()).get(timeout=TIMEOUT_S)


def test_a_retry_with_a_countdown_is_never_early(running):
    began = running.again.delay("retry", 2).get(timeout=TIMEOUT_S)
    assert len(began) == 3
    assert all(later - earlier >= 1 for earlier, later in zip(began, began[1:]))


def test_an_eta_waits_in_the_broker_and_is_never_early(running):
    eta = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    result = running.clock.apply_async(eta=eta)
    stored = running.topic().get(id=result.id)
    assert stored.state == "waiting" and stored.due_at_ms >= eta.timestamp() * 1000
    assert not any(running.app.control.inspect(timeout=TIMEOUT_S, limit=1).scheduled().values())
    assert result.get(timeout=TIMEOUT_S) >= eta.timestamp()


def test_revoked_tasks_leave_the_broker(running):
    results = [running.clock.apply_async(countdown=3600) for _ in range(50)]
    assert running.topic().stats().waiting == 50
    running.app.control.revoke([result.id for result in results])
    assert running.topic().stats().waiting == 0
    with pytest.raises(TaskRevokedError):
        results[0].get(timeout=TIMEOUT_S)


def test_an_expired_task_is_revoked_by_the_worker(running):
    with pytest.raises(TaskRevokedError, match="expired"):
        running.clock.apply_async(expires=datetime.datetime.now() - datetime.timedelta(hours=1)).get(timeout=TIMEOUT_S)


def test_an_expired_task_without_a_result_is_dropped_by_the_broker(running):
    running.note.apply_async(("dropped", 1), countdown=1, expires=0.2, ignore_result=True)
    running.note.apply_async(("dropped", 2), countdown=1).get(timeout=TIMEOUT_S)
    assert running.lines("dropped") == ["2"]


def test_remote_control(running):
    inspect = running.app.control.inspect(timeout=TIMEOUT_S, limit=1)
    [(name, answer)] = inspect.ping().items()
    assert name.startswith("w0@") and answer == {"ok": "pong"}
    [queues] = inspect.active_queues().values()
    assert [queue["name"] for queue in queues] == ["celery"]
    [stats] = inspect.stats().values()
    assert stats["broker"]["transport"].startswith("slotmq") and stats["prefetch_count"] == 2


def test_what_celery_says_of_its_settings_names_all_servers(running):
    inspect = running.app.control.inspect(timeout=TIMEOUT_S, limit=1)
    [report] = inspect.report().values()
    [settings] = inspect.conf().values()
    assert "slotmq-results://" in report["ok"]
    assert settings["result_backend"] == running.app.conf.result_backend
    assert shown("slotmqs-results://shop:secret@one:1,two:2/") == "slotmqs-results://shop:**@one:1,two:2/"


def test_events(running):
    seen = []
    with running.app.connection_for_read() as connection:
        receiver = running.app.events.Receiver(connection, handlers={"*": seen.append})
        with receiver.consumer_context() as (receiving, _channel, _consumers):
            running.app.control.enable_events(reply=True, limit=1, timeout=TIMEOUT_S)
            result = running.add.delay(1, 2)
            while not any(event["type"] == "task-succeeded" and event["uuid"] == result.id for event in seen):
                receiving.drain_events(timeout=TIMEOUT_S)
        running.app.control.disable_events()
    assert "task-received" in [event["type"] for event in seen if event.get("uuid") == result.id]


def test_keys_reach_the_broker_and_stay_with_retries(running):
    result = running.key_of.apply_async(slotmq_key="customer 7", countdown=3600)
    assert running.topic().get(id=result.id, key="customer 7").key == b"customer 7"
    running.topic().remove(id=result.id, key="customer 7")
    assert running.key_of.apply_async((1,), slotmq_key="customer 7").get(timeout=TIMEOUT_S) == ["customer 7", False]


def test_mailboxes_and_fanouts_end_by_themselves(running):
    running.app.control.inspect(timeout=TIMEOUT_S, limit=1).ping()
    keys = [key for key in running.redis.scan_iter(match=f"celery:{running.prefix}*") if not key.endswith(b"bindings")]
    assert keys
    for key in keys:
        assert running.redis.pttl(key) > 0, key
