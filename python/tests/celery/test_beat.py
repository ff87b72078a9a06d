"""celery beat with slotmq.celery:Scheduler."""
import datetime
import json

import pytest
from celery import Celery
from celery.beat import BeatLazyFunc
from celery.exceptions import ImproperlyConfigured
from celery.schedules import crontab, solar
from slotmq._native import lib
from slotmq.celery import Scheduler
from slotmq.celery.beat import AGAIN_S, cron_of, schedule_of
from slotmq.errors import error_of
from slotmq.schedules import Schedules

TIMEOUT_S = 30


def ids_of(shop, queue="celery"):
    return sorted(stored.id.removeprefix(shop.prefix) for stored in shop.topic(queue).schedules.list())


def put(shop, **entries):
    shop.app.conf.beat_schedule = entries
    Scheduler(shop.app).put()


def test_of_two_beats_each_tick_runs_once_and_also_when_both_have_ended(open_shop):
    entry = {"task": "shop.mark", "schedule": 0.5, "args": ["pulse"], "options": {"expires": 60, "countdown": 0.1}}
    shop = open_shop({"slots": 4}, beat_schedule={"pulse": entry})
    shop.begin()
    beats = [shop.begin_beat() for _ in range(2)]
    for beat in beats:
        beat.wait_said("schedule ")
    assert sorted(line.split()[-1] for beat in beats for line in beat.said if "schedule " in line) == ["made", "same"]
    ticks = [json.loads(line) for line in shop.wait_begun("pulse", 3)]
    for beat in beats:
        beat.end()
    ticks += [json.loads(line) for line in shop.wait_begun("pulse", 2)]
    schedules, name = shop.topic().schedules, f"{shop.prefix}shop:pulse"
    schedules.pause(name)
    count = schedules.get(name).ticks
    ticks += [json.loads(line) for line in shop.wait_begun("pulse", count - len(ticks))]
    ids = [tick["id"] for tick in ticks]
    assert len(set(ids)) == count and all(one.startswith(f"{name}@") for one in ids)
    for tick in ticks:
        due = int(tick["id"].rpartition("@")[2]) / 1000
        assert due % 0.5 == 0 and tick["began"] >= due + 0.1
        assert datetime.datetime.fromisoformat(tick["expires"]).timestamp() >= due + 60
    assert [shop.app.AsyncResult(one).get(timeout=TIMEOUT_S) for one in ids[:2]] == ids[:2]
    assert shop.topic().stats().waiting == 0 and len(shop.lines("began.pulse")) == 0


def test_what_is_deployed_again_changes_what_is_different(open_shop):
    shop = open_shop()
    every = {"task": "shop.add", "schedule": 3600, "args": [1, 2]}
    put(shop, one=every, two={**every, "options": {"queue": "other"}},
        three={"task": "not here", "schedule": crontab()})
    shop.topic().schedules.put("of nobody", shop.topic().schedules.get(f"{shop.prefix}shop:one").schedule)
    before = shop.topic().schedules.get(f"{shop.prefix}shop:one")
    assert ids_of(shop) == ["of nobody", "shop:one", "shop:three"] and ids_of(shop, "other") == ["shop:two"]
    put(shop, one=every, two={**every, "options": {"expires": 9, "ignore_result": True}})
    assert shop.topic().schedules.get(f"{shop.prefix}shop:two").schedule.message.ttl_ms == 9000
    assert ids_of(shop) == ["of nobody", "shop:one", "shop:two"] and ids_of(shop, "other") == []
    assert shop.topic().schedules.get(f"{shop.prefix}shop:one") == before
    shop.app.conf.broker_transport_options["beat_owner"] = "more"
    put(shop, four=every)
    assert ids_of(shop) == ["more:four", "of nobody", "shop:one", "shop:two"]
    assert shop.topic().stats().waiting == 0


def test_a_beat_waits_for_a_server():
    broker = "slotmq://127.0.0.1:1/?connect_timeout_ms=200"
    assert Scheduler(Celery(broker=broker, set_as_current=False)).tick() == AGAIN_S


