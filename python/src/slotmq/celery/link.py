"""redis-py for what is no queue: bindings, fanout, replies of remote control, and results."""
import pathlib
from typing import Dict

import redis
from redis.cluster import ClusterNode, ClusterPipeline, RedisCluster
from redis.exceptions import RedisClusterException, RedisError

from .compat import let_deletes_be_followed
from .settings import Chosen, Servers

# That no node can be reached is for redis-py no RedisError.
FAILURES = (RedisError, RedisClusterException, OSError)
NO_CLUSTER = ("cluster support disabled", "Cluster mode is not enabled")
KEEPALIVE = {"socket_keepalive": True}
# Readers take replies as they are on the wire, of which redis-py 5 and later has two forms.
WIRE = {"protocol": 2} if int(redis.__version__.partition(".")[0]) >= 5 else {}


class Cluster(RedisCluster):
    def pipeline(self, *args: object, **kwargs: object) -> ClusterPipeline:
        return let_deletes_be_followed(super().pipeline(*args, **kwargs))


def open_redis(servers: Servers, client: Chosen, **more: object) -> redis.Redis:
    """A RedisCluster, or of one server without cluster mode a Redis.  `client`: the options of slotmq.Client."""
    kwargs: Chosen = {**KEEPALIVE, **WIRE, **_login_of(servers, client), **more}
    if servers.tls:
        kwargs.update(ssl=True, ssl_ca_certs=client.get("tls_ca"), ssl_certfile=client.get("tls_cert"),
                      ssl_keyfile=client.get("tls_key"))
    try:
        return Cluster(startup_nodes=[ClusterNode(host, port) for host, port in servers.hosts], **kwargs)
    except RedisClusterException as error:
        if not any(text in str(error) for text in NO_CLUSTER):
            raise
    host, port = servers.hosts[0]
    return redis.Redis(host=host, port=port, **kwargs)


def _login_of(servers: Servers, client: Chosen) -> Dict[str, str]:
    password = servers.password
    if client.get("redis_password_file"):
        password = pathlib.Path(client["redis_password_file"]).read_text(encoding="utf-8").splitlines()[0]
    login = {"username": servers.user, "password": password}
    return {name: value for name, value in login.items() if value}


def connection_of(client: redis.Redis, key: str) -> redis.Connection:
    """A connection of its own to the node that has the key, for a call that waits.  The caller disconnects it, so the
    pool must not count it: that of redis-py 8 makes no more than 100."""
    node = client
    if isinstance(client, RedisCluster):
        node = client.get_redis_connection(client.get_node_from_key(key))
    pool = node.connection_pool
    return pool.connection_class(**pool.connection_kwargs)


def find_nodes_again(client: redis.Redis) -> None:
    """After a connection has failed, or a node has sent us to another one."""
    if isinstance(client, RedisCluster):
        client.nodes_manager.initialize()
