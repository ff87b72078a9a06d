"""The transport as kombu calls it, without Celery."""
import datetime
import logging
import socket
import time

import conftest
import hostile
import kombu
import pytest
import slotmq.celery
from slotmq._native import ffi, lib
from slotmq.calls import call
from slotmq.celery.mailbox import Mailboxes
from slotmq.celery.publishing import too_big
from slotmq.celery.settings import Settings, masked, servers_of

TIMEOUT_S = 10
QUIET_S = 0.2
OPTIONS = {"slots": 1, "backoff": "none"}


@pytest.fixture
def connect():
    """Make connections to one broker."""
    own, made = conftest.broker_url(), []

    def make(url=own, **options):
        made.append(kombu.Connection(url, transport_options={**OPTIONS, **options}))
        return made[-1]
    yield make
    for one in made:
        one.release()


class Reader:
    """Consumes queues, and keeps what came."""

    def __init__(self, connection, *names, prefetch=0, no_ack=False):
        self.connection, self.came = connection, []
        self.channel = connection.channel()
        self.consumer = kombu.Consumer(self.channel, [kombu.Queue(name, routing_key=name) for name in names],
                                       callbacks=[lambda _body, message: self.came.append(message)], no_ack=no_ack)
        self.consumer.qos(prefetch_count=prefetch)
        self.consumer.consume()

    def drain(self, count):
        for _ in range(count):
            self.connection.drain_events(timeout=TIMEOUT_S)
        return self.came

    def drain_all(self):
        with pytest.raises(socket.timeout):
            while True:
                self.connection.drain_events(timeout=QUIET_S)
        return self.came


def put(connection, queue, *bodies, **options):
    with connection.Producer() as producer:
        for body in bodies:
            producer.publish(body, routing_key=queue, declare=[kombu.Queue(queue, routing_key=queue)], **options)


def topic_of(connection, queue):
    channel = connection.default_channel
    return channel.queue(queue).topic


def described(connection, queue, *names):
    """Options of a queue's topic, as Redis has them."""
    topic, out = topic_of(connection, queue), ffi.new("smq_topic_info **")
    call(lib.smq_topic_get, topic._client, topic.name.encode(), out)
    try:
        return [getattr(out[0].options, name) for name in names]
    finally:
        lib.smq_topic_info_free(out[0])


def test_the_prefetch_changes_while_it_is_full(connect):
    connection = connect()
    put(connection, "q", *range(10))
    reader = Reader(connection, "q", prefetch=3)
    assert len(reader.drain_all()) == 3
    reader.consumer.qos(prefetch_count=5)
    assert len(reader.drain_all()) == 5
    reader.consumer.qos(prefetch_count=2)
    for message in reader.came[:3]:
        message.ack()
    assert len(reader.drain_all()) == 5
    reader.came[3].ack()
    assert len(reader.drain(1)) == 6
    reader.consumer.qos(prefetch_count=0)
    assert len(reader.drain_all()) == 10


def test_a_requeued_message_comes_again_and_says_so(connect):
    connection = connect()
    put(connection, "q", "x")
    reader = Reader(connection, "q")
    [first] = reader.drain(1)
    assert not first.delivery_info["redelivered"]
    first.requeue()
    second = reader.drain(1)[1]
    assert second.payload == "x" and second.delivery_info["redelivered"] and second.delivery_tag != first.delivery_tag
    second.ack()
    assert topic_of(connection, "q").stats().waiting == 0


def test_a_message_that_is_always_requeued_ends_as_a_dead_letter(connect):
    connection = connect(topic={"max_retries": 3})
    put(connection, "q", "x")
    reader = Reader(connection, "q")
    for i in range(4):
        reader.drain(1)[i].requeue()
    assert len(reader.drain_all()) == 4
    assert [dead.reason for dead in topic_of(connection, "q").messages("dead")] == ["requeued by the worker"]


def test_a_requeue_may_use_no_try(connect):
    connection = connect(requeue="release", topic={"max_retries": "none"})
    put(connection, "q", "x")
    reader = Reader(connection, "q")
    for i in range(4):
        reader.drain(1)[i].requeue()
    reader.drain(1)[4].ack()
    assert topic_of(connection, "q").stats().dead == 0


def test_what_is_not_answered_at_the_close_was_never_delivered(connect, capsys):
    connection = connect()
    put(connection, "q", "x", "y")
    reader = Reader(connection, "q")
    reader.drain(2)
    reader.channel.close()
    stats = topic_of(connect(), "q").stats()
    assert (stats.waiting, stats.released, stats.lease_lost) == (2, 2, 0)
    assert "Restoring 2" in capsys.readouterr().err


