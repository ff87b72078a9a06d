#!/usr/bin/env python3
"""The page of what was tested is that of its inputs, and names commits and tests that exist."""
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
SCORE = {"named": {"date": "2026-01-02", "commit": "abc", "count": 20, "killed": 19, "by_histories": 11, "survived": ["late"]},
         "random": [{"date": "2026-01-02", "commit": "abc", "seed": 7, "count": 100, "killed": 88, "survived": 8,
                     "equivalent": 4, "percent": 91.7}]}


class Page(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.kept.name)
        self.write("docs/TRACK-RECORD.md", "")

    def tearDown(self):
        self.kept.cleanup()

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def runs(self, name, *runs):
        self.write(f"tests/record/{name}.jsonl", "".join(json.dumps(run) + "\n" for run in runs))

    def tool(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "tools/track_record.py", *arguments, self.root],
                              capture_output=True, text=True, check=False)

    def page(self):
        written = self.tool("--write")
        self.assertEqual((written.returncode, written.stderr), (0, ""))
        self.assertEqual(self.tool().returncode, 0)
        return (self.root / "docs/TRACK-RECORD.md").read_text()

    def refused(self):
        found = self.tool()
        self.assertEqual(found.returncode, 1)
        return found.stderr


class Figures(Page):
    def test_what_was_not_recorded_is_not_claimed(self):
        page = self.page()
        self.assertEqual(page.count("No run is recorded."), 3)
        self.assertIn("No score is recorded.", page)

    def test_runs_under_faults_are_added_up(self):
        self.runs("chaos", CHAOS, {**CHAOS, "seed": 2, "takeover_ms": {"killed": [900]}})
        page = self.page()
        for line in ("| runs | 2: 2 good |", "| time under faults | 2 minutes |", "| faults | 8 |",
                     "| messages sent | 1,802 |", "| events checked: sends, handlers, scripts in Redis | 13,802 |",
                     "| events held against the model | 140 |", "| slots that moved | 80 |",
                     "| acknowledged messages lost | 0 |",
                     "| lost with a Redis master or its keys, as permitted | 4 |", "| kill | 6 |", "| killed | 4 | 250 | 900 |"):
            self.assertIn(line + "\n", page)
        self.assertNotIn("not good", page)

    def test_bad_runs_stay_and_say_why(self):
        self.runs("chaos", CHAOS, {**CHAOS, "seed": 3, "verdict": "violated", "lost": 2,
                                   "violations": {"nothing acknowledged is lost": 2}},
                  {"seed": 4, "seconds": 60, "commit": "abc", "verdict": "failed", "failed": ["no node"]})
        page = self.page()
        self.assertIn("| runs | 3: 1 failed, 1 good, 1 violated |\n", page)
        self.assertIn("| acknowledged messages lost | 2 |\n", page)
        self.assertIn("| 3 | 60 | `abc` | violated | nothing acknowledged is lost: 2 | not known yet |\n", page)
        self.assertIn("| 4 | 60 | `abc` | failed | no node | not known yet |\n", page)

    def test_what_a_bad_run_was_is_said(self):
        self.runs("chaos", CHAOS, {**CHAOS, "seed": 3, "verdict": "void", "void": ["it was slow"]},
                  {**CHAOS, "seed": 3, "commit": "abd", "verdict": "void", "void": ["it was slow"]})
        self.write("tests/record/runs.txt", "# a comment\n3 | abc | 0123abc | the harness: it slept\n3 | abd || a disk\n")
        page = self.page()
        self.assertIn("| 3 | 60 | `abc` | void | it was slow | the harness: it slept; `0123abc` |\n", page)
        self.assertIn("| 3 | 60 | `abd` | void | it was slow | a disk |\n", page)

    def test_what_a_run_was_is_refused_without_a_bad_run(self):
        self.runs("chaos", CHAOS)
        for line, text in (("1 | abc || it", "there is no such run"), ("2 | abc || it", "there is no such run"),
                           ("1 | abc | it", "is not SEED | COMMIT | FIX | what it was")):
            self.write("tests/record/runs.txt", line + "\n")
            self.assertIn(text, self.refused())

    def test_what_only_newer_runs_record_is_shown(self):
        self.assertNotIn("workers that had", self.page())
        self.runs("chaos", CHAOS, {**CHAOS, "owners": [2, 8], "server": "Valkey 9.1.0", "begun_after_lost_takeover": 7},
                  {**CHAOS, "owners": [1, 5], "server": "Valkey 9.1.0"})
        page = self.page()
        for line in ("| workers that had all slots among them | 1 to 8 |", "| runs with Valkey 9.1.0 | 2 |",
                     "| handlers begun while a failover had lost a newer takeover, as permitted | 7 |"):
            self.assertIn(line + "\n", page)

    def test_of_models_the_last_run_of_each_counts(self):
        self.runs("model", {**MODEL, "good": False}, MODEL, {**MODEL, "what": "broken", "mutation": "BROKEN", "states": 7},
                  {**MODEL, "what": "unproven", "good": False, "seconds": 60})
        self.assertIn("| fence | 1 of 2 | 1 of 1 | 12,345 | 130 | 63 s |\n", self.page())

    def test_fuzzing_adds_up_and_shows_failures(self):
        self.runs("fuzz", FUZZ, {**FUZZ, "seconds": 6600, "verdict": "failed"})
        page = self.page()
        self.assertIn("All runs together: 2.0 hours, of `abc`.\n", page)
        self.assertIn("| entry | 2.0 hours | 2,000,000 | 1 |\n", page)

    def test_mutants_that_survived_are_named(self):
        self.write("tests/mutants/score.json", json.dumps(SCORE))
        page = self.page()
        self.assertIn("| named | abc | 20 | 19 |  | 95.0 % |\n", page)
        self.assertIn("| random, seed 7 | abc | 100 | 88 | 4 | 91.7 % |\n", page)
        self.assertIn("Named ones that survived: late.\n", page)
        self.assertNotIn("Today", page)

    def test_named_mutants_that_have_no_score_yet_are_counted(self):
        self.write("tests/mutants/score.json", json.dumps(SCORE))
        self.write("tests/mutants/named.py", "NAMED = (\n" + "    Patch(\"a\",\n          \"b\"),\n" * 23 + ")\n")
        self.assertIn("Today there are 23 named ones; 20 of them were there when the score was made, on 2026-01-02, at\n"
                      "`abc`.\n", self.page())

    def test_a_page_of_other_inputs_is_refused(self):
        self.page()
        self.runs("fuzz", FUZZ)
        self.assertIn("./dev record writes it", self.refused())


