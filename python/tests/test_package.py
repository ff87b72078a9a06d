"""What programs see of slotmq.  Nothing sleeps: polls, futures and events wait."""
import asyncio
import logging
import signal
import subprocess
import sys
import threading
import warnings

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


def test_a_message_arrives_as_it_was_sent(client, topic):
    producer = client.producer()
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
def test_a_body_is_any_bytes(client, topic, body):
    assert client.producer().send(topic.name, body, id="one").id == b""
    expected = body.encode() if isinstance(body, str) else bytes(body)
    assert topic.get(id="one").body == expected


def test_a_message_merges_with_the_waiting_one_of_its_id(client, topic):
    producer = client.producer()
    assert not producer.send(topic.name, "first", id="one").merged
    assert producer.send(topic.name, slotmq.Message("second", id="one")).merged
    assert topic.get(id="one").body == b"second"


def test_messages_are_removed_by_their_ids(client, topic):
    client.producer().send_batch(topic.name, [slotmq.Message("x", id=name) for name in "abcd"])
    with client.consumer(topic.name, max_in_flight=1) as consumer:
        [claimed] = take(consumer, 1)
        others = sorted({b"a", b"b", b"c", b"d"} - {claimed.id})
        assert topic.remove_each([others[0], claimed.id, "nobody", others[1]]) == [True, False, False, True]
        assert topic.remove_each([]) == []
        claimed.done()
    assert (topic.stats().waiting, topic.stats().done) == (1, 1)


def test_a_batch_has_a_receipt_for_each(client, topic):
    receipts = client.producer().send_batch(topic.name, ["a", slotmq.Message("b", id="b"), b"c"])
    assert [(receipt.error, bool(receipt.id)) for receipt in receipts] == [(None, True), (None, False), (None, True)]
    assert topic.stats().waiting == 3


def test_a_batch_says_which_messages_were_refused(client, topic):
    big = b"x" * (1 << 20) + b"x"
    receipts = client.producer().send_batch(topic.name, ["small", big])
    assert [receipt.error and receipt.error.name for receipt in receipts] == [None, "TOO_BIG"]
    assert topic.stats().waiting == 1


def test_an_unknown_option_is_refused_with_the_nearest_one(client):
    with pytest.raises(slotmq.UsageError, match="max_pending"):
        client.producer(max_pendin=5)


def test_a_missing_topic_is_named(client):
    with pytest.raises(slotmq.UsageError, match="nowhere") as caught:
        client.producer().send("nowhere", "body")
    assert caught.value.name == "NO_TOPIC"


def test_a_server_that_is_away(topic):
    with pytest.raises(slotmq.RetryError, match="127.0.0.1:1") as caught:
        slotmq.Client("127.0.0.1:1", connect_timeout_ms=200)
    assert caught.value.name == "UNAVAILABLE"


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


def test_asyncio_waits_for_room(client, topic):
    async def main():
        with client.producer(max_pending=2) as producer:
            await asyncio.gather(*(producer.send_async(topic.name, "x") for _ in range(50)))

    asyncio.run(main())
    assert topic.stats().waiting == 50


def test_asyncio_raises_what_a_send_has_failed_with(client):
    async def main():
        with client.producer() as producer:
            await producer.send_async("nowhere", "x")

    with pytest.raises(slotmq.UsageError, match="nowhere"):
        asyncio.run(main())


def test_a_producer_follows_from_loop_to_loop(client, topic):
    producer = client.producer()
    for _ in range(2):
        asyncio.run(producer.send_async(topic.name, "x"))
    assert topic.stats().waiting == 2


def test_a_cancelled_wait_takes_no_message(client, topic):
    async def main():
        with client.consumer(topic.name) as consumer:
            waiting = asyncio.ensure_future(consumer.__anext__())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.get_running_loop().run_in_executor(None, client.producer().send, topic.name, "x")
            delivery = await consumer.__anext__()
            attempt = delivery.attempt
            delivery.done()
            return attempt

    assert asyncio.run(main()) == 1


def test_what_was_polled_and_not_given_is_released(client, topic):
    client.producer().send_batch(topic.name, ["a", "b", "c"])

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
def test_an_answer_decides_what_becomes_of_the_message(client, topic, answer, expected):
    client.producer().send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        answer(delivery)
        assert delivery.answered
        consumer.flush()
    stats = topic.stats()
    assert {name: getattr(stats, name) for name in expected} == expected


