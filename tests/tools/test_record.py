#!/usr/bin/env python3
"""The record of a release adds up what runs have kept, and claims nothing of what was not run."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CHAOS = {"seed": 1, "seconds": 60, "commit": "abc", "verdict": "good", "fault_ms": 60000, "sends": {"stored": 900, "unknown": 1},
         "handled": 1000, "scripts": 5000, "traced_events": 70, "faults": {"kill": 3, "failover": 1}, "moves": 40,
         "fenced": 2, "lost": 0, "lost_with_master": 2, "overlaps": 0, "late": 0, "takeover_ms": {"killed": [300, 100, 200]},
         "violations": {}, "void": [], "failed": []}
MODEL = {"commit": "abc", "model": "fence", "what": "it holds", "mutation": "", "good": True, "verdict": "holds",
         "states": 12345, "depth": 9, "memory_mb": 130, "seconds": 1.5}
FUZZ = {"commit": "abc", "target": "entry", "verdict": "ok", "inputs": 1000000, "seconds": 600}
NAMED = {"date": "2026-01-02", "commit": "abc", "count": 20, "killed": 19, "by_histories": 11, "survived": ["late"]}
RANDOM = {"date": "2026-01-02", "commit": "abc", "seed": 7, "count": 100, "killed": 88, "survived": 8, "equivalent": 4,
          "percent": 91.7}


class Record(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)

    def tearDown(self):
        self.kept.cleanup()

    def runs(self, name, *runs):
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))

    def tool(self):
        return subprocess.run([sys.executable, ROOT / "tools/track_record.py", self.folder], capture_output=True,
                              text=True, check=False)

    def made(self):
        """(the page, the cells of the row)"""
        done = self.tool()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page, = self.folder.glob("slotmq-*-record.md")
        return page.read_text(), [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]

    def test_a_folder_without_runs_is_refused(self):
        done = self.tool()
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no runs", done.stderr)

    def test_what_was_not_recorded_is_not_claimed(self):
        self.runs("fuzz", FUZZ)
        page, row = self.made()
        self.assertEqual(page.count("No run is recorded."), 3)
        self.assertEqual(row[1:], ["0 of 0", "0 s", "0", "0", "0", "0 of 0", "10 minutes", "-", "-"])

    def test_runs_under_faults_are_added_up(self):
        self.runs("chaos", CHAOS, {**CHAOS, "seed": 2, "takeover_ms": {"killed": [900]}})
        page, row = self.made()
        for line in ("| runs | 2: 2 good |", "| time under faults | 2 minutes |", "| faults | 8 |",
                     "| messages sent | 1,802 |", "| events checked: sends, handlers, scripts in Redis | 13,802 |",
                     "| events held against the model | 140 |", "| slots that moved | 80 |",
                     "| acknowledged messages lost | 0 |",
                     "| lost with a Redis master or its keys, as permitted | 4 |", "| kill | 6 |", "| killed | 4 | 250 | 900 |"):
            self.assertIn(line + "\n", page)
        self.assertNotIn("not good", page)
        self.assertEqual(row[1:6], ["2 of 2", "2 minutes", "8", "2,000", "0"])

    def test_bad_runs_stay_and_say_why(self):
        self.runs("chaos", CHAOS, {**CHAOS, "seed": 3, "verdict": "violated", "lost": 2,
                                   "violations": {"nothing acknowledged is lost": 2}},
                  {"seed": 4, "seconds": 60, "commit": "abc", "verdict": "failed", "failed": ["no node"]})
        page, row = self.made()
        self.assertIn("| runs | 3: 1 failed, 1 good, 1 violated |\n", page)
        self.assertIn("| 3 | 60 | `abc` | violated | nothing acknowledged is lost: 2 |\n", page)
        self.assertIn("| 4 | 60 | `abc` | failed | no node |\n", page)
        self.assertEqual((row[1], row[5]), ("1 of 3", "2"))

    def test_what_only_newer_runs_record_is_shown(self):
        self.runs("chaos", CHAOS)
        self.assertNotIn("workers that had", self.made()[0])
        self.runs("chaos", CHAOS, {**CHAOS, "owners": [2, 8], "server": "Valkey 9.1.0", "begun_after_lost_takeover": 7},
                  {**CHAOS, "owners": [1, 5], "server": "Valkey 9.1.0"})
        page, _ = self.made()
        for line in ("| workers that had all slots among them | 1 to 8 |", "| runs with Valkey 9.1.0 | 2 |",
                     "| handlers begun while a failover had lost a newer takeover, as permitted | 7 |"):
            self.assertIn(line + "\n", page)

    def test_of_models_the_last_run_of_each_counts(self):
        self.runs("model", {**MODEL, "good": False}, MODEL, {**MODEL, "what": "broken", "mutation": "BROKEN", "states": 7},
                  {**MODEL, "what": "unproven", "good": False, "seconds": 60})
        page, row = self.made()
        self.assertIn("| fence | 1 of 2 | 1 of 1 | 12,345 | 130 | 63 s |\n", page)
        self.assertEqual(row[6], "2 of 3")

    def test_fuzzing_adds_up_and_shows_failures(self):
        self.runs("fuzz", FUZZ, {**FUZZ, "seconds": 6600, "verdict": "failed"})
        page, row = self.made()
        self.assertIn("All runs together: 2.0 hours, of `abc`.\n", page)
        self.assertIn("| entry | 2.0 hours | 2,000,000 | 1 |\n", page)
        self.assertEqual(row[7], "2.0 hours")

    def test_mutants_that_survived_are_named(self):
        self.runs("mutants", NAMED, RANDOM)
        page, row = self.made()
        self.assertIn("| named | `abc` | 20 | 19 |  | 95.0 % |\n", page)
        self.assertIn("| random, seed 7 | `abc` | 100 | 88 | 4 | 91.7 % |\n", page)
        self.assertIn("Named ones that survived: late.\n", page)
        self.assertEqual(row[8:], ["95.0 %", "91.7 %"])


if __name__ == "__main__":
    unittest.main()
