"""What programs see of slotmq.  Nothing sleeps: polls, futures and events wait."""
import asyncio
import dataclasses
import datetime
import gc
import logging
import select
import signal
import subprocess
import sys
import threading
import warnings
import zoneinfo

import pytest
import slotmq


def take(consumer, count):
    """So many deliveries, within 10 s each."""
    taken = []
    while len(taken) < count:
        more = consumer.poll(count - len(taken), 10_000)
        assert more, f"{len(taken)} of {count} came"
        taken += more
    return taken


# === Sending ===


def test_a_message_arrives_as_it_was_sent(client, topic, producer):
    receipt = producer.send(topic.name, b"\0body", key="käse", id=b"\xff", headers={"trace": b"\x01\0", "empty": ""})
    assert (receipt.slot, receipt.merged, receipt.error) == (0, False, None)
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        assert (delivery.body, delivery.key, delivery.id) == (b"\0body", "käse".encode(), b"\xff")
        assert delivery.headers == {"trace": b"\x01\0", "empty": b""}
        assert (delivery.topic, delivery.slot, delivery.attempt, delivery.retries_left) == (topic.name, 0, 1, 16)
        assert delivery.redelivered is False
        delivery.done()
        consumer.flush()
    assert topic.stats().done == 1


@pytest.mark.parametrize("body", ["text", b"bytes", bytearray(b"array"), memoryview(b"view"), b""],
                         ids=lambda body: type(body).__name__)
def test_a_body_is_any_bytes(client, topic, producer, body):
    assert producer.send(topic.name, body, id="one").id == b""
    expected = body.encode() if isinstance(body, str) else bytes(body)
    assert topic.get(id="one").body == expected


def test_a_message_merges_with_the_waiting_one_of_its_id(client, topic, producer):
    assert not producer.send(topic.name, "first", id="one").merged
    assert producer.send(topic.name, slotmq.Message("second", id="one")).merged
    assert topic.get(id="one").body == b"second"


def test_messages_are_removed_by_their_ids(client, topic, producer):
    producer.send_batch(topic.name, [slotmq.Message("x", id=name) for name in "abcd"])
    with client.consumer(topic.name, max_in_flight=1) as consumer:
        [claimed] = take(consumer, 1)
        others = sorted({b"a", b"b", b"c", b"d"} - {claimed.id})
        assert topic.remove_each([others[0], claimed.id, "nobody", others[1]]) == [True, False, False, True]
        assert topic.remove_each([]) == []
        claimed.done()
    assert (topic.stats().waiting, topic.stats().done) == (1, 1)


def test_a_batch_has_a_receipt_for_each(client, topic, producer):
    receipts = producer.send_batch(topic.name, ["a", slotmq.Message("b", id="b"), b"c"])
    assert [(receipt.error, bool(receipt.id)) for receipt in receipts] == [(None, True), (None, False), (None, True)]
    assert topic.stats().waiting == 3


def test_a_batch_says_which_messages_were_refused(client, topic, producer):
    big = b"x" * (1 << 20) + b"x"
    receipts = producer.send_batch(topic.name, ["small", big])
    assert [receipt.error and receipt.error.name for receipt in receipts] == [None, "TOO_BIG"]
    assert topic.stats().waiting == 1


def test_an_unknown_option_is_refused_with_the_nearest_one(client):
    with pytest.raises(slotmq.UsageError, match="max_pending"):
        client.producer(max_pendin=5)


