#!/usr/bin/env python3
"""What checks the models of coordination must be able to fail, and leaves nothing behind."""
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MODEL = pathlib.Path(__file__).resolve().parents[2] / "coord" / "model"


def load(name):
    spec = importlib.util.spec_from_file_location(name, MODEL / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


run = load("run")
trace_check = load("trace_check")


class Verdicts(unittest.TestCase):
    def verdict(self, **fields):
        return run.execute(run.Run("failover", "a test", **fields), run.Children())

    def test_a_property_holds(self):
        self.assertEqual(self.verdict().line()[:13], "ok      holds")

    def test_a_property_that_is_violated_is_no_success_and_is_shown(self):
        verdict = self.verdict(bounds="AT_LEAST")
        self.assertEqual((verdict.good, verdict.text), (False, "is violated"))
        self.assertIn("proc", verdict.output)

    def test_a_mutation_that_is_found(self):
        self.assertTrue(self.verdict(mutation="AT_LEAST").good)

    def test_a_mutation_that_is_not_found_is_no_success(self):
        verdict = self.verdict(mutation="NO_MUTATION")
        self.assertEqual((verdict.good, verdict.text), (False, "is not found"))

    def test_a_model_that_cannot_be_read_is_no_success(self):
        self.assertFalse(self.verdict(bounds="FAILOVERS=+").good)

    def test_a_search_that_was_cut_short_decides_nothing(self):
        output = "error: max search depth too small\nState-vector 9 byte, depth reached 9, errors: 0\n"
        self.assertEqual(run.judge(run.Run("failover", "a test"), output, 0).text, "is not decided")


def line(at, member, what, epoch=None):
    """Of slot 0; `epoch`: of its token."""
    told = {"ts": at, "member": member, "what": what}
    if what not in ("cut", "session_lost"):
        told["slot"] = 0
    if epoch is not None:
        told["token"] = f"{1:08x}{epoch:016x}"
    return told


MOVED = [line(1, "a", "granted", 16), line(2, "a", "taken", 16), line(3, "a", "revoked"), line(4, "a", "released"),
         line(5, "b", "granted", 20), line(6, "b", "taken", 20)]
ENDED = [line(7, "b", "cut"), line(8, "a", "granted", 24), line(9, "b", "session_lost"), line(10, "b", "lost")]


class Traces(unittest.TestCase):
    def why(self, lines):
        return trace_check.check(sorted(lines, key=lambda told: told["ts"]), run.Children())

    def test_a_slot_that_moves_and_whose_owner_ends_is_a_path(self):
        self.assertIsNone(self.why(MOVED + ENDED))

    def test_a_grant_before_the_release_is_no_path(self):
        self.assertIn("line 4 of 6 cannot follow", self.why([*MOVED[:3], dict(MOVED[3], ts=7), *MOVED[4:]]))

    def test_a_token_that_does_not_grow_is_no_path(self):
        self.assertIn("line 5 of 5 cannot follow", self.why([*MOVED[:4], line(5, "b", "granted", 12)]))

    def test_a_session_that_ends_without_a_cause_is_no_path(self):
        self.assertIn("line 7 of 7 cannot follow", self.why([*MOVED, ENDED[1]]))

    def test_a_line_that_is_no_event_is_refused(self):
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write('{"ts": 1, "member": "a", "what": "granted", "slot": 0}\n')
            file.flush()
            with self.assertRaisesRegex(trace_check.BadHistory, ":1: this is no event"):
                trace_check.read([file.name])


class Interrupt(unittest.TestCase):
    def test_an_interrupt_leaves_nothing_behind(self):
        """The compiler stands still with a temporary file, as a real one may at any moment."""
        with tempfile.TemporaryDirectory() as tools, tempfile.TemporaryDirectory() as folder:
            compiler = pathlib.Path(tools) / "cc"
            compiler.write_text('#!/bin/sh\nmktemp >"$0.began.new"; mv "$0.began.new" "$0.began"; exec sleep 600\n')
            compiler.chmod(0o755)
            child = subprocess.Popen([sys.executable, MODEL / "run.py", "with faults"], stdout=subprocess.PIPE,
                                     env={**os.environ, "TMPDIR": folder,
                                          "PATH": f"{tools}:{os.environ['PATH']}"})
            while not list(pathlib.Path(tools).glob("cc.began")):
                self.assertIsNone(child.poll())
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            output = child.communicate()[0]
            self.assertEqual((child.returncode, output), (130, b""))
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
