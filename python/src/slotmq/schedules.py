"""Schedules of a topic: messages that are stored at times which repeat."""
import dataclasses
import datetime
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from ._native import ffi, lib
from .calls import (Moment, Span, call, data_of, decoded, moment_ms, number_in, sized, span_ms, text_of, visited,
                    wait_for)
from .errors import NoSchedule
from .records import Message, headers_of, message_struct, plain, put_number

if TYPE_CHECKING:
    from .client import Client

# A time zone: its name as "Europe/Berlin", or a zoneinfo.ZoneInfo.
Zone = Union[str, datetime.tzinfo]
MISSED: Dict[str, int] = {decoded(lib.smq_missed_name(value)): value
                          for value in (lib.SMQ_MISSED_ONE, lib.SMQ_MISSED_NONE)}
NUMBERS: Dict[str, Callable[[Any, str], int]] = {
    "every_ms": span_ms, "start_at_ms": moment_ms, "end_at_ms": moment_ms, "limit": number_in}


def zone_name(zone: Zone) -> str:
    """The name by which a zone is stored."""
    if isinstance(zone, str):
        return zone
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name is None and zone == datetime.timezone.utc:
        name = "UTC"
    if not isinstance(name, str):
        raise ValueError(f'zone has no name: {zone!r:.100}; it is a text as "Europe/Berlin", or a zoneinfo.ZoneInfo')
    return name


@dataclasses.dataclass(frozen=True)
class Schedule:
    """When a message is stored, and which.  It has either `cron`, in a `zone`, by default UTC, or `every_ms`, which is
    milliseconds or a timedelta.  `start_at_ms` and `end_at_ms` are milliseconds since 1970 or a datetime with its time
    zone; 0: none.

    `cron`: 5 fields, or 6 with the second in front, or "@daily" and the like; see docs/schedules.md.  `every_ms`: at
    least 100, counted from `start_at_ms`, or from 1970.  `limit`: how many ticks there are; 0: no limit.  `missed`:
    "one" message for all ticks that were missed, or "none".  `message` has no id and no time; in a topic of layout
    keyed a tick has the id ID@DUE, of the schedule and the milliseconds since 1970 at which it was due.
    """

    cron: Optional[str] = None
    every_ms: Span = 0
    zone: Optional[Zone] = None
    start_at_ms: Moment = 0
    end_at_ms: Moment = 0
    limit: int = 0
    missed: str = "one"
    message: Message = Message()

    def next(self, count: int = 1, after: Optional[datetime.datetime] = None) -> List[datetime.datetime]:
        """The first `count` times after `after`, by default now, at which it is due, in UTC.  This asks no server."""
        struct, keep = self._struct()
        times, found = ffi.new("int64_t[]", number_in(count, "count")), ffi.new("size_t *")
        after_ms = int(time.time() * 1000) if after is None else moment_ms(after, "after")
        call(lib.smq_schedule_next, struct, after_ms, times, len(times), found)
        del keep
        return [datetime.datetime.fromtimestamp(times[i] / 1000, datetime.timezone.utc) for i in range(found[0])]

    def _struct(self) -> Tuple[Any, Any]:
        """(an smq_schedule, what must live as long)."""
        struct, keep = sized("smq_schedule"), message_struct(self.message)
        struct.message = keep[0]
        zone = None if self.zone is None else zone_name(self.zone)
        texts = []
        for name, text in (("cron", self.cron), ("zone", zone)):
            if text is not None:
                texts.append(ffi.new("char[]", text_of(text, name)))
                setattr(struct, name, texts[-1])
        for name, converted in NUMBERS.items():
            put_number(struct, name, converted(getattr(self, name), name))
        if self.missed not in MISSED:
            raise ValueError(f'missed is "{self.missed}"; it may be {" or ".join(MISSED)}')
        struct.missed = MISSED[self.missed]
        return struct, (keep, texts)