def test_a_cancel_gives_back_what_was_not_delivered(connect):
    first, second = connect(), connect()
    put(first, "q", *range(20))
    reader = Reader(first, "q")
    [held] = reader.drain(1)
    reader.consumer.cancel()
    assert len(Reader(second, "q").drain_all()) == 19
    held.ack()
    assert len(reader.came) == 1


def test_a_queue_can_be_consumed_again_after_a_cancel(connect):
    connection = connect()
    reader = Reader(connection, "q")
    reader.consumer.cancel()
    reader.consumer.consume()
    put(connection, "q", "x")
    assert len(reader.drain(1)) == 1


def test_what_was_claimed_and_given_back_is_no_redelivery(connect):
    first, second = connect(), connect()
    put(first, "q", *range(5))
    reader = Reader(first, "q")
    reader.drain(1)[0].ack()
    reader.consumer.cancel()
    assert [message.delivery_info["redelivered"] for message in Reader(second, "q").drain(4)] == [False] * 4


def test_a_callback_may_cancel_its_consumer(connect):
    first, second = connect(), connect()
    put(first, "q", *range(20))
    reader = Reader(first, "q")
    reader.consumer.register_callback(lambda _body, message: (message.ack(), reader.consumer.cancel()))
    assert len(reader.drain_all()) == 1
    assert len(Reader(second, "q").drain_all()) == 19


def test_what_is_unanswered_is_kept_without_consumers_and_without_a_loop(connect, monkeypatch):
    """Longer than the lease and than max_poll_gap_ms, although the channel is full and then consumes nothing."""
    monkeypatch.setattr(slotmq.celery.transport, "LIVE_S", 0.05)
    connection = connect(lease_ms=200, max_poll_gap_ms=500)
    put(connection, "q", "x", "y")
    reader = Reader(connection, "q", prefetch=1)
    [held] = reader.drain(1)
    for _ in range(2):
        end = time.monotonic() + 0.7
        with pytest.raises(socket.timeout):
            while True:
                connection.drain_events(timeout=end - time.monotonic())
        reader.consumer.cancel()
    held.ack()
    reader.channel.close()
    stats = topic_of(connection, "q").stats()
    assert (stats.done, stats.lease_lost, stats.waiting) == (1, 0, 1)


def lost(connect, *queues, no_ack=False):
    """A reader that has stood still until another consumer had all that it has not answered."""
    first, second = (connect(lease_ms=200, max_poll_gap_ms=200, drain_timeout_ms=100, shared=False) for _ in range(2))
    for queue in queues:
        put(first, queue, *range(3))
    reader = Reader(first, *queues, no_ack=no_ack)
    reader.drain(1)
    other = Reader(second, *queues)
    for _ in range(3 * len(queues) - no_ack):
        other.drain(1)[-1].ack()
    return reader


@pytest.mark.parametrize("end", ["close", "cancel"])
def test_a_reader_that_stood_still_for_too_long_ends_as_any_other(connect, end):
    reader = lost(connect, "a", "b")
    if end == "cancel":
        reader.consumer.cancel()
    reader.channel.close()
    assert reader.connection.transport.consuming.health().consumers == 0
    for queue in ("a", "b"):
        stats = topic_of(reader.connection, queue).stats()
        assert (stats.done, stats.waiting, stats.claimed, stats.dead) == (3, 0, 0, 0)


def test_without_acks_what_another_consumer_has_had_is_not_given(connect):
    for take in (lambda reader: reader.channel.basic_get("q", no_ack=True), Reader.drain_all):
        reader = lost(connect, "q", no_ack=True)
        take(reader)
        assert len(reader.came) == 1


def test_an_answer_after_a_reconnect_is_nothing(connect):
    connection = connect()
    put(connection, "q", "x")
    [old] = Reader(connection, "q").drain(1)
    connection.close()
    connection.connect()
    [new] = Reader(connection, "q").drain(1)
    old.ack()
    assert new.payload == "x" and not new.delivery_info["redelivered"]
    assert topic_of(connection, "q").stats().done == 0
    new.ack()


