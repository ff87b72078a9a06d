"""Results of Celery on Redis Cluster, which Celery has no backend for.

Keys of tasks are spread over the cluster; those of one group have a hash tag, so that they are on one node."""
from typing import Iterable, List, Optional, Sequence, Tuple, Type, Union

from celery import states
from celery.backends import redis as upstream
from celery.exceptions import TaskRevokedError
from kombu.utils.objects import cached_property
from redis import Redis
from redis.client import PubSub
from redis.exceptions import RedisClusterException

from . import compat
from .link import find_nodes_again, open_redis
from .settings import Settings, masked

# One call, because a pipeline of a cluster cannot publish.
STORE = """
if tonumber(ARGV[2]) > 0 then
    redis.call("SET", KEYS[1], ARGV[1], "EX", ARGV[2])
else
    redis.call("SET", KEYS[1], ARGV[1])
end
redis.call("PUBLISH", KEYS[1], ARGV[1])
return 1
"""
STORE_NEW = f'if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end{STORE}'
PAGE = 1000  # calls in one round trip


class ResultConsumer(upstream.ResultConsumer):
    """Waits for results on one node, which hears what is published on all."""

    _pubsub: Optional[PubSub] = None

    def on_after_fork(self) -> None:
        """A child connects for itself: the client looks at its process."""
        compat.reset_sync(self)
        self._pubsub = None
        upstream.BaseResultConsumer.on_after_fork(self)

    def start(self, initial_task_id: str, **_: object) -> None:
        with compat.locked(self):
            self._pubsub = self.backend.client.pubsub(ignore_subscribe_messages=True)
            compat.consume_from(self, initial_task_id)

    def _reconnect_pubsub(self) -> None:
        with compat.locked(self):
            self._pubsub = None
            find_nodes_again(self.backend.client)
            # What has come in the meantime was not heard.
            for meta in self.backend.mget(list(self.subscribed_to)):
                if meta:
                    self.on_state_change(compat.decoded_result(self, meta), None)
            self.subscribed_to -= compat.take_cancelled(self)
            if self.subscribed_to:
                self._pubsub = self.backend.client.pubsub(ignore_subscribe_messages=True)
                self._pubsub.subscribe(*self.subscribed_to)


class Backend(upstream.RedisBackend):
    """result_backend = "slotmq-results://host:port,host:port/prefix", or the name of this class alone, which then uses
    the servers of the broker.  result_backend_transport_options has options of TLS: tls_ca, tls_cert, tls_key."""

    ResultConsumer = ResultConsumer

    def __init__(self, url: Optional[str] = None, **kwargs: object) -> None:
        super().__init__(url=None, **kwargs)
        broker = not url or "://" not in url
        self.url = self.app.conf.broker_read_url if broker else url
        conf = self.app.conf
        options = dict((conf.broker_transport_options if broker else conf.result_backend_transport_options) or {})
        for name in ("result_chord_ordered", "retry_policy", "global_keyprefix", "additional_connection_errors"):
            options.pop(name, None)
        self.settings = Settings(self.url, options,
                                 conf.broker_use_ssl if broker else conf.redis_backend_use_ssl)
        for name in ("task_keyprefix", "group_keyprefix", "chord_keyprefix"):
            setattr(self, name, self.key_t(self.settings.prefix) + getattr(self, name))
        self.connection_errors: Tuple[Type[Exception], ...] = (*self.connection_errors, RedisClusterException)

    @cached_property
    def client(self) -> Redis:
        return open_redis(self.settings.servers, self.settings.options["client"])

    def _set(self, key: bytes, value: Union[bytes, str], expires: Optional[int] = None) -> None:
        """Celery 5.7 gives results of failed tasks a time of their own."""
        seconds = self.expires if expires is None else expires
        self.client.eval(STORE, 1, key, value, int(seconds or 0))

    def mark_new_as_revoked(self, ids: Sequence[str], reason: str) -> List[str]:
        """As mark_as_revoked() of each, in few round trips.  Returns those that had a state before, and keep it."""
        result = self.encode_result(TaskRevokedError(reason), states.REVOKED)
        meta = compat.result_meta(self, states.REVOKED, result)
        kept = []
        for begin in range(0, len(ids), PAGE):
            page, pipeline = ids[begin:begin + PAGE], self.client.pipeline()
            for task_id in page:
                value = self.encode({**meta, "task_id": task_id})
                pipeline.execute_command("EVAL", STORE_NEW, 1, self.get_key_for_task(task_id), value,
                                         int(self.expires or 0))
            kept += [task_id for task_id, is_new in zip(page, pipeline.execute()) if not is_new]
        return kept

    def mget(self, keys: Iterable[bytes]) -> List[Optional[bytes]]:
        keys = list(keys)
        read = getattr(self.client, "mget_nonatomic", self.client.mget)
        return list(read(keys)) if keys else []

    def get_key_for_group(self, group_id: str, key: str = "") -> bytes:
        empty = self.key_t("")
        return empty.join([self.group_keyprefix, self.key_t("{" + str(group_id) + "}"), self.key_t(key)])

    def get_key_for_chord(self, group_id: str, key: str = "") -> bytes:
        empty = self.key_t("")
        return empty.join([self.chord_keyprefix, self.key_t("{" + str(group_id) + "}"), self.key_t(key)])

    def as_uri(self, include_password: bool = False) -> str:
        return self.url if include_password else masked(self.url)

    def __reduce__(self, args: object = (), kwargs: object = None) -> Tuple[object, ...]:
        return upstream.BaseKeyValueStoreBackend.__reduce__(self, (self.url,), {"expires": self.expires})
