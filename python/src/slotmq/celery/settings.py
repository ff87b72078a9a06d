"""What a broker URL and broker_transport_options say."""
import dataclasses
import logging
import re
import urllib.parse
from typing import Any, Dict, List, Mapping, Tuple, Union

from .._native import ffi

log = logging.getLogger("slotmq.celery")

Chosen = Dict[str, Any]  # options by their names
Given = Mapping[str, Any]
PORT = 6379
DAY_MS = 86_400_000
# Of a flat name that several kinds have, the first kind gets it.
KINDS = ("consumer", "client", "producer", "topic")
NO_OPTIONS = {"struct_size", "redis", "topic", "poll_events", "poll_receipts"}
OWN: Chosen = {"beat_owner": "", "fanout_max_len": 10_000, "fanout_ttl_ms": 3_600_000, "requeue": "retry",
                "redis_priorities": False}
REQUEUE = ("retry", "release")
ORDER = "round_robin"  # of kombu's orders of queues, the only one
# Options of kombu itself, which it reads where it needs them.
KOMBU = {"body_encoding", "client_properties", "confirm_publish", "confirm_timeout", "connect_retries_timeout",
         "deadletter_queue", "errback", "interval_max", "interval_start", "interval_step", "login_method",
         "max_retries", "polling_interval", "queue_order_strategy", "retry_errors"}
# Of kombu's transport for Redis: what they are for is done in another way here.
IGNORED = {"ack_emulation", "fanout_patterns", "fanout_prefix", "global_keyprefix", "health_check_interval",
           "max_connections", "priority_steps", "retry_on_timeout", "sep",
           "socket_connect_timeout", "socket_keepalive", "socket_keepalive_options", "socket_timeout",
           "unacked_index_key", "unacked_key", "unacked_mutex_expire", "unacked_mutex_key",
           "unacked_restore_limit", "visibility_timeout"}
_warned: "set[str]" = set()


def _names_of(kind: str) -> "set[str]":
    """The options that the library has for a client, topic, producer or consumer."""
    return {name for name, _ in ffi.typeof(f"smq_{kind}_options").fields} - NO_OPTIONS


@dataclasses.dataclass(frozen=True)
class Servers:
    """Where Redis is."""

    hosts: Tuple[Tuple[str, int], ...]
    user: str = ""
    password: str = ""
    tls: bool = False
    path: str = ""  # what stands behind the hosts, without slashes

    @property
    def address(self) -> str:
        """As slotmq.Client takes it."""
        login = ""
        if self.user or self.password:
            login = f"{urllib.parse.quote(self.user, '')}:{urllib.parse.quote(self.password, '')}@"
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return f"{'rediss' if self.tls else 'redis'}://{login}{hosts}"