def test_a_delivery_is_answered_once_and_stays_readable(client, topic):
    client.producer().send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        [delivery] = take(consumer, 1)
        delivery.check()
        delivery.extend(1000)
        delivery.done()
        for again in (delivery.done, delivery.reject, delivery.check, lambda: delivery.attempt):
            with pytest.raises(slotmq.AnsweredError):
                again()
    assert (delivery.body, delivery.id) == (b"x", b"one")


def test_a_delivery_that_is_dropped_is_retried(client, topic):
    client.producer().send(topic.name, "x", id="one")
    with client.consumer(topic.name) as consumer:
        with pytest.warns(ResourceWarning, match="b'one'"):
            take(consumer, 1)
        [delivery] = take(consumer, 1)
        assert delivery.attempt == 2 and delivery.redelivered
        delivery.done()


def test_an_answer_after_the_end_of_its_consumer_is_too_late(client, topic):
    client.producer().send(topic.name, "x")
    consumer = client.consumer(topic.name)
    [delivery] = take(consumer, 1)
    consumer.close()
    with pytest.raises(slotmq.FatalError):
        delivery.done()


def test_a_limit_of_0_claims_no_more(client, topic):
    with client.consumer(topic.name) as consumer:
        consumer.set_max_in_flight(0)
        client.producer().send(topic.name, "x")
        assert consumer.poll(1, 0) == [] == consumer.poll(0)
        assert topic.stats().waiting == 1
        consumer.set_max_in_flight(1)
        [delivery] = take(consumer, 1)
        delivery.done()


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


def test_a_worker_handles_each_message(client, topic):
    client.producer().send_batch(topic.name, [str(i) for i in range(100)])
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


def test_handlers_run_at_once(client, topic):
    """Each waits for the others, which one thread could not do."""
    client.producer().send_batch(topic.name, ["x"] * 4)
    together = threading.Barrier(4, timeout=20)
    one = ran(client, 4)

    @client.worker(topic.name, threads=4)
    def handle(_):
        together.wait()
        one()

    client.run()
    assert topic.stats().done == 4


def test_a_batch_handler_gets_lists(client, topic):
    client.producer().send_batch(topic.name, [str(i) for i in range(100)])
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
def test_an_exception_is_an_answer(client, topic, error, expected, batch):
    topic.alter(backoff="fixed:1h")
    client.producer().send(topic.name, "x")

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


def test_a_handler_may_answer_later(client, topic):
    client.producer().send(topic.name, "x")
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


def test_a_handler_that_takes_long_keeps_its_slots(client):
    """The only thread is in its handler for many times max_poll_gap_ms."""
    topic = client.create("long", slots=1)
    client.producer().send(topic.name, "x")
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
def test_a_signal_stops_a_program_cleanly(slotmq_server, client, topic, number):
    client.producer().send(topic.name, "x")
    with subprocess.Popen([sys.executable, "-c", PROGRAM, slotmq_server.address, topic.name],
                          stdout=subprocess.PIPE, text=True) as program:
        assert [program.stdout.readline() for _ in range(2)] == ["begun\n", "x\n"]
        program.send_signal(number)
        assert program.stdout.read() == "ended\n"
    assert program.returncode == 0
    assert topic.stats().done == 1


# === Topics ===


def test_a_topic_is_created_altered_and_deleted(client):
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
    client.producer().send("lived", "x", id="one")
    assert topic.get(id="one").retries_left == 2
    with pytest.raises(slotmq.UsageError) as caught:
        topic.delete()
    assert caught.value.name == "NOT_EMPTY"
    topic.delete(force=True)
    assert not topic.exists()


def test_messages_are_found_ranked_moved_and_removed(client, topic):
    producer = client.producer()
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


def test_dead_letters_are_requeued_and_purged(client, topic):
    client.producer().send_batch(topic.name, ["a", "b"])
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


def test_metrics_and_health(client, topic):
    client.producer().send(topic.name, "x")
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


def test_nothing_warns_in_a_clean_program(slotmq_server, client, topic):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client.producer().send(topic.name, "x")
        with client.consumer(topic.name) as consumer:
            [delivery] = take(consumer, 1)
            delivery.done()
            del delivery
    assert topic.stats().done == 1