@pytest.mark.parametrize("call", ["list", "remove"])
def test_what_could_not_be_removed_is_removed_later(open_shop, monkeypatch, call):
    """Redis is away for one call of two; the beat puts the entries and removes the others again."""
    shop = open_shop()
    every = {"task": "shop.add", "schedule": 3600, "args": [1, 2]}
    put(shop, one=every, two=every)
    shop.app.conf.beat_schedule = {"one": every}
    original, calls = getattr(Schedules, call), []

    def away_at_first(self, *arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise error_of(lib.SMQ_UNAVAILABLE)
        return original(self, *arguments)

    monkeypatch.setattr(Schedules, call, away_at_first)
    beat = Scheduler(shop.app)
    assert beat.tick() == AGAIN_S
    assert ids_of(shop) == ["shop:one", "shop:two"]
    assert beat.tick() == beat.max_interval
    assert ids_of(shop) == ["shop:one"]


def test_what_another_beat_has_removed_hides_no_other(open_shop, monkeypatch):
    shop = open_shop()
    every = {"task": "shop.add", "schedule": 3600, "args": [1, 2]}
    put(shop, one=every, two=every, three=every)
    original, first = Schedules.remove, []

    def removed_before(self, schedule_id):
        original(self, schedule_id)
        if not first:
            first.append(schedule_id)
            original(self, schedule_id)

    monkeypatch.setattr(Schedules, "remove", removed_before)
    put(shop)
    assert len(first) == 1 and ids_of(shop) == []


def test_a_topic_of_others_is_passed_over(open_shop, monkeypatch):
    shop = open_shop()
    every = {"task": "shop.add", "schedule": 3600, "args": [1, 2]}
    put(shop, one=every, two={**every, "options": {"queue": "other"}})
    original, denied = Schedules.list, []

    def denied_at_first(self):
        if not denied:
            denied.append(self)
            raise error_of(lib.SMQ_DENIED)
        return original(self)

    monkeypatch.setattr(Schedules, "list", denied_at_first)
    put(shop)
    assert len(denied) == 1 and len(ids_of(shop) + ids_of(shop, "other")) == 1


CRON = [
    (crontab(), "* * * * *"),
    (crontab(minute="*/15", hour="9-17"), "*/15 9,10,11,12,13,14,15,16,17 * * *"),
    (crontab(minute=0, hour=4, day_of_week="sat,mon"), "0 4 * * 1,6"),
    (crontab(minute=0, hour=0, day_of_month="1-3", day_of_week="mon"), "0 0 */31,1,2,3 * 1"),
    (crontab(minute=0, hour=0, day_of_month="8", day_of_week="sun"), "0 0 8 * */7,0"),
    (crontab(minute=0, hour=0, day_of_month="2", month_of_year="*/3"), "0 0 2 */3 *"),
]


@pytest.mark.parametrize("when, text", CRON, ids=lambda value: value if isinstance(value, str) else "")
def test_a_crontab_is_a_cron_expression(when, text):
    app = Celery(set_as_current=False, timezone="Europe/Berlin")
    found = schedule_of(Scheduler(app, lazy=True).add(name="x", task="x", schedule=when))
    assert (cron_of(when), found.cron, found.zone) == (text, text, "Europe/Berlin")


def test_both_days_of_a_crontab_must_fit():
    """In Celery, but not in cron."""
    app = Celery(set_as_current=False)
    when = crontab(minute=0, hour=0, day_of_month="1-7", day_of_week="mon")
    found = schedule_of(Scheduler(app, lazy=True).add(name="x", task="x", schedule=when))
    after = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    assert [(time.month, time.day) for time in found.next(3, after)] == [(1, 5), (2, 2), (3, 2)]


REFUSED = [
    ({"schedule": solar("sunset", 52, 13)}, "solar computes its times in beat"),
    ({"schedule": crontab(nowfun=datetime.datetime.now)}, "crontab without nowfun"),
    ({"schedule": crontab(day_of_month="8-14", day_of_week="mon")}, "only if the 1st or Sunday is among them"),
    ({"schedule": crontab(day_of_month="30", month_of_year="2")}, "30"),
    ({"schedule": 0.01}, "every_ms"),
    ({"schedule": 1, "args": [BeatLazyFunc(int)]}, "BeatLazyFunc"),
]


@pytest.mark.parametrize("entry, said", REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_an_entry_that_cannot_be_kept_is_named(entry, said):
    scheduler = Scheduler(Celery(set_as_current=False), lazy=True)
    scheduler.add(name="bad one", task="x", **entry)
    with pytest.raises(ImproperlyConfigured, match=f'the entry "bad one" of beat_schedule: .*{said}'):
        scheduler.put()
