"""The scheduler of `celery beat`: it puts the entries of beat_schedule into slotmq, where workers make the ticks."""
import contextlib
import dataclasses
import logging
import numbers
from typing import Any, Dict, List, Set, Tuple

from celery import schedules
from celery.beat import BeatLazyFunc, ScheduleEntry
from celery.beat import Scheduler as AnyScheduler
from celery.exceptions import ImproperlyConfigured

from ..errors import Invalid, NoSchedule, UsageError
from ..schedules import Schedule, zone_name
from .channel import Channel
from .compat import crontab_texts
from .publishing import Payload, template_of
from .queues import Queue, TopicQueue
from .session import Session

log = logging.getLogger("slotmq.celery")
AGAIN_S = 5.0  # after no server could be reached
RELATIVE = ("countdown", "expires")
Stored = Tuple[str, str]  # a topic, and the id of a schedule in it


class Recorder(Channel):
    """Keeps what is sent in place of sending it; a fanout, also an event, reaches no queue."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.kept: List[Tuple[Queue, str, Payload]] = []

    def _put(self, queue: str, message: Payload, **_: object) -> None:
        self.kept.append((self.queue(queue), queue, message))

    def _put_fanout(self, exchange: str, message: Payload, routing_key: str, **_: object) -> None:
        pass


class Scheduler(AnyScheduler):
    """Puts the entries when it starts, and then has nothing to do: any number of them may run, and none need stay."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._is_done = False
        super().__init__(*args, **kwargs)

    @property
    def info(self) -> str:
        return "    . db -> slotmq"

    def tick(self, *_: object, **__: object) -> float:
        if not self._is_done:
            connection = self.app.connection_for_write()
            try:
                self.put()
            except connection.connection_errors as error:
                log.error("beat_schedule was not stored, which is tried again in %g s: %s", AGAIN_S, error)
                return AGAIN_S
            self._is_done = True
        return float(self.max_interval)

    def put(self) -> None:
        """Store all entries, and remove those that an earlier call for this application has stored and that have left.
        Raises ImproperlyConfigured, before anything is done: the text names the entry."""
        planned = [(entry, schedule_of(entry)) for entry in self.schedule.values()]
        with self.app.connection_for_write() as connection:
            connection.connect()
            recorder = Recorder(connection.transport)
            owner = _owner(self.app.main, recorder)
            puts = [(owner + entry.name, schedule, *kept) for entry, schedule in planned
                    for kept in self._record(recorder, owner, entry)]
            wanted: Set[Stored] = set()
            for schedule_id, schedule, queue, message in puts:
                queue.declare(None)
                change = queue.topic.schedules.put(schedule_id, dataclasses.replace(schedule, message=message))
                log.info("schedule %s in topic %s: %s", schedule_id, queue.topic.name, change)
                wanted.add((queue.topic.name, schedule_id))
            _remove_others(recorder.session, recorder.settings.prefix, owner, wanted)

    def _record(self, recorder: Recorder, owner: str, entry: ScheduleEntry) -> List[Tuple[TopicQueue, Any]]:
        """The queues to which the entry goes, each with its message."""
        options = dict(entry.options)
        task = self.app.tasks.get(entry.task)
        relative = {name: options.get(name, getattr(task, name, None)) for name in RELATIVE}
        relative = {name: float(value) for name, value in relative.items() if isinstance(value, numbers.Real)}
        options.update(dict.fromkeys(relative), task_id=owner + entry.name, retry=False,
                       producer=self.app.amqp.Producer(recorder, auto_declare=False))
        recorder.kept = []
        if task:
            task.apply_async(entry.args, entry.kwargs, **options)
        else:
            self.app.send_task(entry.task, entry.args, entry.kwargs, **options)
        found = [(queue, template_of(recorder.settings, name, message, relative)) for queue, name, message in
                 recorder.kept if isinstance(queue, TopicQueue) and "task" in message["headers"]]
        if not found:
            raise _refused(entry, "it goes to no queue of work; a fanout, and task_protocol 1, cannot be stored")
        return found


def _owner(name: object, recorder: Recorder) -> str:
    """With what the ids of the schedules of this application begin."""
    own = recorder.settings.own["beat_owner"] or name or "celery"
    if ":" in str(own):  # the ids of "shop:eu" would begin as those of "shop"
        raise ImproperlyConfigured(f'slotmq: the owner of beat_schedule "{own}" has a colon; give beat_owner without one')
    return f"{recorder.settings.prefix}{own}:"


def _remove_others(session: Session, prefix: str, owner: str, wanted: Set[Stored]) -> None:
    for name in session.client.topics():
        if not name.startswith(prefix):
            continue
        kept = session.client.topic(name).schedules
        try:
            for stored in kept.list():
                if stored.id.startswith(owner) and (name, stored.id) not in wanted:
                    with contextlib.suppress(NoSchedule):  # another beat was first
                        kept.remove(stored.id)
                        log.info("schedule %s in topic %s: removed", stored.id, name)
        except UsageError as error:  # perhaps of a topic of others; a repeat cannot help
            log.warning("topic %s may hold schedules that have left beat_schedule: %s", name, error)


def _refused(entry: ScheduleEntry, why: object) -> ImproperlyConfigured:
    return ImproperlyConfigured(f'slotmq: the entry "{entry.name}" of beat_schedule: {why}')


def schedule_of(entry: ScheduleEntry) -> Schedule:
    """When it is due.  Raises ImproperlyConfigured."""
    if any(isinstance(value, BeatLazyFunc) for value in [*(entry.args or ()), *entry.kwargs.values()]):
        raise _refused(entry, "BeatLazyFunc is called when a task is sent; compute the argument in the task")
    when = entry.schedule
    try:
        if type(when) is schedules.schedule:
            found = Schedule(every_ms=when.run_every)
        elif type(when) is schedules.crontab and when.nowfun is None:
            found = Schedule(cron_of(when), zone=zone_name(when.tz))
        else:
            raise ValueError(f"{type(when).__name__} computes its times in beat, and slotmq keeps only intervals, and "
                             "crontab without nowfun; leave it to a beat with another scheduler")
        found.next()
    except (Invalid, ValueError) as error:
        raise _refused(entry, error) from error
    return found


def cron_of(when: schedules.crontab) -> str:
    """In Celery both the day of month and the day of week must fit; in cron one is enough, unless one of the fields
    begins with "*".  So the smallest number of one is written as a step that has no other."""
    texts: Dict[str, str] = crontab_texts(when)
    day, weekday = texts["day_of_month"], texts["day_of_week"]
    if not day.startswith("*") and not weekday.startswith("*"):
        if 1 in when.day_of_month:
            day = f"*/31,{day}"
        elif 0 in when.day_of_week:
            weekday = f"*/7,{weekday}"
        else:
            raise ValueError("day_of_month and day_of_week together are taken only if the 1st or Sunday is among them; "
                             "ask for one of them in the task")
    return " ".join([texts["minute"], texts["hour"], day, texts["month_of_year"], weekday])
