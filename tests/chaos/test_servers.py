#!/usr/bin/env python3
"""Which ends of a worker say that it could not begin, as opposed to a defect, and when a replica
has what its master has.
"""
import unittest

from servers import Cluster, is_refusal


class Refusals(unittest.TestCase):
    def test_it_could_not_begin(self):
        for status, text in (
                ("SMQ_UNAVAILABLE", "cannot reach ZooKeeper at 10.77.0.17:2181"),
                ("SMQ_OTHER_FLEET", "the fence of topic jobs has to be raised"),
                ("SMQ_UNKNOWN", "cannot read topic fifo: 10.77.0.15:6379: no reply in time"),
                ("SMQ_UNKNOWN", "cannot consume topic fifo: 10.77.0.15:6379: no reply in time")):
            self.assertTrue(is_refusal(status, text), text)

    def test_it_ended_otherwise(self):
        for status, text in (
                ("SMQ_OK", "-"), ("SMQ_TIMED_OUT", "a handler has not ended"), (None, ""),
                ("SMQ_UNKNOWN", "it is not known whether its answer is stored"),
                ("SMQ_FENCED", "cannot read topic fifo")):
            self.assertFalse(is_refusal(status, text), text)


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


if __name__ == "__main__":
    unittest.main()