class Bugs(Page):
    def setUp(self):
        super().setUp()
        self.write("tests/unit/test_a.c", "static void it_holds(void **state)\n")

    def bug(self, commit="0123abc", test="unit/test_a.c:it_holds"):
        self.write("tests/record/bugs.txt", f"# a comment\n{commit} | chaos | {test} | it did not hold\n")

    def commit(self):
        """The first commit of a history in the folder."""
        git = ["git", "-C", self.root, "-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
        return subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True,
                              text=True).stdout.strip()

    def test_a_bug_is_shown_with_its_commit_and_test(self):
        self.bug(self.commit())
        self.assertIn("| chaos | it did not hold | `unit/test_a.c:it_holds` |\n", self.page())

    def test_a_commit_that_is_not_in_the_history_is_refused(self):
        self.commit()
        self.bug()
        self.assertIn("no commit 0123abc is in the history", self.refused())

    def test_without_a_history_no_commit_is_looked_for(self):
        self.bug()
        self.page()

    def test_a_test_that_does_not_exist_is_refused(self):
        self.bug(test="unit/test_b.c")
        self.assertIn("there is no tests/unit/test_b.c", self.refused())
        self.bug(test="unit/test_a.c:it_does")
        self.assertIn("tests/unit/test_a.c has no it_does", self.refused())

    def test_a_line_of_another_form_is_refused(self):
        self.write("tests/record/bugs.txt", "0123abc | chaos | unit/test_a.c:it_holds\n")
        self.assertIn("is not COMMIT | found by | TEST | what", self.refused())


class Present(unittest.TestCase):
    def test_the_page_is_that_of_its_inputs(self):
        found = subprocess.run([sys.executable, ROOT / "tools/track_record.py", ROOT], capture_output=True, text=True,
                               check=False)
        self.assertEqual(found.stderr, "")


if __name__ == "__main__":
    unittest.main()