def test_a_mailbox_ends_as_it_was_declared_also_when_another_process_writes(connect):
    first, second = connect(), connect()
    kombu.Queue("replies", auto_delete=True, expires=20)(first.channel()).declare()
    writer = Mailboxes(second.default_channel.session)  # as of a process that has not declared it
    writer.put("replies", {})
    assert 0 < second.default_channel.session.redis.pttl(writer.list_key("replies")) <= 20_000


def test_a_queue_may_expire_and_is_made_again_as_it_was_declared(connect):
    connection, expected = connect(), [3_600_000, 60_000]
    arguments = {"x-message-ttl": 60_000}
    kombu.Queue("q", routing_key="q", expires=3600, queue_arguments=arguments)(connection.channel()).declare()
    for use in (lambda: connection.Producer().publish("x", routing_key="q"), lambda: Reader(connection, "q").drain_all()):
        assert described(connection, "q", "expires_ms", "ttl_ms") == expected
        topic_of(connection, "q").delete()  # as its end does
        use()
        assert described(connection, "q", "expires_ms", "ttl_ms") == expected
        topic_of(connection, "q").purge("waiting")


def test_without_acks_nothing_stays_in_flight(connect):
    connection = connect()
    put(connection, "q", *range(5))
    reader = Reader(connection, "q", prefetch=1, no_ack=True)
    assert len(reader.drain(5)) == 5
    reader.channel.close()
    assert topic_of(connection, "q").stats().waiting == 0


def test_a_full_channel_of_two_queues_leaves_the_other_queue_to_others(connect):
    first, second = connect(), connect()
    put(first, "a", "a")
    reader = Reader(first, "a", "b", prefetch=1)
    reader.drain(1)
    put(first, "b", "b")
    reader.drain_all()
    [message] = Reader(second, "b").drain(1)
    assert message.payload == "b"
    put(first, "b", "c")
    reader.came[0].ack()
    message.ack()


@pytest.mark.parametrize("prefetch", [0, 2, 8])
def test_full_queues_take_turns_and_nothing_is_given_back(alone, connect, prefetch):
    """On one server, because one of several that stands still for a moment holds up its queues alone.
    Turns are taken as soon as each queue has been read once; until then the slots are taken over."""
    connection, names = connect(f"slotmq://127.0.0.1:{alone}/turns"), ["a", "b", "c"]
    for name in names:
        put(connection, name, "first")
    reader = Reader(connection, *names, prefetch=prefetch)
    for _ in names:
        reader.drain(1)[-1].ack()
    for name in names:
        put(connection, name, *[name] * 90)
    for _ in range(90):
        reader.drain(1)[-1].ack()
    came = [message.payload for message in reader.came[len(names):]]
    assert all(15 <= came.count(name) <= 45 for name in names), "".join(came)
    assert sum(topic_of(connection, name).stats().released for name in names) == 0


def test_a_queue_that_is_added_gets_turns_and_one_that_is_cancelled_gives_back(connect):
    first, second = connect(), connect()
    for name in ("a", "b"):
        put(first, name, *[name] * 20)
    reader = Reader(first, "a", prefetch=2)
    reader.drain(1)
    reader.consumer.add_queue(kombu.Queue("b", routing_key="b"))
    reader.consumer.consume()
    while "b" not in [message.payload for message in reader.came]:
        reader.drain(1)[-1].ack()
    held = [message for message in reader.came if message.payload == "a"][0]
    reader.consumer.cancel_by_queue("a")
    count = sum(message.payload == "a" for message in reader.came)
    assert len(Reader(second, "a").drain_all()) == 20 - count
    held.ack()


def test_a_get_comes_also_while_the_channel_has_enough(connect):
    connection = connect()
    for name in ("a", "b", "c"):
        put(connection, name, name, name, name)
    reader = Reader(connection, "a", "b", prefetch=1)
    reader.drain(1)
    for name in ("c", "b"):
        found = reader.channel.basic_get(name)
        assert found.payload == name
        found.ack()


def test_a_get_takes_one_and_an_empty_queue_says_so_at_once(connect):
    connection = connect()
    queue = kombu.Queue("q", routing_key="q")(connection.channel())
    queue.declare()
    assert queue.get() is None
    put(connection, "q", "x", "y")
    first = queue.get()
    first.ack()
    queue.get(no_ack=True)
    assert first.payload == "x" and queue.get() is None
    assert queue.queue_declare(passive=True).message_count == 0


def put_foreign(connection, queue):
    """Whatever other programs may store, and behind it a message of kombu."""
    put(connection, queue, "first")
    channel = connection.default_channel
    receipts = channel.session.producer.send_batch(channel.settings.topic_of(queue), hostile.FOREIGN.values())
    assert not any(receipt.error for receipt in receipts)
    put(connection, queue, "x")