# (a call with a wrong argument, what its error says)
WRONG = [
    (lambda send, topic: send(topic.name, 12), "the body must be bytes or a text, not int: 12"),
    (lambda send, topic: send(topic.name, [72, 105]), "the body must be bytes or a text, not list"),
    (lambda send, topic: send(topic.name, "x", key=3), "key must be"),
    (lambda send, topic: send(topic.name, "x", id=2), "id must be"),
    (lambda send, topic: send(topic.name, "x", id="\ud83d"), "id cannot be encoded"),
    (lambda send, topic: send(topic.name, "x", headers={"n": 4}), "the header 'n' must be"),
    (lambda send, topic: send(topic.name, "x", headers={4: "n"}), "the name of a header must be a text"),
    (lambda send, topic: send(topic.name, "x", headers=["n"]), "headers must be a mapping"),
    (lambda send, topic: send(topic.name, "x", priority="high"), "priority must be a whole number"),
    (lambda send, topic: send(topic.name, "x", delay_ms=0.5), "delay_ms must be milliseconds or a timedelta"),
    (lambda send, topic: send(topic.name, "x", delay_ms=datetime.timedelta(-1)), "delay_ms is below 0"),
    (lambda send, topic: send(topic.name, "x", ttl_ms=1 << 70), "ttl_ms is out of range"),
    (lambda send, topic: send(topic.name, "x", max_retries=1 << 40), "max_retries is out of range"),
    (lambda send, topic: send(topic.name, "x", due_at_ms=datetime.datetime(2030, 1, 1)), "due_at_ms .*time zone"),
    (lambda send, topic: send(topic.name, "x", due_at_ms="now"), "due_at_ms must be milliseconds since 1970"),
    (lambda send, topic: send(topic.name, slotmq.Message("x"), key="y"), "the fields of a Message are its own"),
    (lambda send, topic: send(12, "x"), "topic must be a text"),
    (lambda send, topic: send(topic.name + "\0", "x"), "topic has a NUL character"),
    (lambda send, topic: topic.get(id=3), "id must be"),
    (lambda send, topic: topic.rank(key=3, id="x"), "key must be"),
    (lambda send, topic: topic.remove(id=["x"]), "id must be"),
    (lambda send, topic: topic.remove_each(["x", 3]), "an id must be"),
    (lambda send, topic: topic.reschedule(slotmq.Message(delay_ms="5s"), id="x"), "delay_ms must be"),
    (lambda send, topic: list(topic.messages(reason=b"x")), "reason must be a text"),
    (lambda send, topic: topic.alter(lease_ms=[1]), "lease_ms must be"),
    (lambda send, topic: topic._client.topic(5), "the name of a topic must be a text"),
    (lambda send, topic: topic.schedules.put(3, slotmq.Schedule(every_ms=500)), "id must be a text"),
    (lambda send, topic: topic.schedules.put("x", slotmq.Schedule(cron=5)), "cron must be a text"),
    (lambda send, topic: topic.schedules.put("x", slotmq.Schedule(every_ms="5s")), "every_ms must be milliseconds"),
    (lambda send, topic: topic.schedules.put("x", slotmq.Schedule(every_ms=500, missed="all")), "may be one or none"),
    (lambda send, topic: slotmq.Schedule(every_ms=500, start_at_ms=datetime.datetime(2030, 1, 1)).next(), "time zone"),
    (lambda send, topic: slotmq.Schedule("@daily", zone=datetime.timezone(datetime.timedelta(hours=1))).next(),
     "zone has no name"),
    (lambda send, topic: topic._client.limit(1 << 32), "most is out of range: 4294967296"),
    (lambda send, topic: allow(topic, "limit", 1 << 32), "most is out of range: 4294967296"),
    (lambda send, topic: allow(topic, "consumer", -1 << 32), "most is out of range: -4294967296"),
    (lambda send, topic: allow(topic, "consumer", "5"), "most must be a whole number"),
    (lambda send, topic: list(topic.messages(limit=-1)), "limit is out of range: -1"),
    (lambda send, topic: topic.purge("dead", limit="5"), "limit must be a whole number"),
]


def allow(topic, who, most):
    with topic._client.limit(1) as limit, topic._client.consumer(topic.name, limit=limit) as consumer:
        limit.set(most) if who == "limit" else consumer.set_max_in_flight(most)


