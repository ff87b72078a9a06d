#!/usr/bin/env python3
"""What is left out of the build is not needed for it: each choice is configured, and asked what it
builds and what it looks for.

usage: test_build_options.py ROOT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())


class Options(unittest.TestCase):
    def configured(self, **options):
        """(names of what is built, names of what is looked for)"""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["meson", "setup", folder, ROOT, *(f"-D{name}={value}" for name, value in options.items())],
                           check=True, capture_output=True)
            asked = subprocess.run(["meson", "introspect", "--targets", "--dependencies", folder], check=True,
                                   capture_output=True, text=True)
        found = json.loads(asked.stdout)
        return ({target["name"] for target in found["targets"]}, {entry["name"] for entry in found["dependencies"]})

    def test_the_library_alone(self):
        targets, needed = self.configured(cli="false", tests="false", bench="false", demo="false")
        self.assertLessEqual({"slotmq", "libslotmq.a"}, targets)
        self.assertFalse({"cli", "slotmq-bench", "slotmq-demo", "slotmq-sandbox"} & targets)
        self.assertFalse({"cmocka", "jansson", "smartcols"} & needed)

    def test_benchmarks_and_demo_need_no_tests(self):
        targets, needed = self.configured(tests="false")
        self.assertLessEqual({"slotmq", "cli", "slotmq-bench", "slotmq-demo"}, targets)
        self.assertFalse([name for name in targets if name.startswith("test_")])
        self.assertNotIn("cmocka", needed)

    def test_a_command_without_a_port(self):
        targets, needed = self.configured(serve="false", tests="false", bench="false", demo="false")
        self.assertLessEqual({"slotmq", "cli"}, targets)
        self.assertNotIn("libmicrohttpd", needed)

    def test_tests_of_what_is_built(self):
        targets, needed = self.configured(cli="false", bench="false", demo="false")
        self.assertIn("cmocka", needed)
        self.assertLessEqual({"test_client", "test_consume"}, targets)
        self.assertFalse([name for name in targets if name.startswith(("test_command", "test_bench"))])


if __name__ == "__main__":
    unittest.main()
