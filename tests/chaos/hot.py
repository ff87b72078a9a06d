"""Judge that a hot key holds up no other: while messages of it are handled, due messages of other
keys of its slot begin, where the worker handles in order of keys.
"""
import bisect
import collections
import itertools

TOPIC, KEY = "jobs", "hot"  # load.c
MS = 1_000_000
# For how long messages of the hot key may be handled while another one is due.
HELD_UP_MS = 3000
# So many messages of other keys may wait: with more, the threads of a worker are busy for long.
MOST = 900
MANY = 50  # of the hot key in front: the message counts as one that came past it


class Busy:
    """When an owner handled messages of the hot key, in the order of time."""

    def __init__(self, runs):
        self.begins = [run.begin_ns for run in runs]
        self.ends = [run.begin_ns if run.end_ns is None else run.end_ns for run in runs]
        self.sums = [0, *itertools.accumulate(end - begin for begin, end
                                              in zip(self.begins, self.ends))]

    def between(self, begin_ns, end_ns):
        """How long, of this time; they come one after another."""
        first, last = (bisect.bisect_left(self.begins, at_ns) for at_ns in (begin_ns, end_ns))
        cut = max(0, self.ends[last - 1] - end_ns) if last > first else 0
        return self.sums[last] - self.sums[first] - cut


class Waiting:
    """How many of some sends were stored, and had not begun yet."""

    def __init__(self, sends, firsts):
        self.stored = sorted(send.outcome_ns for send in sends)
        self.begun = sorted(firsts[send.body].begin_ns for send in sends if send.body in firsts)

    def at(self, at_ns):
        return bisect.bisect(self.stored, at_ns) - bisect.bisect(self.begun, at_ns)


class Hot:
    """`add(text)` is called with each violation; what `is_off(run, from_ns)` is not judged, because
    a clock stepped between that time and the begin of the call.

    A suspect is claimed alone, when nothing else of its slot is in flight, and no message passes
    it.  So messages of any key in front of it hold up both.  One that was due when its owner took
    the slot over, and is alone in its claim, may be a suspect: until it has begun nothing is
    judged."""

    def __init__(self, history, add, is_off=lambda run, from_ns: False):
        self.history, self.add, self.is_off = history, add, is_off
        firsts, busy = {}, collections.defaultdict(list)
        claims, self.since = collections.Counter(), {}
        for run in history.runs:
            if run.topic == TOPIC:
                firsts.setdefault(run.body, run)
                claims[run.slot, run.token, run.claim] += 1
                self.since.setdefault((run.slot, run.token), run.begin_ns)
                if run.key == KEY:
                    busy[run.slot, run.token].append(run)
        self.busy = {name: Busy(runs) for name, runs in busy.items()}
        self.suspects_until = {
            (run.slot, run.token): run.begin_ns for run in firsts.values()
            if claims[run.slot, run.token, run.claim] == 1
            and self.due_ns(run) < self.since[run.slot, run.token]}
        self.others = [run for run in firsts.values() if run.key != KEY]
        sends = [send for send in history.sends.values()
                 if send.topic == TOPIC and send.outcome == "stored"]
        self.rest = Waiting([send for send in sends if send.key != KEY], firsts)
        self.hot = Waiting([send for send in sends if send.key == KEY], firsts)

    def due_ns(self, run):
        send = self.history.sends[TOPIC, run.body]
        return max(send.outcome_ns or send.at_ns, send.due_ms * MS -
                   self.history.run["wall_minus_monotonic_ns"])

    def judge(self):
        """How many messages came past many of the hot key."""
        past = 0
        for run in self.others:
            send, busy = self.history.sends[TOPIC, run.body], self.busy.get((run.slot, run.token))
            if busy is None or send.outcome != "stored":
                continue
            due_ns = self.due_ns(run)
            if self.rest.at(due_ns) > MOST or self.is_off(run, due_ns):
                continue
            past += self.hot.at(due_ns) >= MANY and self.hot.at(run.begin_ns) >= MANY
            from_ns = max(due_ns, self.suspects_until.get((run.slot, run.token), 0))
            held_ms = busy.between(from_ns, max(from_ns, run.begin_ns)) // MS
            if held_ms > HELD_UP_MS:
                self.add(f"{run.body} was due, and in front of it messages of the hot key were "
                         f"handled for {held_ms} ms")
        return past