def gotten(channel, name, **options):
    """With basic_get."""
    came = []
    while (message := channel.basic_get(name, **options)) is not None:
        came.append(message)
    return came


@pytest.mark.parametrize("take", [lambda connection: Reader(connection, "q").drain_all(),
                                  lambda connection: Reader(connection, "q", no_ack=True).drain_all(),
                                  lambda connection: gotten(connection.channel(), "q")],
                         ids=["consumer", "no_ack", "get"])
def test_messages_of_other_programs_are_dead_letters(connect, take):
    connection = connect()
    put_foreign(connection, "q")
    assert [(message.payload, message.delivery_info["redelivered"]) for message in take(connection)] == \
        [("first", False), ("x", False)]
    dead = {letter.body: letter.reason for letter in topic_of(connection, "q").messages("dead")}
    wanted = [body if isinstance(body, bytes) else body.encode() for body in hostile.FOREIGN.values()]
    assert dead == dict.fromkeys(wanted, "it is no message of kombu")
    assert topic_of(connection, "q").stats().lease_lost == 0


def test_what_other_programs_write_into_a_mailbox_is_dropped(connect):
    connection = connect()
    channel, came = connection.channel(), []
    exchange = kombu.Exchange("news", "fanout")
    queues = [kombu.Queue("replies", auto_delete=True), kombu.Queue("listener", exchange, auto_delete=True)]
    with kombu.Consumer(channel, queues, callbacks=[lambda body, message: came.append(body)]):
        store = connection.transport.mailboxes
        for body in (body for name, body in hostile.FOREIGN.items() if "tick" not in name):  # beat's are for topics
            channel.session.redis.rpush(store.list_key("replies"), body)
            channel.session.redis.xadd(store.stream_key("news"), {"k": "", "m": body})
        with connection.Producer() as producer:
            producer.publish("x", routing_key="replies")
            producer.publish("y", exchange=exchange)
        for _ in range(2):
            connection.drain_events(timeout=TIMEOUT_S)
    assert sorted(came) == ["x", "y"]


def test_large_messages_come_and_their_queue_is_named_once_in_the_log(connect, caplog):
    connection, bodies = connect(), ["x" * 2_000_000, "y" * 2_000_000]
    with caplog.at_level(logging.WARNING, "slotmq.celery"):
        put(connection, "large", *bodies)
    assert sorted(message.payload for message in Reader(connection, "large").drain(2)) == bodies
    assert [record.message[:30] for record in caplog.records if record.name == "slotmq.celery"] == \
        ["a message of queue large has 2"]


def test_a_message_that_its_topic_refuses_says_what_to_do(connect):
    connection = connect(topic={"max_body": 1_048_576})  # as those of 0.2.0
    with pytest.raises(slotmq.TooBig, match=r"; slotmq topic alter \S+\.q --max-body 67108864 allows it$"):
        put(connection, "q", "x" * 1_000_000)
    with pytest.raises(slotmq.TooBig, match=r"; slotmq topic alter \S+\.q --max-body 268435456 allows it$"):
        put(connection, "q", "x" * 60_000_000)
    assert "; compress it" in str(too_big(slotmq.TooBig(0, ""), "q", 268_435_457))


def test_priorities(connect):
    connection = connect()
    for priority in (0, 9, 5):
        put(connection, "q", priority, priority=priority)
    assert [message.payload for message in Reader(connection, "q").drain(3)] == [9, 5, 0]


def test_a_time_is_kept_beside_a_priority(connect):
    connection = connect()
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    put(connection, "q", "urgent and later", priority=9, headers={"eta": due.isoformat()})
    put(connection, "q", "now", priority=0)
    [stored] = [message for message in topic_of(connection, "q").messages("waiting") if message.priority == 9]
    assert stored.due_at_ms >= due.timestamp() * 1000
    assert [message.payload for message in Reader(connection, "q").drain(2)] == ["now", "urgent and later"]
    assert datetime.datetime.now(datetime.timezone.utc) >= due


