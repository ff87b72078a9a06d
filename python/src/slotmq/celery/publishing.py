"""Messages of kombu as messages of topics, and back."""
import contextlib
import dataclasses
import datetime
import itertools
import logging
import math
import time
from typing import Any, Callable, Dict, Mapping, Optional, Protocol

from kombu.transport import virtual
from kombu.utils.json import dumps, loads

from ..calls import Span
from ..client import Client
from ..consumer import Delivery
from ..errors import Error, TooBig, TopicDiffers
from ..records import Message
from .settings import Chosen, Given, Settings

SLOTS = 16
TYPE = "priority"
BODY_DEFAULT = 67_108_864  # max_body of topics that the transport makes
BODY_MOST = 268_435_456    # of the library, in layout keyed
BODY_LARGE = 1_048_576  # from here on a body is named in the log
# (argument of a queue, option of its topic, the least value that this takes)
NUMBERS = (("x-message-ttl", "ttl_ms", 1), ("x-max-length", "max_waiting", 1), ("x-expires", "expires_ms", 1000))
TIMED = (TYPE, "fixed_time")  # types whose messages may wait for a time of their own
log = logging.getLogger("slotmq.celery")
Payload = Dict[str, Any]  # a message as kombu writes it
TICK = "slotmq_tick"  # the property of a message that is stored with each tick of a schedule
_tags = itertools.count(1)
_named: "set[str]" = set()


def time_of(text: Optional[str]) -> Optional[float]:
    """Seconds since 1970 of a time in ISO 8601, which is UTC if it names no zone; None: it is no such time."""
    if not text:
        return None
    try:
        found = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (AttributeError, TypeError, ValueError):
        return None
    return (found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)).timestamp()


def message_of(settings: Settings, queue: str, message: Payload) -> Message:
    """A message of kombu, to be sent to the topic of the queue."""
    properties, headers = message["properties"], message.get("headers") or {}
    key = properties.get("slotmq_key")
    eta = time_of(headers.get("eta"))
    kind = settings.of_queue(queue, "topic").get("type", TYPE)  # of one that keeps no times the worker keeps them
    body = dumps(message).encode()
    _name_if_large(len(body), f"task {headers['task']}" if headers.get("task") else f"queue {queue}")
    return Message(
        body, id=_identity(headers, properties), key=None if key is None else str(key),
        priority=_priority(properties, settings) if kind == TYPE else 0, ttl_ms=_ttl_ms(headers, properties),
        due_at_ms=math.ceil(eta * 1000) if eta and eta > time.time() and kind in TIMED else 0)


def template_of(settings: Settings, queue: str, message: Payload, relative: Mapping[str, float]) -> Message:
    """What is stored with each tick.  Each process that puts it makes the same.  `relative`: countdown and expires in
    seconds, which count from when the tick is stored."""
    properties, headers = message["properties"], message["headers"]
    del properties["delivery_tag"]
    headers["origin"], properties["reply_to"], properties[TICK] = "celery beat", "", dict(relative)
    expires = relative.get("expires", 0) if headers.get("ignore_result") else 0
    whole = message_of(settings, queue, message)
    return dataclasses.replace(whole, id=None, due_at_ms=0, ttl_ms=math.ceil(expires * 1000) or whole.ttl_ms)


def _fill_tick(payload: Payload, delivery: Delivery) -> None:
    """The id of a tick is that of its message, ID@DUE, and its times count from when it was stored."""
    relative = payload["properties"].pop(TICK, None)
    if relative is None:
        return
    headers = payload["headers"]
    headers["id"] = headers["root_id"] = payload["properties"]["correlation_id"] = delivery.id.decode()
    for name, header in (("countdown", "eta"), ("expires", "expires")):
        if name in relative:
            at_s = delivery.sent_at_ms / 1000 + relative[name]
            headers[header] = datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).isoformat()


def _name_if_large(size: int, origin: str) -> None:
    """Once for each origin."""
    if size >= BODY_LARGE and origin not in _named:
        _named.add(origin)
        log.warning("a message of %s has %d bytes, which Redis and the worker hold in memory; large data is better passed "
                    "by a reference", origin, size)


def too_big(error: TooBig, topic: str, size: int) -> TooBig:
    """The same, with what to do."""
    most = BODY_DEFAULT if size <= BODY_DEFAULT else BODY_MOST
    hint = f"slotmq topic alter {topic} --max-body {most} allows it" if size <= BODY_MOST else \
        "compress it (task_compression), or pass the data by a reference"
    return TooBig(error.status, f"{error}; {hint}")


