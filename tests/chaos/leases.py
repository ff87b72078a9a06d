"""Judge shared topics: a claim ends by an answer that names it, or when its lease ends, and until
then its message does not begin again.
"""
import bisect
import collections

from history import CLAIMED

MS = 1_000_000
LEASE_MS = 3000  # of shared topics
SLACK_MS = 5     # between the clock of a script and the time that MONITOR writes
KEY = "prepare{"  # with what the names of the keys that hold claims begin


class Leases:
    """What the nodes executed, one node after another.  `add(invariant, text)` is called with each
    violation."""

    def __init__(self, history, add):
        self.history, self.add = history, add
        self.held = {}  # of the node: key of Redis -> {entry of a claim: the end of its lease}
        # By tag: (number, time) of the claims whose lease ended without an answer.
        self.lapsed = collections.defaultdict(list)
        self.gaps = []  # when something happened that the log of a node does not show
        self.again = 0  # messages that began again although the call before had not failed

    def is_shared(self, tag):
        return tag is not None and tag.rpartition("_")[0] in self.history.shared

    # --- what the nodes executed --------------------------------------------------------------

    def begin_node(self):
        self.held = {}

    def lose_sight(self, broken):
        """From here on it is not known what the node holds."""
        self.held = {}
        if broken.line > 1:
            bisect.insort(self.gaps, broken.at_ns)

    def change(self, change):
        """A command changed the data of the node without a call."""
        if change.command[0] == "RESTORE" and change.command[1].startswith(KEY):
            bisect.insort(self.gaps, change.at_ns)
        self._note(change.command)

    def call(self, call):
        """A script did something to a slot of a shared topic."""
        now_ms = (call.at_ns + call.ahead_ns + self.history.run["wall_minus_monotonic_ns"]) / MS
        writes = call.writes()
        made = {entry for command in writes if command[0] == "ZADD" for entry in command[3::2]}
        for command in writes:
            for entry, lease_ms in self._note(command):
                if entry in made or entry in call.named:
                    continue
                self.lapsed[call.tag].append((int(CLAIMED.match(entry)[2]), call.at_ns))
                if lease_ms > now_ms + SLACK_MS:
                    self.add("a claim of a shared topic lasts until its answer or the end of its "
                             "lease", f"{call.node} line {call.line}, {call.tag}: {entry} was lost "
                             f"{lease_ms - now_ms:.0f} ms before its lease ended")

    def _note(self, command):
        """The claims that a command removed, each with the end of its lease."""
        name, key, *words = command
        if name in ("DEL", "UNLINK", "RESTORE"):
            for deleted in [key, *words]:
                self.held.pop(deleted, None)
        if name not in ("ZADD", "ZREM") or not key.startswith(KEY) \
                or not self.is_shared(key[len(KEY):-1]):
            return []
        held = self.held.setdefault(key, {})
        if name == "ZREM":
            return [(entry, held.pop(entry)) for entry in words if entry in held]
        known = words[0] == "XX"
        words = words[1:] if words[0] in ("XX", "NX") else words
        held.update((entry, float(score)) for score, entry in zip(words[::2], words[1::2])
                    if CLAIMED.match(entry) and (entry in held or not known))
        return []

    # --- what the handlers did ----------------------------------------------------------------

    def has_lapsed(self, before, run):
        """Did the older claim of two calls for a message end without an answer?"""
        first = min(before.claim, run.claim)
        return before.claim != run.claim and any(
            number == first for number, _ in self.lapsed[f"{run.topic}_{run.slot}"])

    def lapses(self, before, run):
        """How many claims of the slot ended so, from one call to another."""
        return sum(before.begin_ns <= at_ns <= run.begin_ns
                   for _, at_ns in self.lapsed[f"{run.topic}_{run.slot}"])

    def may_have_missed(self, before, run):
        """May a claim have ended without being seen?"""
        return bisect.bisect_left(self.gaps, before.begin_ns - LEASE_MS * MS) < \
            bisect.bisect(self.gaps, run.begin_ns)

    def begin_judging(self, add):
        """Once more, of other calls of handlers."""
        self.add, self.again = add, 0

    def judge(self, by_message, is_excused):
        """`is_excused(before, run)`: may Redis have forgotten the claim, or have it twice?"""
        for (topic, body), runs in by_message.items():
            for before, run in zip(runs, runs[1:]) if topic in self.history.shared else ():
                if before.verdict == "retry" and before.end_ns < run.begin_ns:
                    continue
                self.again += 1
                if not self.has_lapsed(before, run) and not is_excused(before, run) \
                        and not self.may_have_missed(before, run):
                    self.add("a message of a shared topic begins again when its claim has ended",
                             f"{topic} {body}: claim {run.claim} at {run.worker}, "
                             f"{(run.begin_ns - before.begin_ns) // MS} ms after claim "
                             f"{before.claim} at {before.worker}")
