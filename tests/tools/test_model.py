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


class Interrupt(unittest.TestCase):
    def test_an_interrupt_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen([sys.executable, MODEL / "run.py", "with faults"], stdout=subprocess.PIPE,
                                     env={**os.environ, "TMPDIR": folder})
            while not list(pathlib.Path(folder).glob("*/pan.c")):
                self.assertIsNone(child.poll())
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            output = child.communicate()[0]
            self.assertEqual((child.returncode, output), (130, b""))
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
