#!/usr/bin/env python3
"""Run the tests of the package for Node.js, and look at what its addon calls.

usage: test_node.py ROOT ADDON SANDBOX NODE RUNTIME WHICH

RUNTIME is that of the addon's AddressSanitizer, or ""; WHICH is "short" or "long"."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, ADDON, SANDBOX = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
NODE, RUNTIME, WHICH = sys.argv[4:7]
FOLDER = ROOT / "node"
sys.path.insert(0, str(ROOT / "tests/support"))
import watched  # noqa: E402

SANITIZED = {"LD_PRELOAD": RUNTIME, "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:quarantine_size_mb=8"} if RUNTIME else {}
SILENT_S = {"short": 120, "long": 1300}[WHICH]
LEAST = {"short": 40, "long": 4}[WHICH]
# What the addon may call of Node.js: its interface for addons, and its loop.
FOREIGN = re.compile(r"napi_\w+|uv_(poll_init|poll_start|poll_stop|close|ref|unref)")


class Node(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="slotmq-node-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_node(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOTMQ_")}
        return watched.run([NODE, *words], SILENT_S, cwd=FOLDER,
                           env={**kept, "SLOTMQ_ADDON": str(ADDON), **SANITIZED, **environment})

    def test_the_tests_of_the_package_pass(self):
        box = self.folder / "sandbox"
        subprocess.run([SANDBOX, "up", box, "--no-zookeeper"], check=True, capture_output=True)
        self.addCleanup(subprocess.run, [SANDBOX, "down", box], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", box], check=True, capture_output=True, text=True).stdout
        [address] = re.findall(r"^export SLOTMQ_REDIS=(\S+)$", said, re.MULTILINE)
        tests = sorted(map(str, FOLDER.glob("test/*.long.js" if WHICH == "long" else "test/*.test.js")))
        run = self.run_node("--test", *tests, SLOTMQ_TEST_CLUSTER=address, SLOTMQ_TEST_LONG=str(int(WHICH == "long")))
        counts = dict(re.findall(r"^\S+ (tests|pass|fail|cancelled) (\d+)$", run.stdout, re.MULTILINE))
        self.assertEqual((run.returncode, counts.get("tests")), (0, counts.get("pass")), run.stdout)
        self.assertGreaterEqual(int(counts["pass"]), LEAST, run.stdout)

    def test_the_addon_has_its_own_openssl_and_libuv(self):
        """It gives no symbol to others, and takes none of OpenSSL and only the loop from Node.js."""
        said = subprocess.run(["nm", "-D", ADDON], check=True, capture_output=True, text=True).stdout
        symbols = [line.split()[-2:] for line in said.splitlines()]
        self.assertEqual(sorted(name for kind, name in symbols if kind in "TDBR"),
                         ["napi_register_module_v1", "node_api_module_get_api_version_v1"])
        bound = self.run_node("-e", f"require({str(ADDON)!r})", LD_DEBUG="bindings", LD_BIND_NOW="1",
                              LD_DEBUG_OUTPUT=str(self.folder / "bindings"))
        self.assertEqual(bound.returncode, 0, bound.stdout)
        found = "".join(path.read_text() for path in self.folder.glob("bindings*"))
        bindings = re.findall(rf"binding file {re.escape(str(ADDON))} \[0\] to (\S+) \[0\]: normal symbol `(\w+)'", found)
        by_node = {name for file, name in bindings if os.path.basename(file) == os.path.basename(NODE)}
        self.assertIn("uv_poll_init", by_node)
        self.assertEqual([name for name in sorted(by_node) if not FOREIGN.fullmatch(name)], [])

    @unittest.skipUnless(WHICH == "short", "once is enough")
    def test_files_are_well_formed_and_types_are_right(self):
        for path in [*FOLDER.glob("lib/*.*js"), *FOLDER.glob("*.js"), *FOLDER.glob("test/*.js")]:
            self.assertEqual(self.run_node("--check", str(path)).returncode, 0, path)
        tools = self.folder / "tools"
        shutil.copytree(FOLDER / "test/types", tools)
        installed = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tools, check=False,
                                   capture_output=True, text=True)
        if installed.returncode != 0:
            print("SKIPPED: npm cannot install the compiler of TypeScript")
            return
        (tools / "node_modules/slotmq").symlink_to(FOLDER)
        checked = subprocess.run([NODE, "node_modules/typescript/bin/tsc", "--project", "."], cwd=tools, check=False,
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