@pytest.mark.parametrize("call, said", WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_an_argument_that_cannot_be_used_is_named(topic, producer, call, said):
    with pytest.raises((TypeError, ValueError), match=said):
        call(producer.send, topic)
    assert topic.stats().waiting == 0


def test_times_are_given_as_python_has_them(client, topic, producer):
    due = datetime.datetime(2100, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    producer.send(topic.name, "x", id="at", due_at_ms=due)
    producer.send(topic.name, "x", id="in", delay_ms=datetime.timedelta(days=365_000 / 24))
    assert topic.get(id="at").due_at_ms == due.timestamp() * 1000
    found = topic.get(id="in")
    assert found.due_at_ms - found.sent_at_ms == 365_000 * 3_600_000
    topic.alter(lease_ms=datetime.timedelta(minutes=2))
    with client.consumer(topic.name) as consumer:
        assert consumer.poll(1, datetime.timedelta(0)) == []


def test_a_missing_topic_is_named(client, producer):
    with pytest.raises(slotmq.UsageError, match="nowhere") as caught:
        producer.send("nowhere", "body")
    assert caught.value.name == "NO_TOPIC"


def test_a_server_that_is_away(topic):
    with pytest.raises(slotmq.RetryError, match="127.0.0.1:1") as caught:
        slotmq.Client("127.0.0.1:1", connect_timeout_ms=200)
    assert caught.value.name == "UNAVAILABLE"


# === Schedules ===


def test_ticks_of_a_schedule_are_messages_with_ids_of_their_own(client, topic):
    template = slotmq.Message("are you there", headers={"of": "pulse"})
    topic.schedules.put("pulse", slotmq.Schedule(every_ms=datetime.timedelta(milliseconds=100), message=template))
    with client.consumer(topic.name) as consumer:
        ids = []
        for _ in range(2):
            [tick] = take(consumer, 1)
            assert (tick.body, tick.key, tick.headers) == (b"are you there", b"pulse", {"of": b"pulse"})
            ids.append(tick.id.decode())
            tick.done()
    names, times = zip(*(one.split("@") for one in ids))
    assert names == ("pulse", "pulse") and int(times[0]) < int(times[1])
    assert [int(time) % 100 for time in times] == [0, 0]


def test_a_schedule_is_put_read_paused_run_and_removed(topic):
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    start = datetime.datetime(2100, 1, 1, tzinfo=berlin)
    message = slotmq.Message("all shops", key="shops", priority=0, ttl_ms=60_000, max_retries=3, headers={"a": "b"})
    daily = slotmq.Schedule("30 2 * * *", zone=berlin, start_at_ms=start, limit=5, missed="none", message=message)
    schedules = topic.schedules
    other = dataclasses.replace(daily, message=slotmq.Message("others"))
    later = dataclasses.replace(other, cron="31 2 * * *")
    assert not schedules.exists("nightly")
    assert [schedules.put("nightly", one) for one in (daily, daily, other, later)] == \
        ["made", "same", "changed", "restarted"]
    schedules.put("nightly", daily)
    found = schedules.get("nightly")
    assert found.schedule == slotmq.Schedule(
        "30 2 * * *", zone="Europe/Berlin", start_at_ms=int(start.timestamp() * 1000), limit=5, missed="none",
        message=slotmq.Message(b"all shops", key=b"shops", ttl_ms=60_000, max_retries=3, headers={"a": b"b"}))
    assert [daily.next()[0].timestamp() * 1000] == [found.next_at_ms]
    assert (found.id, found.topic, found.ticks, found.last_at_ms) == ("nightly", topic.name, 0, 0)
    schedules.pause("nightly", "until käse comes")
    [listed] = schedules.list()
    assert (listed.paused, listed.note, listed.schedule.cron) == (True, "until käse comes", "30 2 * * *")
    at_ms = schedules.run("nightly")
    assert schedules.run("nightly", at_ms) == at_ms
    [ran] = topic.messages()
    assert (ran.body, ran.key, ran.id) == (b"all shops", b"shops", b"nightly@%d" % at_ms)
    schedules.resume("nightly")
    assert schedules.exists("nightly") and not schedules.get("nightly").paused
    schedules.remove("nightly")
    with pytest.raises(slotmq.NoSchedule, match="nightly"):
        schedules.get("nightly")
    assert schedules.list() == []


def test_the_next_times_of_a_schedule_need_no_server():
    after = datetime.datetime(2026, 3, 28, tzinfo=datetime.timezone.utc)
    times = slotmq.Schedule("30 2 * * *", zone="Europe/Berlin").next(3, after)
    assert [time.isoformat() for time in times] == [
        "2026-03-28T01:30:00+00:00", "2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00"]
    assert len(slotmq.Schedule(every_ms=1000, limit=2).next(5, after)) <= 2
    with pytest.raises(slotmq.Invalid, match=r"the hour is \* or 0 to 23"):
        slotmq.Schedule("0 25 * * *").next()


def test_the_topics_of_a_server_are_named(client, topic):
    assert topic.name in client.topics()


# === asyncio ===


def test_asyncio_sends_and_consumes_on_one_thread(client, topic):
    count = 500

    async def main():
        threads = set(threading.enumerate())
        with client.producer() as producer, client.consumer(topic.name) as consumer:
            receipts = await asyncio.gather(*(producer.send_async(topic.name, str(i)) for i in range(count)))
            seen = set()
            async for delivery in consumer:
                seen.add(int(delivery.body))
                delivery.done()
                if len(seen) == count:
                    consumer.stop()
        assert set(threading.enumerate()) == threads
        return receipts, seen

    receipts, seen = asyncio.run(main())
    assert len({receipt.id for receipt in receipts}) == count
    assert seen == set(range(count))
    assert (topic.stats().done, topic.stats().waiting) == (count, 0)


@pytest.mark.parametrize("options", [{}, {"full_timeout_ms": "forever"}], ids=["default", "forever"])
def test_asyncio_waits_for_room(client, topic, options):
    async def main():
        with client.producer(max_pending=2, **options) as producer:
            await asyncio.gather(*(producer.send_async(topic.name, "x") for _ in range(50)))

    asyncio.run(main())
    assert topic.stats().waiting == 50


def test_asyncio_raises_what_a_send_has_failed_with(client):
    async def main():
        with client.producer() as producer:
            await producer.send_async("nowhere", "x")

    with pytest.raises(slotmq.UsageError, match="nowhere"):
        asyncio.run(main())


def test_a_producer_follows_from_loop_to_loop(client, topic, producer):
    for _ in range(2):
        asyncio.run(producer.send_async(topic.name, "x"))
    assert topic.stats().waiting == 2


def test_a_cancelled_wait_takes_no_message(client, topic, producer):
    async def main():
        with client.consumer(topic.name) as consumer:
            waiting = asyncio.ensure_future(consumer.__anext__())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.get_running_loop().run_in_executor(None, producer.send, topic.name, "x")
            delivery = await consumer.__anext__()
            attempt = delivery.attempt
            delivery.done()
            return attempt

    assert asyncio.run(main()) == 1


def test_what_was_polled_and_not_given_is_released(client, topic, producer):
    producer.send_batch(topic.name, ["a", "b", "c"])

    async def main():
        with client.consumer(topic.name) as consumer:
            async for delivery in consumer:
                delivery.done()
                break

    asyncio.run(main())
    with client.consumer(topic.name) as consumer:
        for delivery in take(consumer, 2):
            assert delivery.attempt == 1
            delivery.done()


# === Answers ===


@pytest.mark.parametrize("answer, expected", [
    (lambda delivery: delivery.done(), {"done": 1, "dead": 0, "waiting": 0, "resting": 0}),
    (lambda delivery: delivery.reject("no such customer"), {"dead": 1, "dead_rejected": 1, "done": 0}),
    (lambda delivery: delivery.retry("later", delay_ms=3_600_000), {"retried": 1, "resting": 1, "dead": 0}),
    (lambda delivery: delivery.release(delay_ms=3_600_000), {"released": 1, "resting": 1, "retried": 0}),
], ids=["done", "reject", "retry", "release"])
def test_an_answer_decides_what_becomes_of_the_message(client, topic, producer, answer, expected):
    producer.send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        answer(delivery)
        assert delivery.answered
        consumer.flush()
    stats = topic.stats()
    assert {name: getattr(stats, name) for name in expected} == expected


def test_a_delivery_is_answered_once_and_stays_readable(client, topic, producer):
    producer.send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        delivery.check()
        delivery.extend(1000)
        delivery.done()
        for again in (delivery.done, delivery.reject, delivery.check, lambda: delivery.attempt):
            with pytest.raises(slotmq.AnsweredError):
                again()
    assert (delivery.body, delivery.id) == (b"x", b"one")


def test_a_delivery_that_is_dropped_is_retried(client, topic, producer):
    producer.send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        with pytest.warns(ResourceWarning, match="b'one'"):
            take(consumer, 1)
        [delivery] = take(consumer, 1)
        assert delivery.attempt == 2 and delivery.redelivered
        delivery.done()


def test_deliveries_that_are_dropped_in_a_cycle_are_retried(client, topic, producer):
    producer.send_batch(topic.name, "ab")
    with client.consumer(topic.name) as consumer:
        with pytest.warns(ResourceWarning, match="dropped without an answer"):
            cycle = [take(consumer, 2)]
            cycle.append(cycle)
            del cycle
            gc.collect()
        for delivery in take(consumer, 2):
            assert delivery.attempt == 2
            delivery.done()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_delivery_is_retried_also_where_warnings_are_errors(client, topic, producer):
    producer.send(topic.name, "x")
    with client.consumer(topic.name) as consumer:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            take(consumer, 1)
        take(consumer, 1)[0].done()


def test_a_poll_that_is_interrupted_loses_no_message(client, topic, producer, monkeypatch):
    def interrupted(polled, place, info, made=slotmq.Delivery):
        if place == 2:
            raise KeyboardInterrupt
        return made(polled, place, info)

    producer.send_batch(topic.name, "abcd")
    with client.consumer(topic.name) as consumer:
        while client.metrics().claimed < 4:
            consumer.keep_alive()
        monkeypatch.setattr("slotmq.consumer.Delivery", interrupted)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(4, 10_000)
        monkeypatch.undo()
        for delivery in take(consumer, 4):
            assert delivery.attempt == 1
            delivery.done()


@pytest.mark.parametrize("answer", [
    lambda delivery: delivery.retry(12), lambda delivery: delivery.reject(b"why"),
    lambda delivery: delivery.retry("why", delay_ms="5"), lambda delivery: delivery.retry(delay_ms=-2),
    lambda delivery: delivery.release(delay_ms=1 << 41), lambda delivery: slotmq.answer_retry([delivery], 12)])
def test_an_answer_that_cannot_be_used_leaves_the_delivery(client, topic, producer, answer):
    producer.send(topic.name, "x")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        with pytest.raises((TypeError, ValueError), match="the reason must be a text|delay_ms"):
            answer(delivery)
        assert not delivery.answered
        delivery.done()
    assert topic.stats().done == 1


def test_a_reason_is_any_text(client, topic, producer):
    producer.send(topic.name, "x")
    with client.consumer(topic.name) as consumer:
        take(consumer, 1)[0].reject("half of an emoji: \ud83d, a NUL: \0")
        consumer.flush()
    assert [message.reason for message in topic.messages("dead")] == ["half of an emoji: \\ud83d, a NUL: \\0"]


def test_an_answer_after_the_end_of_its_consumer_is_too_late(client, topic, producer):
    producer.send(topic.name, "x")
    consumer = client.consumer(topic.name)
    [delivery] = take(consumer, 1)
    consumer.close()
    with pytest.raises(slotmq.FatalError):
        delivery.done()


def test_a_limit_of_0_claims_no_more(client, topic, producer):
    with client.consumer(topic.name) as consumer:
        consumer.set_max_in_flight(0)
        producer.send(topic.name, "x")
        assert consumer.poll(1, 0) == [] == consumer.poll(0)
        consumer.keep_alive()
        assert topic.stats().waiting == 1
        consumer.set_max_in_flight(1)
        [delivery] = take(consumer, 1)
        delivery.done()


def take_any(consumers, count):
    """So many deliveries of all of them, in the order in which they come."""
    by_fd, poller, taken = {consumer.fileno(): consumer for consumer in consumers}, select.poll(), []
    for fd in by_fd:
        poller.register(fd, select.POLLIN)
    while len(taken) < count:
        ready = poller.poll(10_000)
        assert ready, f"{len(taken)} of {count} came"
        for fd, _ in ready:
            taken += by_fd[fd].poll(count - len(taken), 0)
    return taken


def test_consumers_with_one_limit_have_no_more_together_and_take_turns(client, topic, producer):
    topics = [topic, client.create(f"{topic.name}.other", shared=True, slots=1)]
    for each in topics:
        producer.send_batch(each.name, ["x"] * 20)
    with client.limit(2) as limit, client.consumer(topics[0].name, limit=limit) as one, \
            client.consumer(topics[1].name, limit=limit) as two:
        taken = take_any([one, two], 2)
        assert sum(each.stats().claimed for each in topics) == 2
        limit.set(3)
        taken += take_any([one, two], 1)
        came = [delivery.topic for delivery in taken]
        for _ in range(17):
            taken.pop(0).done()
            taken += take_any([one, two], 1)
            came.append(taken[-1].topic)
        assert all(5 <= came.count(each.name) for each in topics), came
        limit.set(0)
        for delivery in taken:
            delivery.done()
    assert [each.stats().released for each in topics] == [0, 0]


def test_a_limit_is_of_one_client(client, topic, slotmq_server):
    with slotmq.Client(slotmq_server.address) as stranger, stranger.limit(1) as limit:
        with pytest.raises(slotmq.Invalid, match="the limit belongs to another client"):
            client.consumer(topic.name, limit=limit)
        with pytest.raises(slotmq.Invalid, match="must be 0 or more, not -1"):
            limit.set(-1)


# === Workers ===


def ran(client, count):
    """Run the workers until they have called the returned function so often."""
    lock, left = threading.Lock(), [count]

    def one():
        with lock:
            left[0] -= 1
            if left[0] == 0:
                client.stop()
    return one


def test_a_worker_handles_each_message(client, topic, producer):
    producer.send_batch(topic.name, [str(i) for i in range(100)])
    one, seen, names = ran(client, 100), [], set()

    @client.worker(topic.name, threads=4)
    def handle(delivery):
        """Remember it."""
        seen.append(int(delivery.body))
        names.add(threading.current_thread().name)
        one()

    client.run()
    assert sorted(seen) == list(range(100))
    assert topic.stats().done == 100
    assert handle.__doc__ == "Remember it." and names <= {f"slotmq-{topic.name}-{i}" for i in range(4)}


def test_handlers_run_at_once(client, topic, producer):
    """Each waits for the others, which one thread could not do."""
    producer.send_batch(topic.name, ["x"] * 4)
    together = threading.Barrier(4, timeout=20)
    one = ran(client, 4)

    @client.worker(topic.name, threads=4)
    def handle(_):
        together.wait()
        one()

    client.run()
    assert topic.stats().done == 4


def test_workers_share_a_limit(client, topic, producer):
    """With one place each handler runs alone."""
    other = client.create(f"{topic.name}.other", shared=True, slots=1)
    alone, one = threading.Lock(), ran(client, 20)
    with client.limit(1) as limit:
        for name in (topic.name, other.name):
            producer.send_batch(name, ["x"] * 10)

            @client.worker(name, threads=4, limit=limit)
            def handle(_):
                assert alone.acquire(blocking=False)
                alone.release()
                one()

        client.run()
    assert [each.stats().done for each in (topic, other)] == [10, 10]


def test_a_batch_handler_gets_lists(client, topic, producer):
    producer.send_batch(topic.name, [str(i) for i in range(100)])
    sizes, one = [], ran(client, 100)

    @client.worker(topic.name, batch=50)
    def handle(deliveries):
        sizes.append(len(deliveries))
        deliveries[0].done()  # the worker answers the others
        for _ in deliveries:
            one()

    client.run()
    assert sum(sizes) == 100 and max(sizes) <= 50 and len(sizes) < 100
    assert topic.stats().done == 100


OUTCOMES = [
    (slotmq.Reject("never"), {"dead_rejected": 1}),
    (slotmq.Retry("not yet", delay_ms=3_600_000), {"retried": 1, "resting": 1}),
    (slotmq.Release(delay_ms=3_600_000), {"released": 1, "resting": 1}),
    (ValueError("broken"), {"retried": 1}),
]


@pytest.mark.parametrize("batch", [0, 10], ids=["single", "batch"])
@pytest.mark.parametrize("error, expected", OUTCOMES, ids=lambda value: type(value).__name__)
def test_an_exception_is_an_answer(client, topic, producer, error, expected, batch):
    topic.alter(backoff="fixed:1h")
    producer.send(topic.name, "x")

    @client.worker(topic.name, batch=batch)
    def handle(_):
        client.stop()
        raise error

    client.run()
    stats = topic.stats()
    assert {name: getattr(stats, name) for name in expected} == expected
    if isinstance(error, ValueError):
        [message] = topic.messages("resting")
        assert message.reason == "ValueError: broken"
        assert [(one.how, one.reason) for one in message.tries] == [("retried", "ValueError: broken")]


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def late_release():
    error = slotmq.Release()
    error.delay_ms = "soon"
    return error


REASONS = [
    (lambda: ValueError("half of an emoji: \ud83d"), "ValueError: half of an emoji: \\ud83d"),
    (lambda: slotmq.Retry("half of an emoji: \ud83d"), "half of an emoji: \\ud83d"),
    (lambda: ValueError("a NUL: \0"), "ValueError: a NUL: \\0"),
    (Silent, "Silent"),
    (asyncio.CancelledError, "CancelledError: "),
    (lambda: slotmq.Retry("why", delay_ms="5s"), "TypeError: delay_ms must be milliseconds or a timedelta, not str: '5s'"),
    (lambda: slotmq.Release(delay_ms=-5), "ValueError: delay_ms is -5, not within 0 .. 1099511627776"),
    (late_release, "the answer Release cannot be used: TypeError: delay_ms must be milliseconds or a timedelta, not str: "
                   "'soon'"),
]


@pytest.mark.parametrize("batch", [0, 10], ids=["single", "batch"])
@pytest.mark.parametrize("error, reason", REASONS, ids=lambda value: value if isinstance(value, str) else "")
def test_whatever_a_handler_raises_its_thread_lives(client, topic, producer, error, reason, batch):
    topic.alter(backoff="fixed:1h")
    producer.send(topic.name, "bad")

    @client.worker(topic.name, batch=batch)
    def handle(given):
        if given[0].body == b"good" if batch else given.body == b"good":
            client.stop()
            return
        producer.send(topic.name, "good")
        raise error()

    client.run()
    assert [message.reason for message in topic.messages("resting")] == [reason]
    assert topic.stats().done == 1


def test_a_batch_handler_may_empty_its_list(client, topic, producer):
    producer.send_batch(topic.name, "ab")
    one = ran(client, 2)

    @client.worker(topic.name, batch=2)
    def handle(deliveries):
        while deliveries:
            deliveries.pop()
            one()

    client.run()
    assert (topic.stats().done, topic.stats().retried) == (2, 0)


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_a_handler_that_exits_ends_the_run_with_an_error(client, topic, producer, error):
    """And the next run begins anew."""
    topic.alter(backoff="fixed:1h")
    producer.send(topic.name, "x")

    @client.worker(topic.name, threads=3)
    def handle(delivery):
        if delivery.body == b"x":
            raise error
        client.stop()

    with pytest.raises(RuntimeError, match=f"{topic.name} was ended by {type(error).__name__}"):
        client.run()
    assert topic.stats().resting == 1
    producer.send(topic.name, "y")
    client.run()
    assert topic.stats().done == 1


def test_a_handler_cannot_close_what_waits_for_it(client, topic, producer):
    producer.send(topic.name, "x")
    said = []

    @client.worker(topic.name)
    def handle(_):
        for call in (client.close, handle.close, handle.wait):
            with pytest.raises(slotmq.WrongThread) as caught:
                call()
            said.append(str(caught.value).rpartition(" ")[2])
        client.stop()

    client.run()
    assert said == ["client.stop()", "worker.stop()", "worker.stop()"]
    assert topic.stats().done == 1


def test_a_run_in_a_thread_says_what_to_do_about_signals(client, topic):
    client.worker(topic.name)(print)
    said = []

    def run():
        with pytest.raises(RuntimeError) as caught:
            client.run()
        said.append(str(caught.value))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "run(signals=())" in said[0]


def test_a_handler_may_answer_later(client, topic, producer):
    producer.send(topic.name, "x")
    kept, came = [], threading.Event()

    @client.worker(topic.name)
    def handle(delivery):
        delivery.later()
        kept.append(delivery)
        came.set()

    handle.start()
    assert came.wait(20)
    assert topic.stats().claimed == 1
    kept[0].done()
    handle.close()
    assert topic.stats().done == 1


def test_a_worker_that_cannot_begin_ends_the_run(client, topic):
    client.worker(topic.name)(print)
    client.worker("nowhere")(print)
    with pytest.raises(slotmq.UsageError, match="nowhere"):
        client.run()


def test_a_coroutine_is_no_handler(client, topic):
    with pytest.raises(TypeError, match="async for"):
        @client.worker(topic.name)
        async def handle(_):
            pass


def test_a_handler_that_takes_long_keeps_its_slots(client, producer):
    """The only thread is in its handler for many times max_poll_gap_ms."""
    topic = client.create("long", slots=1)
    producer.send(topic.name, "x")
    begun, ended = threading.Event(), threading.Event()

    @client.worker(topic.name, max_poll_gap_ms=100)
    def handle(_):
        begun.set()
        ended.wait(20)

    handle.start()
    assert begun.wait(20)
    with client.consumer(client.create("silent", shared=True, slots=1).name) as other:
        assert other.poll(1, 1000) == []
    assert (client.health().slots_owned, client.metrics().slots_lost) == (1, 0)
    ended.set()
    handle.close()
    assert topic.stats().done == 1


PROGRAM = """
import slotmq, sys
with slotmq.Client(sys.argv[1]) as client:
    @client.worker(sys.argv[2])
    def handle(delivery):
        print(delivery.body.decode(), flush=True)
    print("begun", flush=True)
    client.run()
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_program_cleanly(slotmq_server, client, topic, producer, number):
    producer.send(topic.name, "x")
    with subprocess.Popen([sys.executable, "-c", PROGRAM, slotmq_server.address, topic.name],
                          stdout=subprocess.PIPE, text=True) as program:
        assert [program.stdout.readline() for _ in range(2)] == ["begun\n", "x\n"]
        program.send_signal(number)
        assert program.stdout.read() == "ended\n"
    assert program.returncode == 0
    assert topic.stats().done == 1


# === Topics ===


def test_an_exception_while_messages_are_listed_comes_through(topic, producer, monkeypatch):
    def failing(info, seen=[], made=slotmq.client.stored_message):
        if len(seen) == 3:
            raise MemoryError("no room")
        seen.append(made(info))
        return seen[-1]

    producer.send_batch(topic.name, "abcdef")
    monkeypatch.setattr("slotmq.client.stored_message", failing)
    with pytest.raises(MemoryError, match="no room"):
        list(topic.messages())


def test_a_topic_is_created_altered_and_deleted(client, producer):
    topic = client.topic("lived")
    assert not topic.exists()
    assert topic.create(shared=True, slots=2).created and topic.exists()
    assert not topic.create(shared=True, slots=2).created
    with pytest.raises(slotmq.UsageError, match="slots") as caught:
        topic.create(shared=True, slots=4)
    assert caught.value.name == "TOPIC_DIFFERS"
    topic.alter(max_retries=2, ttl_ms=None)
    topic.pause()
    assert topic.stats().slots_paused == 2
    topic.resume()
    producer.send("lived", "x", id="one")
    assert topic.get(id="one").retries_left == 2
    with pytest.raises(slotmq.UsageError) as caught:
        topic.delete()
    assert caught.value.name == "NOT_EMPTY"
    topic.delete(force=True)
    assert not topic.exists()


def test_messages_are_found_ranked_moved_and_removed(client, topic, producer):
    for number in range(250):
        producer.send(topic.name, f"body {number}", id=f"{number:03}", due_at_ms=1 + number)
    assert [message.id for message in topic.messages()] == [f"{number:03}".encode() for number in range(250)]
    assert [message.body for message in topic.messages("waiting", contains="24", limit=3)] == [
        b"body 24", b"body 124", b"body 224"]
    assert list(topic.messages("dead", "claimed")) == []
    assert topic.rank(id="003") == 3
    topic.reschedule(slotmq.Message(due_at_ms=4_000_000_000_000), id="003")
    found = topic.get(id="003")
    assert (found.state, found.due_at_ms, topic.rank(id="003")) == ("waiting", 4_000_000_000_000, 249)
    topic.remove(id="003")
    with pytest.raises(slotmq.UsageError) as caught:
        topic.get(id="003")
    assert caught.value.name == "NO_MESSAGE"
    with pytest.raises(ValueError, match="waitin"):
        list(topic.messages("waitin"))


def test_a_message_in_work_says_since_when_and_where(client, topic, producer):
    topic.alter(lease_ms="3s")
    producer.send(topic.name, "x", id="one")
    assert (topic.get(id="one").claimed_at_ms, topic.get(id="one").claimed_by) == (0, "")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        while (found := topic.get(id="one")).claimed_at_ms == 0:
            consumer.keep_alive()
        assert found.claimed_by == "tested" and found.sent_at_ms <= found.claimed_at_ms < found.lease_at_ms
        delivery.done()


def test_dead_letters_are_requeued_and_purged(client, topic, producer):
    producer.send_batch(topic.name, ["a", "b"])
    with client.consumer(topic.name) as consumer:
        for delivery in take(consumer, 2):
            delivery.reject(f"bad {delivery.body.decode()}")
        consumer.flush()
    assert sorted(message.reason for message in topic.messages("dead")) == ["bad a", "bad b"]
    assert topic.requeue_dead(reason="bad a") == 1
    assert (topic.stats().waiting, topic.stats().dead) == (1, 1)
    assert topic.purge("dead", "waiting") == 2
    with pytest.raises(slotmq.UsageError):
        topic.purge()


# === The client ===


def test_metrics_and_health(client, topic, producer):
    producer.send(topic.name, "x")
    metrics = client.metrics()
    assert (metrics.sent, metrics.claimed, len(metrics.handling_ms)) == (1, 0, 20)
    health = client.health()
    assert (health.status, health.wrong, health.redis_nodes, health.consumers) == (0, "", 1, 0)
    assert f'topic="{topic.name}"' in client.metrics_text(topic.name)


def test_events_go_to_logging(client, topic, caplog):
    class Arrived(logging.Handler):
        def emit(self, record):
            if getattr(record, "slotmq_event", "") == "paused":
                records.append(record)
                arrived.set()

    records, arrived, handler = [], threading.Event(), Arrived()
    logging.getLogger("slotmq").addHandler(handler)
    try:
        with client.consumer(topic.name):
            topic.pause()
            assert arrived.wait(20)
    finally:
        logging.getLogger("slotmq").removeHandler(handler)
    assert (records[0].levelno, records[0].slotmq_topic) == (logging.WARNING, topic.name)


def test_a_closed_object_says_so(slotmq_server, topic):
    with slotmq.Client(slotmq_server.address) as client:
        producer, consumer = client.producer(), client.consumer(topic.name)
    for use in (lambda: producer.send(topic.name, "x"), consumer.poll, client.health, lambda: client.producer()):
        with pytest.raises(slotmq.FatalError, match="closed"):
            use()
    client.close()


def test_objects_have_names(slotmq_server, client, topic, producer):
    assert slotmq.__version__ == slotmq._native.ffi.string(slotmq._native.lib.smq_version()).decode()
    producer.send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        assert repr(delivery) == "<slotmq.Delivery id=b'one' key=b'one'>"
        delivery.done()
        assert [repr(one) for one in (delivery, client, topic, producer, consumer, client.worker(topic.name)(print))] == [
            "<slotmq.Delivery id=b'one' key=b'one' (answered)>", f"<slotmq.Client {slotmq_server.address}>",
            f"<slotmq.Topic {topic.name}>", f"<slotmq.Producer of <slotmq.Client {slotmq_server.address}>>",
            f"<slotmq.Consumer {topic.name}>", f"<slotmq.Worker {topic.name}, threads: 1>"]
    assert repr(consumer) == f"<slotmq.Consumer {topic.name} (closed)>"


def test_nothing_warns_in_a_clean_program(slotmq_server, client, topic, producer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        producer.send(topic.name, "x")
        with client.consumer(topic.name) as consumer:
            [delivery] = take(consumer, 1)
            delivery.done()
            del delivery
    assert topic.stats().done == 1
