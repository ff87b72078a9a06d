"""What is sent, and what is read: plain data."""
import dataclasses
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar

from ._native import ffi, lib
from .calls import (Bytes, Moment, Span, data_of, decoded, headers_array, moment_ms, number_in, put_bytes, sized,
                    span_ms, wait_for)
from .errors import Error

T = TypeVar("T")

#: An option or field is off, where that is not its default.
NONE: int = lib.SMQ_NONE
#: The delay of a send: that of the topic.
TOPIC_DELAY: int = lib.SMQ_TOPIC_DELAY
#: The delay of a retry: the back-off of the topic.
BACKOFF: int = lib.SMQ_BACKOFF


@dataclasses.dataclass(frozen=True)
class Message:
    """A message to send.  Texts are encoded as UTF-8.  `delay_ms` and `ttl_ms` are milliseconds or a timedelta,
    `due_at_ms` is milliseconds since 1970 or a datetime with its time zone.

    `body`: 1 byte to 64 KiB in layout inline, else up to max_body of the topic.  `key`: 1 to 1,024 bytes; messages
    of one key are handled one at a time.  `id`: 1 to 1,024 bytes, by default the library makes one.  `priority`:
    larger is more urgent, in topics of type priority.  `delay_ms` or `due_at_ms`: when it is due.  `ttl_ms`: it
    expires so long after the send; NONE: never.  `max_retries`: 1 to 63; NONE: it is delivered once.  `headers`: at
    most 64, with 8 KiB in all.
    """

    body: Bytes = b""
    key: Optional[Bytes] = None
    id: Optional[Bytes] = None
    priority: int = 0
    delay_ms: Span = 0
    due_at_ms: Moment = 0
    ttl_ms: Span = 0
    max_retries: int = 0
    headers: Mapping[str, Bytes] = dataclasses.field(default_factory=dict)

    def _fill(self, struct: Any) -> List[Any]:
        """Fill an smq_message.  What is returned must live as long as the struct is used."""
        struct.struct_size = MESSAGE_SIZE
        for name, converted in NUMBERS.items():
            value = getattr(self, name)
            if value is not None and value != 0:
                put_number(struct, name, converted(value, name))
        keep = [put_bytes(struct.body, self.body, "the body"), put_bytes(struct.key, self.key, "key"),
                put_bytes(struct.id, self.id, "id")]
        if self.headers is not None and self.headers != {}:
            array, more = headers_array(self.headers)
            struct.headers, struct.header_count = array, len(array)
            keep += [array, more]
        return keep


MESSAGE_SIZE: int = ffi.sizeof("smq_message")
NUMBERS: Dict[str, Callable[[Any, str], int]] = {
    "priority": number_in, "delay_ms": span_ms, "due_at_ms": moment_ms, "ttl_ms": span_ms, "max_retries": number_in}


def put_number(struct: Any, name: str, value: int) -> None:
    try:
        setattr(struct, name, value)
    except OverflowError:
        raise ValueError(f"{name} is out of range: {value}") from None


def message_struct(message: Message) -> Tuple[Any, List[Any]]:
    """(an smq_message, what must live as long)."""
    struct = ffi.new("smq_message *")
    return struct, message._fill(struct)


class Receipt(NamedTuple):
    """The result of a send: `id` is the one that the library made, or b""; `merged`: the send merged with a message
    that was waiting.  `error` is None, or of a send in a batch why it failed."""

    slot: int
    merged: bool
    id: bytes
    error: Optional[Error] = None


class Try(NamedTuple):
    """How a try of a message ended: `how` is "retried", "rejected", "lost" (its consumer died or lost the slot) or
    "timed_out"; `at_ms` is 0 if that is not known."""

    how: str
    at_ms: int
    reason: str


@dataclasses.dataclass(frozen=True)
class StoredMessage:
    """A message that Redis holds.  A field without a value is 0, "" or b""; `state` is "waiting", "claimed",
    "resting" or "dead".  Times are milliseconds since 1970 by the clock of the Redis node.  `attempt` is the number
    of the last delivery, 0: none yet.  `redelivered`: an earlier delivery was retried, or ended without an answer.
    `reason`: why it failed last.  `tries`: the last five that ended, the newest first.  `claimed_at_ms` and
    `claimed_by`, since when and at which process it is in work: where known, as smq_message_info of slotmq/message.h
    says.  `whole`: in a topic of format 5 it is one entry of a sorted set."""

    topic: str
    slot: int
    state: str
    body: bytes
    key: bytes
    id: bytes
    priority: int
    due_at_ms: int
    sent_at_ms: int
    expires_at_ms: int
    lease_at_ms: int
    dead_at_ms: int
    attempt: int
    retries_left: int
    redelivered: bool
    token: str
    reason: str
    cursor: str
    headers: Dict[str, bytes]
    tries: Tuple[Try, ...]
    claimed_at_ms: int
    claimed_by: str
    whole: bool


