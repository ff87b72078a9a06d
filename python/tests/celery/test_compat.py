"""What slotmq.celery.compat uses of kombu, Celery and redis-py that they do not promise, and QoS of kombu's."""
import celery._state
import celery.backends.base
import celery.schedules
import celery.worker.request
import celery.worker.state
import kombu
import pytest
import redis
import redis.cluster
from kombu.transport import virtual
from slotmq.celery import compat

NAMES = [
    (lambda channel: channel, ["_tag_to_queue", "_active_queues"]),
    (lambda channel: channel.connection, ["_avail_channels"]),
    (lambda channel: channel.qos, ["_delivered"]),
    (lambda _: virtual.exchange.TopicExchange(None), ["key_to_pattern"]),
    (lambda _: celery._state, ["_get_active_apps"]),
    (lambda _: celery.backends.base.Backend, ["_get_result_meta"]),
    (lambda _: celery.Celery(backend="redis://", set_as_current=False).backend.result_consumer,
     ["_consume_from", "_decode_result", "_reconnect_pubsub"]),
    (lambda _: celery.Celery(set_as_current=False), ["_local"]),
    (lambda _: celery.schedules.crontab(),
     ["_orig_minute", "_orig_hour", "_orig_day_of_month", "_orig_month_of_year", "_orig_day_of_week"]),
    (lambda _: celery.worker.request.Request, ["on_failure"]),
    (lambda _: celery.worker.state, ["should_stop", "should_terminate"]),
    (lambda _: redis.Connection(), ["_sock"]),
    (lambda _: redis.cluster.ClusterPipeline, ["delete", "execute_command"]),
]


@pytest.mark.parametrize("owner, names", NAMES, ids=lambda value: value[0] if isinstance(value, list) else "")
def test_what_is_private_is_there(owner, names):
    with kombu.Connection("memory://") as connection:
        found = owner(connection.channel())
        assert [name for name in names if not hasattr(found, name)] == []


def test_consumers_and_channels_of_kombu_are_found():
    with kombu.Connection("memory://") as connection:
        channel = connection.channel()
        consumer = kombu.Consumer(channel, [kombu.Queue("q", routing_key="q")])
        consumer.consume()
        [tag] = channel._consumers
        assert compat.queue_of_tag(channel, tag) == "q" and compat.is_consumed(channel, "q")
        consumer.cancel()
        assert compat.queue_of_tag(channel, tag) == "" and not compat.is_consumed(channel, "q")
