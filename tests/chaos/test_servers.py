#!/usr/bin/env python3
"""Which ends of a worker say that it could not begin, as opposed to a defect, when a replica has
what its master has, and which masters were replaced.
"""
import unittest

from servers import Cluster, Lives, is_denied_at_start, is_refusal


class Refusals(unittest.TestCase):
    def test_it_could_not_begin(self):
        for status, text in (
                ("SMQ_UNAVAILABLE", "cannot reach ZooKeeper at 10.77.0.17:2181"),
                ("SMQ_OTHER_FLEET", "the fence of topic jobs has to be raised"),
                ("SMQ_DAMAGED", "Redis has lost the definition of topic jobs, topic{jobs}, but"),
                ("SMQ_UNKNOWN", "cannot read topic fifo: 10.77.0.15:6379: no reply in time"),
                ("SMQ_UNKNOWN", "cannot consume topic fifo: 10.77.0.15:6379: no reply in time")):
            self.assertTrue(is_refusal(status, text), text)

    def test_it_ended_otherwise(self):
        for status, text in (
                ("SMQ_OK", "-"), ("SMQ_TIMED_OUT", "a handler has not ended"), (None, ""),
                ("SMQ_UNKNOWN", "it is not known whether its answer is stored"),
                ("SMQ_FENCED", "cannot read topic fifo"),
                ("SMQ_DAMAGED", "slot 3 of topic jobs")):
            self.assertFalse(is_refusal(status, text), text)

    def test_a_right_was_missing_from_the_start(self):
        begun = ["process", "1000000000", "w2", "811"]
        other = ["event", "1500000000", "stopped", "jobs", "-1", "-", "SMQ_NO_TOPIC", "1", "gone"]
        for second, denied in ((2, True), (9, True), (12, False)):
            said = ["event", f"{second}000000000", "stopped", "shared", "-1", "-", "SMQ_DENIED", "1"]
            self.assertEqual(is_denied_at_start([begun, other, said]), denied, second)
        self.assertFalse(is_denied_at_start([begun, other]))


class Node:
    """A node that says each time how far it is, the last time again and again."""

    def __init__(self, *offsets):
        self.offsets = list(offsets)

    def info(self, section, field):
        del section, field
        return self.offsets.pop(0) if len(self.offsets) > 1 else self.offsets[0]


class Pair(Cluster):
    def __init__(self, replica):
        self.replica = replica

    def replica_of(self, master):
        return self.replica


class Follows(unittest.TestCase):
    def test_a_replica_that_is_behind_follows_once_it_has_caught_up(self):
        self.assertTrue(Pair(Node(3, 5, 7)).follows(Node(7, 9)))
        self.assertFalse(Pair(Node(6)).follows(Node(7), seconds=0.3))

    def test_without_a_replica_or_an_answer_nothing_follows(self):
        self.assertFalse(Pair(None).follows(Node(7), seconds=0.3))
        self.assertFalse(Pair(Node(None)).follows(Node(7), seconds=0.3))
        self.assertFalse(Pair(Node(7)).follows(Node(None)))


class Master:
    def __init__(self, host, life):
        self.host, self.life = host, life

    def info(self, section, field):
        del section, field
        return self.life


class Masters(unittest.TestCase):
    def test_who_was_promoted_or_started_anew_is_named(self):
        looks = iter([("r1 a", "r2 b", "r3 c"), ("r1 a", "r2 b", "r3 c"), ("r1 a", "r5 d", "r3 c"),
                      ("r1 a", "r5 d"), ("r1 a", None, "r3 e"), ("r1 a", "r2 f", "r3 e")])

        class Looks(Cluster):
            def __init__(self):
                pass

            def masters(self):
                return [Master(*name.split(" ")) if name else Master("r9", None)
                        for name in next(looks)]

        lives = Lives(Looks())
        self.assertEqual([lives.changed() for _ in range(6)],
                         [[], [], ["r5"], [], [], ["r2", "r3"]])


if __name__ == "__main__":
    unittest.main()
