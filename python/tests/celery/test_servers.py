"""Celery on other servers than a cluster of three masters."""
import subprocess

import kombu
import pytest
import redis
import slotmq
import slotmq.celery
from celery import chord, group
from celery.exceptions import TaskRevokedError
from one_server import free_port, one_server
from slotmq.celery.link import open_redis
from slotmq.celery.settings import Settings

TIMEOUT_S = 30
SOON = {"slots": 2, "backoff": "none"}
# What docs/celery.md says that a user of Redis may have to run.
RIGHTS = "~* &* -@all +@read +@write +@pubsub +@scripting +@transaction +@connection +cluster|slots +info +time +wait"


def try_all_parts(shop):
    """Queues, times, results, groups, remote control and revoked tasks, with a worker."""
    shop.begin()
    later = shop.clock.apply_async(countdown=3600)
    assert group(shop.add.s(i, 1) for i in range(10)).apply_async().get(timeout=TIMEOUT_S) == list(range(1, 11))
    assert chord([shop.add.s(i, 1) for i in range(10)])(shop.total.s()).get(timeout=TIMEOUT_S) == 55
    first, second = shop.again.delay("again", 1).get(timeout=TIMEOUT_S)
    assert second - first >= 1
    assert shop.app.control.inspect(timeout=TIMEOUT_S, limit=1).ping()
    later.revoke()
    with pytest.raises(TaskRevokedError):
        later.get(timeout=TIMEOUT_S)
    assert shop.topic().stats().waiting == 0


def test_one_redis_without_cluster_mode(alone, open_shop):
    try_all_parts(open_shop(SOON, url=f"slotmq://127.0.0.1:{alone}/alone"))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates for 127.0.0.1, each signed by itself: server.crt and other.crt, and their keys."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("server", "other"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / f"{name}.key", "-out",
             folder / f"{name}.crt"], check=True, capture_output=True)
    return folder


@pytest.fixture
def secure(certificates):
    """The port of a cluster of one node that speaks only TLS, and whose users have a password."""
    port, server = free_port(), certificates / "server"
    with one_server("port 0", f"tls-port {port}", "tls-auth-clients no", "tls-cluster yes", f"tls-cert-file {server}.crt",
                    f"tls-key-file {server}.key", f"tls-ca-cert-file {server}.crt", "cluster-enabled yes",
                    f"cluster-port {free_port()}", "user default off", "user admin on >root ~* &* +@all",
                    f"user shop on >secret {RIGHTS}"):
        with redis.Redis("127.0.0.1", port, username="admin", password="root", ssl=True,
                         ssl_ca_certs=f"{server}.crt") as admin:
            admin.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            while admin.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                pass
        yield port
        slotmq.celery.close_sessions()


def test_tls_and_a_user_with_few_rights(certificates, secure, open_shop):
    url = f"slotmqs://shop:secret@127.0.0.1:{secure}/secure"
    trusted, other = (str(certificates / name) for name in ("server.crt", "other.crt"))
    try_all_parts(open_shop(SOON, url=url, broker_use_ssl={"ca_certs": trusted},
                            redis_backend_use_ssl={"ssl_ca_certs": trusted, "ssl_cert_reqs": "required"}))
    with kombu.Connection(url, ssl={"ca_certs": other}, transport_options={"connect_timeout_ms": 500}) as connection:
        with pytest.raises(slotmq.Error, match="certificate"):
            connection.connect()
    with pytest.raises(redis.exceptions.RedisClusterException):
        open_redis(Settings(url, {}).servers, {"tls_ca": other})
