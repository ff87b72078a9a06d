"""Judge what the Redis nodes executed: tokens only grow, the stored one alone writes, and a push is
the next claim of an owner that sleeps.

It also knows which node stored which takeover, confirmed which owner and gave out which claim, from
which it follows what a failover has lost.
"""
import array
import bisect
import collections
import re

from history import Broken, Change
from leases import Leases

OPEN = re.compile(r"\d+/\d+")     # what a slot says into which sends may push


class Life:
    """A node as long as its log shows all that changes its data."""
    end_ns = float("inf")


def read(history, *judges, nodes=None):
    """Let each of the judges see what each node executed, or these alone, in one pass over the
    logs."""
    for node in nodes or history.nodes():
        for judge in judges:
            judge.begin_node()
        for step in history.executed(node):
            for judge in judges:
                judge.take(step)


class Executed:
    """`add(invariant, text)` is called with each violation."""

    def __init__(self, history, add):
        self.history, self.add = history, add
        self.calls = self.pushes = 0
        self.life, self.slots = None, None  # of the node that is read
        self.leases = Leases(history, add)
        self.claimed = collections.defaultdict(set)  # (tag, token, number) -> lives
        self.stored = collections.defaultdict(list)  # (tag, token) -> lives, each with the time
        # (tag, token) -> life -> the times of the calls that it accepted from this owner
        self.accepted = collections.defaultdict(lambda: collections.defaultdict(self._times))

    @staticmethod
    def _times():
        return array.array("q")

    def begin_node(self):
        self.life = Life()
        self.leases.begin_node()
        self.slots = collections.defaultdict(dict)  # by tag: what is known of the slot's hash

    def take(self, step):
        """The next step of the node."""
        if isinstance(step, Broken):
            self.slots.clear()
            self.leases.lose_sight(step)
            self.life.end_ns = step.at_ns
            self.life = Life()
        elif isinstance(step, Change):
            self._note_slot(self.slots, step.command)
            self.leases.change(step)
        elif self.leases.is_shared(step.tag):
            self.calls += 1
            self.leases.call(step)
        elif step.tag is not None:
            self.calls += 1
            self.pushes += self._check_push(self.slots[step.tag], step)
            self._note_call(self.life, self.slots[step.tag], step)
            self._check_call(self.slots, step)

    def is_given_again(self, topic, slot, token, number):
        """Did two nodes give out this claim?  Then a failover has lost one of them."""
        return len(self.claimed[f"{topic}_{slot}", token, number]) > 1

    def is_lost(self, gain, token, begin_ns, age_ns):
        """Did a failover lose the takeover `gain` for the owner with the older `token`?

        Then a node accepted a call of this owner after the takeover, at most `age_ns` before
        `begin_ns`; and it is not one that others had replaced, because the node that had stored the
        takeover was gone first."""
        tag = f"{gain.topic}_{gain.slot}"
        gone = [life.end_ns for life, at_ns in self.stored.get((tag, gain.token), ())
                if at_ns <= gain.at_ns]
        for life, times in self.accepted.get((tag, token), {}).items():
            last_ns = times[:bisect.bisect_right(times, begin_ns)][-1:]
            if gone and last_ns and last_ns[0] > max(gain.at_ns, begin_ns - age_ns) \
                    and max(gone) < life.end_ns:
                return True
        return False

    def _note_call(self, life, known, call):
        token = call.token or known.get("token") or (call.published() or [""])[-1].split(" ")[0]
        for _, number, _ in call.claims():
            self.claimed[call.tag, token, number].add(life)
        if call.takes_over:
            if self._stores(call):
                self.stored[call.tag, token].append((life, call.at_ns))
        elif call.token is not None and known.get("token", token) == token \
                and ("token" in known or call.writes()):
            self.accepted[call.tag, token][life].append(call.at_ns)

    @staticmethod
    def _stores(call):
        """Does it store its token?  It does not where that is stored already."""
        return any(command[0] == "HSET" and ("token", call.token) in
                   zip(command[2::2], command[3::2]) for command in call.writes())

    @staticmethod
    def _note_slot(slots, command):
        name, key, *words = command
        if name == "HSET" and key.startswith("slot{"):
            slots[key[len("slot{"):-1]].update(zip(words[::2], words[1::2]))
        elif name == "HDEL" and key.startswith("slot{"):
            slots[key[len("slot{"):-1]].update(dict.fromkeys(words, ""))
        elif name in ("DEL", "UNLINK"):
            for deleted in [key, *words]:
                slots.pop(deleted[len("slot{"):-1], None)

    def _check_call(self, slots, call):
        known, writes = slots[call.tag].get("token"), call.writes()
        where = f"{call.node} line {call.line}, {call.tag}: "
        if call.token is not None and writes and known is not None and not call.takes_over \
                and call.token != known:
            self.add("no write under an old token", where + f"{call.token}, not {known}")
        for command in writes:
            self._note_slot(slots, command)
        now = slots[call.tag].get("token")
        if known is not None and now is not None and now < known:
            self.add("tokens only grow", where + f"{now} after {known}")

    def _check_push(self, known, call):
        """A call without a token claims only for the owner, who sleeps, and tells it so."""
        claims = call.claims() if call.token is None else []
        if not claims:
            return 0
        where = f"{call.node} line {call.line}, {call.tag}: "
        place, number, name = claims[0]
        token, _, told = (call.published() or [""])[-1].partition(" ")
        if known.get("token", token) != token:
            self.add("no write under an old token",
                     where + f"pushed with {token}, not {known['token']}")
        if len(claims) > 1 or not told.partition("\\n")[2].startswith(f"{place}c{number}:{name}"):
            self.add("a push is the next claim of an owner that sleeps",
                     where + "it claims what it does not publish")
        if int(known.get("claims", number - 1)) + 1 != number:
            self.add("a push is the next claim of an owner that sleeps",
                     where + f"claim {number} after {known['claims']}")
        if not OPEN.fullmatch(known.get("parked", "0/0")):
            self.add("a push is the next claim of an owner that sleeps",
                     where + f"parked is \"{known['parked']}\"")
        return 1