def headers_of(info: Any) -> Dict[str, bytes]:
    return {decoded(info.headers[i].name): data_of(info.headers[i].value) for i in range(info.header_count)}


def stored_message(info: Any) -> StoredMessage:
    """Of an smq_message_info."""
    values = plain(StoredMessage, info, without=("state", "headers", "tries"))
    tries = tuple(Try(decoded(lib.smq_try_how_name(one.how)), one.at_ms, decoded(one.reason))
                  for one in (info.tries[i] for i in range(info.try_count)))
    return StoredMessage(state=decoded(lib.smq_state_name(info.state)), headers=headers_of(info), tries=tries,
                         **values)


@dataclasses.dataclass(frozen=True)
class Stats:
    """How many messages a topic holds, and what the whole fleet has done with it: smq_stats of slotmq/admin.h says
    what each number is.  `oldest_due_age_ms`, the lag, is -1 if it is not known."""

    waiting: int
    due: int
    claimed: int
    resting: int
    dead: int
    oldest_due_age_ms: int
    next_due_at_ms: int
    sent: int
    merged: int
    done: int
    retried: int
    rejected: int
    expired: int
    released: int
    lease_lost: int
    slots_paused: int
    slots_damaged: int
    slots_silent: int
    dead_rejected: int
    dead_failed: int
    dead_crashed: int
    dead_timed_out: int
    dead_expired: int
    dead_bodiless: int
    duplicates: int
    stalled: int
    stalled_age_ms: int
    oldest_claim_age_ms: int
    tick_late_ms: int


@dataclasses.dataclass(frozen=True)
class Metrics:
    """What this process has done by all objects of one client: smq_metrics of slotmq/metrics.h says what each number
    is.  Bucket i of `handling_ms` ends at 2^i ms, the last one at infinity."""

    sent: int
    merged: int
    send_failures: int
    send_duplicates: int
    claimed: int
    done: int
    retried: int
    rejected: int
    released: int
    dead: int
    expired: int
    lease_lost: int
    fenced: int
    redirects: int
    reconnects: int
    events_dropped: int
    slots_gained: int
    slots_lost: int
    slots_not_released: int
    slots_unreplicated: int
    send_pending: int
    in_flight: int
    slots_owned: int
    redis_unreachable: int
    handling_ms_sum: int
    handling_count: int
    handling_ms: Tuple[int, ...]
    wait_send_us: int
    wait_request_us: int
    wait_slot_us: int
    wait_pace_us: int
    wait_room_us: int
    wait_claim_us: int
    wait_handler_us: int
    ticks: int
    ticks_late_ms: int


@dataclasses.dataclass(frozen=True)
class Health:
    """The health of this process: smq_health of slotmq/health.h says what each field is.  `wrong` is the worst of
    what is wrong in one line, "" if nothing is, and `status` is then 0."""

    status: int
    wrong: str
    redis_nodes: int
    redis_nodes_failed: int
    session: int
    consumers: int
    slots_wanted: int
    slots_owned: int
    slots_paused: int
    slots_damaged: int
    oldest_claim_ms: int
    slots_waiting: int
    waiting: str
    consumers_slotless: int
    consumers_standby: int
    slotless: str


@dataclasses.dataclass(frozen=True)
class TopicReport:
    """What the creation of a topic found and did; `text` has all of it in one line, or "".  `differs`: the topic
    exists, and options that may be altered have other values, which were not changed."""

    created: bool
    differs: bool
    repaired: bool
    restored: bool
    lost_alteration: bool
    slots_reopened: int
    adopted: int
    text: str


def plain_value(value: Any) -> Any:
    """Of a field of C: a number, a bool, a text, bytes or an array of numbers."""
    if not isinstance(value, ffi.CData):
        return value
    kind = ffi.typeof(value)
    if kind.kind == "struct":
        return data_of(value)
    if kind.item.cname == "char":
        return decoded(value)
    return tuple(value)


def plain(record: Type[Any], struct: Any, without: Tuple[str, ...] = ()) -> Dict[str, Any]:
    """The fields of a dataclass, from those of the same names in a struct."""
    return {field.name: plain_value(getattr(struct, field.name)) for field in dataclasses.fields(record)
            if field.name not in without}


def read(record: Type[T], kind: str, function: Any, *arguments: Any, keep: Any = None) -> T:
    """Call a function that fills a struct, and make a dataclass of it."""
    out = sized(kind)
    wait_for(function, *arguments, out, keep=keep)
    return record(**plain(record, out))
