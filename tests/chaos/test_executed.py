#!/usr/bin/env python3
"""Which takeovers a failover has lost, as the nodes' logs show it, where a history ends, and when a
node whose clock steps has done what."""
import collections
import types
import unittest

import coordination
from executed import Executed, read
from history import Broken, Call, Change, Clock

TAG, OLD, NEW = "fifo_4", "0" * 23 + "1", "0" * 23 + "2"
AGE_NS, SECOND = 21, 1_000_000_000
Gain = collections.namedtuple("Gain", "topic slot token at_ns")


def call(at_ns, token, takes_over=False, writes=True):
    commands = [["HMGET", f"slot{{{TAG}}}", "def", "token"]]
    if takes_over:
        commands.append(["HSET", f"slot{{{TAG}}}", "token", token, "owner", "w"])
    elif writes:
        commands.append(["HSET", f"slot{{{TAG}}}", "claims", "7"])
    return Call("", 1, at_ns, TAG, token, takes_over, (), commands)


def copied(at_ns, token):
    return Change("", 1, at_ns, ["HSET", f"slot{{{TAG}}}", "token", token, "owner", "w"])


def broken(at_ns):
    return Broken("", 1, at_ns)


class Nodes:
    """The part of a history that is judged here: what each node executed."""
    shared = ()

    def __init__(self, *nodes):
        self.steps = dict(enumerate(nodes))

    def nodes(self):
        return list(self.steps)

    def executed(self, node):
        return iter(self.steps[node])


class Ends(unittest.TestCase):
    """Where the history of coordination ends, because the tree may have gone back."""

    def ends(self, kind, who):
        note = types.SimpleNamespace(what="begin", who=who, at_ns=7)
        return coordination.ended(types.SimpleNamespace(
            run={"coordination": kind, "topics": {"jobs": 4}}, notes=[note]))

    def test_that_of_every_topic_ends_also_of_that_with_schedules(self):
        self.assertEqual(self.ends("redis", "KillMaster"), {"jobs": 7, "ticks": 7})

    def test_it_does_not_end_by_a_planned_failover_or_with_zookeeper(self):
        self.assertEqual(self.ends("redis", "FailOverTree"), {})
        self.assertEqual(self.ends("zookeeper", "KillMaster"), {})


class Claims(unittest.TestCase):
    """What a send that claims for an owner leaves in prepare."""

    def claims(self, *commands):
        added = ["ZADD", f"prepare{{{TAG}}}", "1795843902208", "71c71:k0s1-1406"]
        return Call("", 1, 1, TAG, None, False, (), [added, *commands]).claims()

    def test_a_claim_that_is_taken_back_is_none(self):
        gone = ["ZREM", f"prepare{{{TAG}}}"]
        self.assertEqual(self.claims(gone + ["71c71:k0s1-1406"]), [])
        for others in ([], [gone + ["70c70:k0s1-1406"]], [["ZREM", TAG, "71c71:k0s1-1406"]]):
            self.assertEqual(self.claims(*others), [("71", 71, "k0s1-1406")])


class LostTakeovers(unittest.TestCase):
    """A takeover under NEW at the time 10, and a handler of the owner with OLD that begins at 40.

    A master that is replaced is broken when it gets what the promoted node has."""

    def is_lost(self, *nodes):
        executed = Executed(Nodes(*nodes), lambda *violation: self.fail(violation))
        read(executed.history, executed)
        return executed.is_lost(Gain("fifo", 4, NEW, 11), OLD, 40, AGE_NS)

    def test_the_promoted_node_confirms_the_owner_before(self):
        replaced = [call(1, OLD, takes_over=True), call(10, NEW, takes_over=True), broken(60)]
        for confirms in (True, False):
            promoted = [copied(2, OLD), call(30, OLD, writes=confirms)]
            self.assertTrue(self.is_lost(replaced, promoted))

    def test_a_restarted_node_has_forgotten_the_takeover(self):
        self.assertTrue(self.is_lost([call(10, NEW, takes_over=True), broken(20), call(30, OLD)]))

    def test_a_replaced_node_confirms_the_owner_before(self):
        replaced = [call(1, OLD, takes_over=True), call(30, OLD), broken(60)]
        for promoted in ([copied(2, OLD), call(10, NEW, takes_over=True)],
                         [copied(2, OLD), call(10, NEW, takes_over=True), broken(70)]):
            self.assertFalse(self.is_lost(replaced, promoted))

    def test_no_node_confirms_the_owner_before(self):
        replaced = [call(1, OLD, takes_over=True), call(10, NEW, takes_over=True), broken(60)]
        for promoted in ([], [copied(2, OLD)], [call(30, NEW)],
                         [copied(2, OLD), call(9, OLD)],   # before the takeover
                         [copied(2, OLD), call(18, OLD)],  # too long before the handler
                         [copied(2, OLD), call(41, OLD)],  # after it
                         [call(30, OLD, writes=False)],    # it may have been refused
                         [copied(2, OLD), copied(11, NEW), call(30, OLD, writes=False)]):
            self.assertFalse(self.is_lost(replaced, promoted))

    def test_the_takeover_was_kept(self):
        confirms = [copied(2, OLD), call(30, OLD)]
        self.assertFalse(self.is_lost([call(10, NEW, takes_over=True)], confirms))
        self.assertFalse(self.is_lost([call(10, NEW, takes_over=True), broken(60)],
                                      [call(10, NEW, takes_over=True)], confirms))

    def test_nobody_saw_the_takeover(self):
        self.assertFalse(self.is_lost([broken(60)], [copied(2, OLD), call(30, OLD)]))


class Clocks(unittest.TestCase):
    """The clock of a node is moved at second 100, and is right again at 110."""

    def ahead_s(self, shift_s, *said_s, connected_s=0):
        clock = Clock([(100 * SECOND, shift_s * SECOND), (110 * SECOND, 0)])
        clock.last_ns = connected_s * SECOND
        return [clock.ahead(int(said * SECOND)) // SECOND for said in said_s]

    def test_back_and_forward(self):
        for shift in (-60, 30):
            self.assertEqual(
                self.ahead_s(shift, 50, 99, 100.001, 100.2 + shift, 109 + shift, 110.001 + shift,
                             110.1, 175), [0, 0, 0, shift, shift, shift, 0, 0])

    def test_it_was_connected_after_the_step(self):
        self.assertEqual(self.ahead_s(-60, 45, 112, connected_s=104), [-60, 0])
        self.assertEqual(self.ahead_s(30, 135, 113, connected_s=104), [30, 0])

    def test_a_clock_that_was_not_moved(self):
        self.assertEqual(Clock([]).ahead(7), 0)


if __name__ == "__main__":
    unittest.main()
