#!/usr/bin/env python3
"""Which takeovers count, when a failover may have lost some of them."""
import collections
import unittest

from history import kept_takeovers

Gain = collections.namedtuple("Gain", "token at_ns")
SLOT = ("jobs", 1)


class KeptTakeovers(unittest.TestCase):
    def kept(self, lost=(), used=()):
        """Of one takeover under the token a, then two under b."""
        gains = {SLOT: [Gain("a", 10), Gain("b", 20), Gain("b", 30)]}
        kept = kept_takeovers(gains, lambda gain: gain.at_ns in lost,
                              lambda gain: gain.at_ns in used)
        return [gain.at_ns for gain in kept[SLOT]]

    def test_what_cannot_be_lost_counts(self):
        self.assertEqual(self.kept(), [10, 20, 30])

    def test_a_takeover_that_was_made_again_counts_once(self):
        self.assertEqual(self.kept(lost=[20]), [10, 30])

    def test_the_last_one_counts_if_its_owner_went_on(self):
        self.assertEqual(self.kept(lost=[20, 30], used=[20, 30]), [10, 30])

    def test_an_owner_that_ended_could_not_take_over_again(self):
        self.assertEqual(self.kept(lost=[10, 30], used=[]), [20])


if __name__ == "__main__":
    unittest.main()