def test_exchanges_of_one_process_route_in_another(connect):
    first, second = connect(), connect()
    media = kombu.Exchange("media", "topic")
    kombu.Queue("video", media, routing_key="#.video")(first.channel()).declare()
    kombu.Queue("all", media, routing_key="*.*")(first.channel()).declare()
    direct = kombu.Exchange("direct", "direct")
    kombu.Queue("named", direct, routing_key="name")(first.channel()).declare()
    with second.Producer() as producer:
        producer.publish("1", exchange=media, routing_key="new.video")
        producer.publish("2", exchange=media, routing_key="new.text")
        producer.publish("3", exchange=direct, routing_key="name")
        producer.publish("4", exchange=direct, routing_key="nobody")
    for queue, expected in (("video", ["1"]), ("all", ["1", "2"]), ("named", ["3"])):
        assert sorted(message.payload for message in Reader(second, queue).drain(len(expected))) == expected
    kombu.Queue("video", media)(first.channel()).delete()
    assert not topic_of(first, "video").exists()


def test_a_fanout_reaches_all_who_listen_and_queues_of_work(connect):
    connection, exchange, came = connect(), kombu.Exchange("news", "fanout"), []
    queues = [kombu.Queue(f"listener {i}", exchange, auto_delete=True) for i in range(2)] + [kombu.Queue("work", exchange)]
    channel = connection.channel()
    with kombu.Consumer(channel, queues, callbacks=[lambda body, message: came.append((body, message.ack()))]):
        with connection.Producer() as producer:
            producer.publish("x", exchange=exchange)
        for _ in range(3):
            connection.drain_events(timeout=TIMEOUT_S)
    assert [body for body, _ in came] == ["x"] * 3


@pytest.mark.long
def test_mailboxes_are_read_one_after_the_other_for_ever(connect):
    """A pool of redis-py 8 makes no more than 100 connections in its life, and each reader has one of its own."""
    connection = connect()
    for i in range(120):
        with connection.SimpleBuffer(f"mailbox {i}") as mailbox:
            mailbox.put(i)
            assert mailbox.get(timeout=TIMEOUT_S).payload == i


def test_a_url_names_servers_users_tls_and_a_prefix():
    servers, options = servers_of("slotmqs://shop:a%2Fb@one:7000,two/staging?request_timeout_ms=500")
    assert servers.address == "rediss://shop:a%2Fb@one:7000,two:6379"
    assert servers.path == "staging" and options == {"request_timeout_ms": "500"}
    assert servers_of("one")[0].address == "redis://one:6379"
    assert masked("slotmq://shop:secret@one:1/") == "slotmq://shop:**@one:1/"
    assert Settings("slotmq://one/0", {}).prefix == ""
    assert Settings("slotmq://one/staging", {}).topic_of("a b") == "staging.a-20-b"


def test_a_connection_shows_no_password():
    connection = kombu.Connection("slotmq://shop:secret@127.0.0.1:1/")
    assert "secret" not in connection.as_uri() and "shop" in connection.as_uri()


@pytest.mark.parametrize("options, said", [
    ({"visibility_timeuot": 1}, "broker_transport_options has options that are not known: visibility_timeuot"),
    ({"topic": {"slot": 1}}, "a topic has no option slot"),
    ({"queues": {"q": {"x": 1}}}, "queue q has options that are not known: x"),
    ({"queue_order_strategy": "priority"}, 'queue_order_strategy is "priority"; queues take turns, which is round_robin'),
    ({"requeue": "never"}, 'requeue is "never"; it may be retry or release')])
def test_options_that_are_not_known_are_named_in_one_line(options, said):
    with pytest.raises(ValueError) as raised:
        Settings("slotmq://one/", options)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_an_option_of_redis_that_has_no_use_is_named_once(caplog):
    with caplog.at_level(logging.WARNING, "slotmq.celery"):
        for _ in range(2):
            Settings("slotmq://one/", {"visibility_timeout": 3600})
    assert [record.message for record in caplog.records] == [
        "slotmq has no use for the option visibility_timeout of kombu's transport for Redis"]


def test_a_user_with_a_password(connect):
    admin = connect().default_channel.session.redis
    for node in admin.get_primaries():
        admin.execute_command("ACL SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all", target_nodes=node)
    try:
        url = conftest.broker_url().replace("://", "://shop:secret@")
        with kombu.Connection(url, transport_options=OPTIONS) as connection:
            put(connection, "q", "x")
            assert len(Reader(connection, "q").drain(1)) == 1
        assert slotmq.celery.Transport.driver_name == "slotmq"
    finally:
        slotmq.celery.close_sessions()
        for node in connect().default_channel.session.redis.get_primaries():
            connect().default_channel.session.redis.execute_command("ACL DELUSER", "shop", target_nodes=node)
