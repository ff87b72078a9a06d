"""Judge the ticks of schedules: each is stored once, none is lost, none early, and none late."""
import collections
import dataclasses

MS = 1_000_000
TOPIC = "ticks"
OPTIONS = ["--slots", "8", "--dedup-window", "1h"]
SLOTS = 8
LATE_MS = 30_000  # how late a tick may be, as a slot has an owner again by then
SLACK_MS = 5000   # from the end of a failover until what it has lost is stored again
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
    be."""

    def __init__(self, history, lossy, away_ms, add):
        self.history, self.lossy, self.add = history, lossy, add
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
        if stored[0] < due_ms or any(self._ms(tick.at_ns) < due_ms for tick in found):
            self.add("no tick is early", f"{first.id} stored at {stored[0]}")
        late = stored[0] - due_ms
        self.latest_ms = max(self.latest_ms, late)
        if late > self.late_ms:
            self.add("no tick is late", f"{first.id} by {late} ms")

    def _lost(self, sent_ms):
        """Until when a failover may have lost what was stored then."""
        return max((end for begin, end in self.lossy if begin <= self._ns(sent_ms) <= end),
                   default=0)

    def _judge_all(self, schedule, every_ms, dues, removed_ms):
        """A tick that follows too late, or never, was lost; those that were missed by then do not
        count, unless the owner had looked before."""
        ticks = self.by_schedule.get(schedule, {})
        for due_ms, after_ms in zip(dues, [*dues[1:], None]):
            stored = {tick.sent_ms for tick in ticks[due_ms]}
            stored |= {self._ms(end) + SLACK_MS for end in map(self._lost, stored) if end}
            most = following(due_ms, every_ms, max(stored))
            if after_ms is None and removed_ms is not None and \
                    most + self.late_ms < removed_ms or after_ms is not None and after_ms > most:
                self.add("no tick is lost", f"{schedule}@{most}, after {due_ms}, before {after_ms}")
        if not dues:
            self.add("no tick is lost", f"{schedule} had none")