@dataclasses.dataclass(frozen=True)
class StoredSchedule:
    """A schedule that Redis holds; of a topic with groups each group has its own, and `topic` is TOPIC/GROUP.

    `version` grows with each change, `ticks` counts those since its times were changed.  `next_at_ms` 0: it has ended;
    `last_at_ms` 0: it had no tick.  `note`: that of the pause."""

    topic: str
    id: str
    schedule: Schedule
    version: int
    next_at_ms: int
    last_at_ms: int
    ticks: int
    paused: bool
    note: str
    slot: int


def _message(struct: Any) -> Message:
    return Message(body=data_of(struct.body), key=data_of(struct.key) or None, priority=struct.priority,
                   ttl_ms=struct.ttl_ms, max_retries=struct.max_retries, headers=headers_of(struct))


def _stored(info: Any) -> StoredSchedule:
    """Of an smq_schedule_info."""
    struct = info.schedule
    schedule = Schedule(message=_message(struct.message) if struct.message else Message(),
                        cron=decoded(struct.cron) or None, zone=decoded(struct.zone) or None,
                        missed=decoded(lib.smq_missed_name(struct.missed)),
                        **plain(Schedule, struct, without=("message", "cron", "zone", "missed")))
    return StoredSchedule(schedule=schedule, **plain(StoredSchedule, info, without=("schedule",)))


class Schedules:
    """Those of a topic: Topic.schedules.  Each call blocks for request_timeout_ms for each round trip, and raises
    NoTopic if the topic does not exist, and NoSchedule if it has none of this id."""

    def __init__(self, client: "Client", topic: str) -> None:
        self._client, self._topic = client, text_of(topic, "the name of a topic")

    def put(self, id: str, schedule: Schedule) -> str:
        """Store a schedule, and return "made", "same" (an equal one was stored: nothing was changed), "changed" (its
        message was; it is due when it was) or "restarted" (its times were, and count from now).  So a program may
        put its schedules whenever it starts.  The consumers of the topic make the ticks.  Raises UsageError: INVALID,
        WRONG_TYPE, TOO_BIG; RetryError: FULL."""
        struct, keep = schedule._struct()
        change = ffi.new("smq_schedule_change *")
        self._call(lib.smq_schedule_put, id, struct, change, keep=keep)
        return decoded(lib.smq_schedule_change_name(change[0]))

    def get(self, id: str) -> StoredSchedule:
        """In a topic with groups that of the first; name TOPIC/GROUP to read another."""
        out = ffi.new("smq_schedule_info **")
        self._call(lib.smq_schedule_get, id, out)
        try:
            return _stored(out[0])
        finally:
            lib.smq_schedule_info_free(out[0])

    def exists(self, id: str) -> bool:
        try:
            self._call(lib.smq_schedule_get, id, ffi.NULL)
        except NoSchedule:
            return False
        return True

    def list(self) -> List[StoredSchedule]:
        """All of them, by groups and ids, without their messages, which get() reads."""
        return visited(lib.smq_schedule_each, lib.slotmq_visit_schedule, _stored, self._client, self._topic)

    def remove(self, id: str) -> None:
        """Messages of its ticks stay."""
        self._call(lib.smq_schedule_remove, id)

    def pause(self, id: str, note: str = "") -> None:
        """It makes no ticks until resume(); `note` says to people why.  What it missed is due at once then, or not at
        all (`missed`)."""
        self._call(lib.smq_schedule_pause, id, text_of(note, "note"))

    def resume(self, id: str) -> None:
        self._call(lib.smq_schedule_resume, id)

    def run(self, id: str, at_ms: int = 0) -> int:
        """Store its message now, also while it is paused; its next tick stays.  Returns the time in the id of the
        message; to repeat a call that failed with the same `at_ms` stores nothing twice.  Raises RetryError: FULL."""
        at = ffi.new("int64_t *", at_ms)
        self._call(lib.smq_schedule_run, id, at)
        return int(at[0])

    def _call(self, function: Any, id: str, *arguments: Any, keep: Any = None) -> None:
        wait_for(function, self._client, self._topic, text_of(id, "id"), *arguments, keep=keep)