def servers_of(url: str) -> Tuple[Servers, Dict[str, str]]:
    """Read "slotmq://user:password@host:port,host:port/prefix?option=value": (the servers, the options).  The scheme
    may be missing; one that ends with "s" means TLS.  Raises ValueError, without the password."""
    scheme, found, rest = url.partition("://")
    if not found:
        scheme, rest = "slotmq", url
    scheme = scheme.rpartition("+")[2]
    place, _, query = rest.partition("?")
    place, _, path = place.partition("/")
    login, _, hosts = place.rpartition("@")
    user, _, password = login.partition(":")
    options = {name: values[-1] for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
    return Servers(tuple(_host_of(host) for host in (hosts or "127.0.0.1").split(",")),
                   urllib.parse.unquote(user), urllib.parse.unquote(password),
                   scheme in ("slotmqs", "rediss", "slotmqs-results"), urllib.parse.unquote(path).strip("/")), options


def _host_of(text: str) -> Tuple[str, int]:
    match = re.fullmatch(r"(\[[^]]+\]|[^:]+)(?::(\d+))?", text.strip())
    if not match:
        raise ValueError(f'"{text}" is no server: write host:port, and several with commas between them')
    return match[1].strip("[]"), int(match[2] or PORT)


def masked(url: str, mask: str = "**") -> str:
    """The URL without its password."""
    return re.sub(r"^((?:[^:/]+://)?[^:/@]*:)[^/]*@", rf"\g<1>{mask}@", url)


class Settings:
    """Of one broker URL with its options.  Raises ValueError: one line names what is not known."""

    def __init__(self, url: str, options: Given, ssl: Union[Given, bool, None] = None,
                 login: Tuple[str, str] = ("", "")) -> None:
        servers, more = servers_of(url)
        if login[0] or login[1]:
            servers = dataclasses.replace(servers, user=servers.user or login[0], password=servers.password or login[1])
        if ssl:
            servers = dataclasses.replace(servers, tls=True)
        self.servers = servers
        # A number is a database of Redis, which a cluster does not have: another one is another prefix.
        self.prefix = f"{servers.path}." if servers.path not in ("", "0") else ""
        self.options: Dict[str, Chosen] = {kind: {} for kind in KINDS}
        self.own: Chosen = dict(OWN)
        self.queues: Dict[str, Chosen] = dict(options.get("queues") or {})
        if isinstance(ssl, Mapping):
            self.options["client"].update(_tls_of(ssl))
        self._sort({**more, **{name: value for name, value in options.items() if name != "queues"}})
        order = str(options.get("queue_order_strategy", more.get("queue_order_strategy", ORDER)))
        if order != ORDER:
            raise ValueError(f'slotmq: queue_order_strategy is "{order}"; queues take turns, which is {ORDER}')
        for name, chosen in self.queues.items():
            split_options(chosen, f"queue {name}", ("consumer", "topic"))
        if self.own["requeue"] not in REQUEUE:
            raise ValueError(f'slotmq: requeue is "{self.own["requeue"]}"; it may be {" or ".join(REQUEUE)}')
        self.key = repr((servers, sorted(self.options["client"].items()), sorted(self.options["producer"].items())))

    def _sort(self, options: Given) -> None:
        """Give each option to what it is for."""
        flat = {}
        for name, value in options.items():
            if name in OWN:
                self.own[name] = _own_value(name, value)
            elif name in KINDS:
                unknown = set(value) - _names_of(name)
                if unknown:
                    raise ValueError(f"slotmq: a {name} has no option {', '.join(sorted(unknown))}; "
                                     "docs/CONFIGURATION.md lists them")
                self.options[name].update(value)
            elif name in IGNORED:
                if name not in _warned:
                    log.warning("slotmq has no use for the option %s of kombu's transport for Redis", name)
                    _warned.add(name)
            elif name not in KOMBU:
                flat[name] = value
        for kind, chosen in split_options(flat, "broker_transport_options").items():
            self.options[kind].update(chosen)

    def of_queue(self, queue: str, kind: str) -> Chosen:
        """The options of the topic or the consumer of one queue."""
        chosen = split_options(self.queues.get(queue, {}), queue, ("consumer", "topic"))
        return {**self.options[kind], **chosen[kind]}

    def topic_of(self, queue: str) -> str:
        """The name of the topic of a queue.  Bytes that a topic's name cannot have are written as -XX-."""
        name = self.prefix + queue
        return re.sub(rb"[^A-Za-z0-9._-]", lambda byte: b"-%02X-" % byte[0][0], name.encode()).decode()


def _own_value(name: str, value: object) -> Union[bool, int, str]:
    """Of an option of the transport itself; in a URL it is a text."""
    default = OWN[name]
    if isinstance(default, bool):
        return value if isinstance(value, bool) else str(value).lower() in ("1", "true", "yes")
    return int(str(value)) if isinstance(default, int) else str(value)


def split_options(options: Given, where: str, kinds: Tuple[str, ...] = KINDS) -> Dict[str, Chosen]:
    """Flat options by kind.  Raises ValueError for names that no kind has."""
    found: Dict[str, Chosen] = {kind: {} for kind in kinds}
    unknown: List[str] = []
    for name, value in options.items():
        for kind in kinds:
            if name in _names_of(kind):
                found[kind][name] = value
                break
        else:
            unknown.append(name)
    if unknown:
        raise ValueError(f"slotmq: {where} has options that are not known: {', '.join(sorted(unknown))}; "
                         "docs/celery.md lists them")
    return found


def _tls_of(ssl: Given) -> Dict[str, str]:
    """broker_use_ssl, in the names of kombu's transports for Redis and for RabbitMQ."""
    names = {"tls_ca": "ca_certs", "tls_cert": "certfile", "tls_key": "keyfile"}
    return {ours: ssl.get(f"ssl_{theirs}") or ssl[theirs] for ours, theirs in names.items()
            if ssl.get(f"ssl_{theirs}") or ssl.get(theirs)}
