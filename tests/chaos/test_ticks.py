#!/usr/bin/env python3
"""Which ticks of a schedule may follow each other, and which say that one was lost."""
import types
import unittest

from ticks import MS, Tick, Ticks

EVERY_MS = 600
LOST = "no tick is lost"


class Follow(unittest.TestCase):
    def judged(self, *ticks, lossy=()):
        """The invariants that are violated by ticks: when each was due, and when it was stored."""
        found = []
        history = types.SimpleNamespace(
            run={"wall_minus_monotonic_ns": 0, "schedules": {"s": EVERY_MS}}, notes=[],
            ticks=[Tick("w1", sent_ms * MS, 3, 1, sent_ms, f"s@{due_ms}")
                   for due_ms, sent_ms in ticks])
        judge = Ticks(history, [(begin * MS, end * MS) for begin, end in lossy], 0,
                      lambda *span: False, lambda invariant, text: found.append(invariant))
        judge.judge()
        return found

    def test_each_follows(self):
        self.assertEqual(self.judged((600, 601), (1200, 1203), (1800, 1800)), [])

    def test_one_is_missing(self):
        self.assertEqual(self.judged((600, 601), (1800, 1800)), [LOST])
        self.assertEqual(self.judged(), [LOST])

    def test_those_that_were_missed_do_not_count(self):
        self.assertEqual(self.judged((600, 2500), (3000, 3001)), [])
        self.assertEqual(self.judged((600, 2500), (3600, 3601)), [LOST])

    def test_a_failover_undid_some(self):
        """1800 and 2400 were handled and then undone; long afterwards 1200 was stored again."""
        ticks = (1200, 9700), (1800, 1802), (2400, 2401), (10200, 10201)
        self.assertEqual(self.judged(*ticks, lossy=[(1500, 4000)]), [])
        self.assertEqual(self.judged(*ticks), [LOST])
        self.assertEqual(self.judged(*ticks[:-1], (10800, 10801), lossy=[(1500, 4000)]), [LOST])


if __name__ == "__main__":
    unittest.main()
