#!/usr/bin/env python3
"""A violation is planted where the checker cannot excuse it, whatever the run was like."""
import json
import pathlib
import tempfile
import unittest

import selftest
from selftest import SECOND

BEGUN = "an owner begins each claim once"
LATE = "no handler begins long after a newer token was stored"
SHORT = "fewer replicas than takeover_replicas have what its owner stored"


class Run:
    """The logs of two workers: w1 handles a message in each of two slots, and then w2 has both, if
    they move."""

    def __init__(self, folder, moves=True):
        self.folder, self.wrote = pathlib.Path(folder), {}
        (self.folder / "run.json").write_text(json.dumps({
            "seed": 0, "seconds": 60, "topics": {"merge": 2}, "replicated": ["merge"],
            "wall_minus_monotonic_ns": 0}))
        (self.folder / "final.json").write_text("{}")
        self.say("sender-s1", 0, "level 1")
        for worker in (1, 2):
            self.say(f"worker-w{worker}", 0, f"process host {worker}")
        self.note(0, "faults-begin", "-")
        for slot in (0, 1):
            self.handle(slot)
        for slot in (0, 1) if moves else ():
            self.take_over(slot, 20 + 20 * slot)

    def say(self, log, second, line):
        word, rest = line.split(" ", 1)
        self.wrote.setdefault(log, []).append((second, f"{word} {second * SECOND} {rest}"))

    def note(self, second, word, who):
        self.say("faults", second, f"{word} {who} 1")

    def gain(self, slot, worker, second):
        self.say(f"worker-w{worker}", second,
                 f"event slot_gained merge {slot} {worker:024} SMQ_OK 4 owned")

    def handle(self, slot):
        self.gain(slot, 1, 1)
        self.call(slot, slot, 2 + slot)

    def call(self, slot, number, second):
        body = f"k{slot}:s1:{number}:done"
        self.say("sender-s1", 1, f"send merge {body} k{slot} 0 0")
        self.say("sender-s1", 1, f"receipt merge {body} stored SMQ_OK")
        self.say("worker-w1", second,
                 f"begin {number} merge {slot} {1:024} {number + 1} 1 16 0 0 2000 {body}")
        self.say("worker-w1", second, f"end {number} done")

    def push(self, slot, claim, second):
        self.say("worker-w1", second, f"push accepted merge {slot} {1:024} {claim}")

    def take_over(self, slot, second):
        self.gain(slot, 2, second)

    def history(self):
        self.note(60, "faults-end", "-")
        for log, lines in self.wrote.items():
            lines.sort(key=lambda line: line[0])
            (self.folder / f"{log}.log").write_text("".join(text + "\n" for _, text in lines))
        return selftest.History(self.folder)


class LateHandlers(unittest.TestCase):
    PLANTED = (selftest.plant_late, selftest.plant_late_before_a_second_takeover,
               selftest.plant_late_after_replicas)

    def all_are_named(self, change=lambda run: None):
        with tempfile.TemporaryDirectory() as folder:
            run = Run(folder)
            change(run)
            selftest.begin(run.history())
            self.assertNotIn(LATE, selftest.check.judge(folder, 0).violations)
            for plant in self.PLANTED:
                self.assertTrue(selftest.is_named(folder, plant, LATE), plant.__name__)

    def test_without_faults(self):
        self.all_are_named()

    def test_an_owner_began_without_its_replicas(self):
        self.all_are_named(lambda run: run.say(
            "worker-w2", 19, f"event log merge 0 - SMQ_OK 2 slot 0 of topic merge: {SHORT}"))

    def test_a_worker_is_frozen_at_that_time(self):
        def freeze(run):
            run.note(20, "frozen", "w1")
            run.note(31, "thawed", "w1")
        self.all_are_named(freeze)

    def test_a_failover_may_have_lost_a_takeover(self):
        def fail_over(run):
            run.note(19, "begin", "KillMaster")
            run.note(21, "healed", "KillMaster")
        self.all_are_named(fail_over)


class Places(unittest.TestCase):
    def test_no_slot_moved(self):
        with tempfile.TemporaryDirectory() as folder:
            selftest.begin(Run(folder, moves=False).history())
            self.assertIsNone(selftest.is_named(folder, selftest.plant_late, LATE))


class Clocks(unittest.TestCase):
    """A message begins before its delay is over.  The clock of its slot had stepped, or another."""

    def is_early(self, *notes):
        with tempfile.TemporaryDirectory() as folder:
            run = Run(folder)
            run.call(0, 5, 1)
            for second, word, who, shift_ms in notes:
                run.say("faults", second, f"{word} {who} {shift_ms}")
            run.history()
            return "never early" in selftest.check.judge(folder, 0).violations

    def test_it_is_early_but_where_a_clock_is_off_or_was_shortly_before(self):
        self.assertTrue(self.is_early())
        self.assertTrue(self.is_early((0, "off", "merge_1", 30000)))
        self.assertFalse(self.is_early((0, "off", "merge_0", 30000)))
        self.assertFalse(self.is_early((-20, "off", "merge_0", -60000),
                                       (-8, "right", "merge_0", -60000)))
        self.assertTrue(self.is_early((-20, "off", "merge_0", -60000),
                                      (-12, "right", "merge_0", -60000)))
        self.assertFalse(self.is_early((-40, "off", "merge_0", 30000),
                                       (-28, "right", "merge_0", 30000)))


class Pushes(unittest.TestCase):
    PLANTED = (selftest.plant_accepted_again, selftest.plant_pushed_retry,
               selftest.plant_other_through_push)

    def test_the_first_push_has_no_handler(self):
        with tempfile.TemporaryDirectory() as folder:
            run = Run(folder)
            run.push(0, 9, 3)
            run.call(1, 5, 4)
            run.push(1, 6, 4)
            selftest.begin(run.history())
            self.assertNotIn(BEGUN, selftest.check.judge(folder, 0).violations)
            for plant in self.PLANTED:
                self.assertTrue(selftest.is_named(folder, plant, BEGUN), plant.__name__)


if __name__ == "__main__":
    unittest.main()
