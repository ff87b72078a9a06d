#!/usr/bin/env python3
"""Which claims take a message while one of a larger priority waits, as the nodes' logs show it."""
import unittest

from executed import read
from history import Broken, Call, Change
from priority import Priority

TAG, OTHER, TOKEN = "priority_4", "priority_5", "0" * 23 + "1"
PREPARE, SLOT = f"prepare{{{TAG}}}", f"slot{{{TAG}}}"
SMALL, LARGE = "\\x002:k1k1:small", "\\x002:k2k2:large"
KEY_OF_LARGE = "\\x002:k2"
LOOK_FOR_FORMER = ["ZRANGE", PREPARE, "0", "(1700000000001", "BYSCORE", "LIMIT", "0", "5000"]
LOOK_FOR_ENDED = [*LOOK_FOR_FORMER[:-1], "16", "WITHSCORES"]
FORMER_HAS_LARGE = [["HSET", SLOT, "token", TOKEN, "base", "7"],
                    ["ZADD", PREPARE, "1700000000000", "5c7:\\x002:k2k2:earlier"]]


def call(*commands, token=TOKEN, passes=()):
    return Call("r1", 2, 1, TAG, token, False, passes, list(commands))


def send():
    return call(["ZADD", TAG, "3", SMALL, "8", LARGE], token=None)


def claim(name, place, *before, **options):
    return call(*before, ["ZADD", PREPARE, "1700000000009", f"{place}c8:{name}"],
                ["ZREM", TAG, name], **options)


def restored(key):
    return Change("r1", 2, 1, ["RESTORE", key])


class OneNode:
    """The part of a history that is judged here: what one node executed."""

    def __init__(self, *steps):
        self.steps = [Broken("r1", 1, 0), *steps]

    @staticmethod
    def nodes():
        return ["r1"]

    def executed(self, _):
        return iter(self.steps)


class Claims(unittest.TestCase):
    def judge(self, *steps):
        """Violations, and how many claims were judged."""
        found = []
        priority = Priority(found.append)
        read(OneNode(*steps), priority)
        return len(found), sum(priority.judged.values())

    def test_the_largest_is_first(self):
        self.assertEqual(self.judge(send(), claim(LARGE, 8), claim(SMALL, 3)), (0, 2))

    def test_a_smaller_one_is_first(self):
        self.assertEqual(self.judge(send(), claim(SMALL, 3)), (1, 1))

    def test_a_push_of_a_smaller_one(self):
        pushed = call(["ZADD", PREPARE, "1700000000009", "3c8:\\x002:k3k3:new"], token=None)
        self.assertEqual(self.judge(send(), pushed), (1, 1))

    def test_the_key_of_the_largest_is_busy(self):
        self.assertEqual(self.judge(send(), claim(SMALL, 3, passes=(KEY_OF_LARGE,))), (0, 1))

    def test_a_former_owner_keeps_the_key_of_the_largest(self):
        kept = [call(*FORMER_HAS_LARGE), send()]
        self.assertEqual(self.judge(*kept, claim(SMALL, 3, LOOK_FOR_FORMER)), (0, 1))
        ended = call(["ZREM", PREPARE, "5c7:\\x002:k2k2:earlier"])
        self.assertEqual(self.judge(*kept, ended, claim(SMALL, 3, LOOK_FOR_FORMER)), (1, 1))

    def test_a_former_owner_may_keep_it_in_a_slot_that_came_from_another_node(self):
        came = restored(PREPARE)
        self.assertEqual(self.judge(came, send(), claim(SMALL, 3, LOOK_FOR_FORMER)), (0, 0))
        for before in ([], [LOOK_FOR_ENDED]):
            self.assertEqual(self.judge(came, send(), claim(SMALL, 3, *before)), (1, 1))
        left = Change("r1", 2, 1, ["DEL", SLOT, PREPARE, TAG])
        self.assertEqual(self.judge(came, left, send(), claim(SMALL, 3, LOOK_FOR_FORMER)), (1, 1))

    def test_another_slot_came_from_another_node(self):
        for key in (f"prepare{{{OTHER}}}", SLOT):
            self.assertEqual(self.judge(restored(key), send(), claim(SMALL, 3, LOOK_FOR_FORMER)),
                             (1, 1))

    def test_the_log_has_a_gap(self):
        self.assertEqual(self.judge(send(), Broken("r1", 9, 1), claim(SMALL, 3)), (0, 0))


if __name__ == "__main__":
    unittest.main()