def _identity(headers: Payload, properties: Payload) -> Optional[str]:
    """The id of the task, so that the broker finds the message by it."""
    found = headers.get("id") if "task" in headers else properties.get("message_id")
    return str(found) if found and len(str(found).encode()) <= 1024 else None


def _priority(properties: Payload, settings: Settings) -> int:
    try:
        found = int(properties.get("priority") or 0)
    except (TypeError, ValueError):
        return 0
    return -found if settings.own["redis_priorities"] else found


def _ttl_ms(headers: Payload, properties: Payload) -> int:
    """Of a task that expires somebody may wait for the result, and a worker notes there that it is revoked.  So the
    broker drops it only if it keeps no result; other messages, when kombu was told to let them expire."""
    expires = time_of(headers.get("expires"))
    if expires:
        return max(int((expires - time.time()) * 1000), 1) if headers.get("ignore_result") else 0
    return max(int(properties["expiration"]), 1) if properties.get("expiration") else 0


def create_topic(client: Client, settings: Settings, queue: str, arguments: Optional[Given] = None) -> None:
    """Create the topic of a queue.  One that exists is used as it is, also if it was made with other options."""
    arguments = arguments or {}
    options: Chosen = {"type": TYPE, "layout": "keyed", "slots": SLOTS,
                               "shared": not arguments.get("x-slotmq-exclusive")}
    for name, option, least in NUMBERS:
        if arguments.get(name):
            options[option] = max(int(arguments[name]), least)
    options.update(settings.of_queue(queue, "topic"))
    if options["layout"] == "keyed":
        options.setdefault("max_body", BODY_DEFAULT)
    with contextlib.suppress(TopicDiffers):
        client.create(settings.topic_of(queue), **options)


class Answerable(Protocol):
    """What answers a message: a delivery, or nothing is left to answer."""

    @property
    def redelivered(self) -> bool: ...

    def done(self) -> None: ...

    def reject(self, reason: Optional[str] = None) -> None: ...

    def retry(self, reason: Optional[str] = None, *, delay_ms: Span = ...) -> None: ...

    def release(self, *, delay_ms: Span = ...) -> None: ...


class Raw:
    """A message as it came, with the delivery that answers it.  `cause`: why a task failed."""

    __slots__ = ("payload", "delivery", "cause")

    def __init__(self, payload: Payload, delivery: Answerable) -> None:
        self.payload = payload
        self.delivery = delivery
        self.cause: Optional[BaseException] = None


class QueueMessage(virtual.Message):
    """Of kombu, with the delivery that answers it."""

    def __init__(self, payload: Raw, channel: object = None, **kwargs: object) -> None:
        super().__init__(payload.payload, channel=channel, **kwargs)
        self._raw = payload


Make = Callable[[Raw], QueueMessage]


def received(body: bytes, delivery: Answerable, make: Make) -> Optional[QueueMessage]:
    """The message of kombu.  None: it is none, and is a dead letter now.  Other programs may have stored anything, and
    what is raised would end one worker after the other: nothing is."""
    try:
        payload = loads(body.decode())
        if isinstance(delivery, Delivery):
            _fill_tick(payload, delivery)
        message = make(_marked(payload, delivery))
        _check(message)
        return message
    except Exception:
        with contextlib.suppress(Error):  # it comes to another consumer, which does the same
            delivery.reject("it is no message of kombu")
        return None


def _marked(payload: Payload, delivery: Answerable) -> Raw:
    """With a tag of this delivery, because a message may come again while its first delivery is not answered."""
    properties, headers = payload["properties"], payload.get("headers") or {}
    properties["delivery_tag"] = str(next(_tags))
    properties["delivery_info"]["redelivered"] = delivery.redelivered
    # The broker has kept it until then.  If the clock here is behind, the worker keeps it for the rest.
    eta = time_of(headers.get("eta"))
    if eta is not None and eta <= time.time():
        headers["eta"] = None
    return Raw(payload, delivery)


def _check(message: QueueMessage) -> None:
    """What kombu takes for granted."""
    if not isinstance(message.body, (str, bytes)) or \
            not all(isinstance(value or "", str) for value in (message.content_type, message.content_encoding)):
        raise TypeError("the body, or what describes it, is no text")
