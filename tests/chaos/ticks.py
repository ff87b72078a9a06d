"""Judge the ticks of schedules: each is stored once, none is lost, none early, and none late."""
import collections
import dataclasses

MS = 1_000_000
TOPIC = "ticks"
OPTIONS = ["--slots", "8", "--dedup-window", "1h"]
SLOTS = 8
LATE_MS = 30_000  # how late a tick may be, as a slot has an owner again by then
SCHEDULES = {f"s{every}": every for every in range(400, 1600, 100)}  # by id: every so many ms


@dataclasses.dataclass
class Tick:
    """A handler that began with the message of a tick.  `sent_ms`: when Redis has stored it."""
    worker: str
    at_ns: int
    slot: int
    attempt: int
    sent_ms: int
    id: str

    @property
    def schedule(self):
        return self.id.rpartition("@")[0]

    @property
    def due_ms(self):
        return int(self.id.rpartition("@")[2])


def following(due_ms, every_ms, at_ms):
    """When a schedule is due next whose tick was made at that time."""
    return max(due_ms, at_ms // every_ms * every_ms) + every_ms


class Ticks:
    """`lossy`: in which intervals, in ns, writes may be lost.  `away_ms`: how much later ticks may
    be.  `is_off(slot, begin_ns, end_ns)`: the clock of Redis stepped there, so a tick that was
    stored before its time, or after it by the step, is right."""

    def __init__(self, history, lossy, away_ms, is_off, add):
        self.history, self.lossy, self.is_off, self.add = history, lossy, is_off, add
        self.late_ms = LATE_MS + away_ms
        self.wall_ns = history.run["wall_minus_monotonic_ns"]
        self.stored_again = self.latest_ms = 0
        self.by_schedule = collections.defaultdict(dict)  # id -> due -> ticks
        for tick in history.ticks:
            self.by_schedule[tick.schedule].setdefault(tick.due_ms, []).append(tick)

    def judge(self):
        """How many ticks there were."""
        removed_ms = next((self._ms(note.at_ns) for note in self.history.notes
                           if note.what == "schedules-end"), None)
        for schedule, every_ms in self.history.run.get("schedules", {}).items():
            ticks = self.by_schedule.get(schedule, {})
            for due_ms, found in sorted(ticks.items()):
                self._judge_one(due_ms, found)
            self._judge_all(schedule, every_ms, sorted(ticks), removed_ms)
        return sum(map(len, self.by_schedule.values()))

    def _ms(self, at_ns):
        return (at_ns + self.wall_ns) // MS

    def _ns(self, at_ms):
        return at_ms * MS - self.wall_ns

    def _judge_one(self, due_ms, found):
        stored = sorted({tick.sent_ms for tick in found})
        first = found[0]
        if len(stored) > 1:
            if all(self._lost(sent_ms) for sent_ms in stored[:-1]):
                self.stored_again += 1
            else:
                self.add("each tick is stored once", f"{first.id} at {stored}")
        if stored[0] < due_ms or any(
                self._ms(tick.at_ns) < due_ms and
                not self.is_off(tick.slot, tick.at_ns, self._ns(due_ms)) for tick in found):
            self.add("no tick is early", f"{first.id} stored at {stored[0]}")
        late = stored[0] - due_ms
        self.latest_ms = max(self.latest_ms, late)
        if late > self.late_ms and not self.is_off(first.slot, first.at_ns):
            self.add("no tick is late", f"{first.id} by {late} ms")

    def _lost(self, sent_ms):
        """May a failover have lost what was stored then?"""
        return any(begin <= self._ns(sent_ms) <= end for begin, end in self.lossy)

    def _judge_all(self, schedule, every_ms, dues, removed_ms):
        """A tick that follows too late, or never, was lost; those that were missed by then do not
        count, unless the owner had looked before.  Where a failover undid ticks, an earlier one was
        stored again, and those that were missed until then do not count, either."""
        ticks = self.by_schedule.get(schedule, {})
        newest_ms = 0
        for due_ms, after_ms in zip(dues, [*dues[1:], None]):
            sent_ms = max(tick.sent_ms for tick in ticks[due_ms])
            newest_ms = max(newest_ms, sent_ms)
            at_ms = newest_ms if self._lost(sent_ms) else sent_ms
            most = following(due_ms, every_ms, at_ms)
            if after_ms is None and removed_ms is not None and \
                    most + self.late_ms < removed_ms or after_ms is not None and after_ms > most:
                self.add("no tick is lost", f"{schedule}@{most}, after {due_ms}, before {after_ms}")
        if not dues:
            self.add("no tick is lost", f"{schedule} had none")
