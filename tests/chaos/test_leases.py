#!/usr/bin/env python3
"""How claims of shared topics may end, and when their messages may begin again."""
import collections
import unittest

from history import Broken, Call, Change
from leases import LEASE_MS, MS, Leases

TAG = "shared_4"
HELD, ENTRY = f"prepare{{{TAG}}}", "7c1:m"
CUT = "a claim of a shared topic lasts until its answer or the end of its lease"
AGAIN = "a message of a shared topic begins again when its claim has ended"
Run = collections.namedtuple("Run", "topic slot claim worker begin_ns end_ns verdict")


class History:
    """The part of a history that is judged here."""
    shared, run = ("shared",), {"wall_minus_monotonic_ns": 0}


def call(at_ms, *commands, named=()):
    return Call("r1", 2, at_ms * MS, TAG, None, False, (), list(commands), named)


CLAIM = call(1, ["ZADD", HELD, str(1 + LEASE_MS), ENTRY])


def taken(at_ms, named=()):
    return call(at_ms, ["ZREM", HELD, ENTRY], named=named)


def run(claim, begin_ms, verdict="done"):
    return Run("shared", 4, claim, f"w{claim}", begin_ms * MS, (begin_ms + 1) * MS, verdict)


class Claims(unittest.TestCase):
    def judged(self, *steps, runs=(), excused=False):
        """The invariants that are violated."""
        found = []
        leases = Leases(History(), lambda invariant, text: found.append(invariant))
        leases.begin_node()
        for step in steps:
            {Call: leases.call, Change: leases.change, Broken: leases.lose_sight}[type(step)](step)
        leases.judge({("shared", "m"): list(runs)}, lambda before, run: excused)
        return found

    def test_it_is_answered(self):
        self.assertEqual(self.judged(CLAIM, taken(2, named=["0", ENTRY])), [])

    def test_its_lease_ends(self):
        self.assertEqual(self.judged(CLAIM, taken(1 + LEASE_MS)), [])
        self.assertEqual(self.judged(CLAIM, taken(LEASE_MS - 10)), [CUT])

    def test_its_lease_is_renewed(self):
        renewed = call(1000, ["ZADD", HELD, "XX", str(1000 + LEASE_MS), ENTRY])
        self.assertEqual(self.judged(CLAIM, renewed, taken(1 + LEASE_MS)), [CUT])
        self.assertEqual(self.judged(CLAIM, renewed, taken(1000 + LEASE_MS)), [])

    def test_it_is_undone_by_its_own_call(self):
        self.assertEqual(self.judged(call(1, *CLAIM.commands, *taken(1).commands)), [])

    def test_other_topics_are_not_judged(self):
        other = [[word.replace("shared", "jobs") for word in command]
                 for command in CLAIM.commands + taken(2).commands]
        self.assertEqual(self.judged(call(1, other[0]), call(2, other[1])), [])

    def test_its_message_begins_again(self):
        again = (run(1, 2), run(2, 50))
        self.assertEqual(self.judged(CLAIM, runs=again), [AGAIN])
        self.assertEqual(self.judged(CLAIM, runs=again, excused=True), [])
        self.assertEqual(self.judged(CLAIM, runs=(run(1, 2, "retry"), run(2, 50))), [])
        self.assertEqual(self.judged(CLAIM, runs=(run(1, 2), run(1, 50))), [AGAIN])

    def test_its_message_begins_again_after_its_lease(self):
        for runs in ((run(1, 2), run(2, 4000)),
                     (run(2, 4000), run(1, 4001))):  # the one that was late had stood still
            self.assertEqual(self.judged(CLAIM, taken(1 + LEASE_MS), runs=runs), [])

    def test_something_was_not_seen(self):
        again = (run(1, 2), run(2, 50))
        for unseen in (Change("r1", 2, 20 * MS, ["RESTORE", HELD]), Broken("r1", 2, 20 * MS)):
            self.assertEqual(self.judged(CLAIM, unseen, taken(40), runs=again), [])
        for harmless in (Change("r1", 2, 20 * MS, ["RESTORE", "slot{shared_4}"]),
                         Change("r1", 2, 60 * MS, ["RESTORE", HELD])):
            self.assertEqual(self.judged(CLAIM, harmless, runs=again), [AGAIN])


if __name__ == "__main__":
    unittest.main()
