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
SILENT_S = {"short": 400, "long": 1300}[WHICH]
LEAST = {"short": 52, "long": 4}[WHICH]
# Those that have a long form.
LONG = ["hostile", "load", "service"]
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

    @staticmethod
    def defined(file):
        """The functions that it gives to others."""
        said = subprocess.run(["nm", "-D", "--defined-only", file], check=True, capture_output=True, text=True).stdout
        return {line.split()[2].split("@")[0] for line in said.splitlines() if line.split()[1] == "T"}

    def given_by_node(self):
        """By file, the functions of Node.js, and of its libraries where libuv, OpenSSL or itself are in some."""
        said = subprocess.run(["ldd", NODE], check=True, capture_output=True, text=True).stdout
        files = {file: self.defined(file) for file in [NODE, *re.findall(r"=> (/\S+)", said)]}
        marks = {"napi_create_function", "uv_run", "SSL_new", "EVP_DigestInit_ex"}
        return {os.path.basename(file): names for file, names in files.items() if names & marks}

    def test_the_tests_of_the_package_pass(self):
        box = self.folder / "sandbox"
        subprocess.run([SANDBOX, "up", box], check=True, capture_output=True)
        self.addCleanup(subprocess.run, [SANDBOX, "down", box], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", box], check=True, capture_output=True, text=True).stdout
        [address] = re.findall(r"^export SLOTMQ_REDIS=(\S+)$", said, re.MULTILINE)
        more = self.bullmq() if WHICH == "long" else {}
        tests = sorted(str(path) for path in FOLDER.glob("test/*.test.js") if WHICH == "short" or path.name.split(".")[0] in LONG)
        run = self.run_node("--test", *tests, SLOTMQ_TEST_CLUSTER=address, SLOTMQ_TEST_LONG=str(int(WHICH == "long")), **more)
        counts = dict(re.findall(r"^\S+ (tests|pass|fail|cancelled|skipped) (\d+)$", run.stdout, re.MULTILINE))
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertGreaterEqual(int(counts["pass"]), LEAST, run.stdout)
        self.assertEqual(int(counts["tests"]), int(counts["pass"]) + int(counts["skipped"]), run.stdout)

    def test_the_addon_has_its_own_openssl_and_libuv(self):
        """It gives no symbol to others, and takes none of OpenSSL and only the loop from Node.js."""
        self.assertEqual(self.defined(ADDON), {"napi_register_module_v1", "node_api_module_get_api_version_v1"})
        given = self.given_by_node()
        self.assertLessEqual({"uv_run", "SSL_new"}, set().union(*given.values()))
        bound = self.run_node("-e", f"require({str(ADDON)!r})", LD_DEBUG="bindings", LD_BIND_NOW="1",
                              LD_DEBUG_OUTPUT=str(self.folder / "bindings"))
        self.assertEqual(bound.returncode, 0, bound.stdout)
        found = "".join(path.read_text() for path in self.folder.glob("bindings*"))
        bindings = re.findall(rf"binding file {re.escape(str(ADDON))} \[0\] to (\S+) \[0\]: normal symbol `(\w+)'", found)
        by_node = {name for file, name in bindings if name in given.get(os.path.basename(file), ())}
        self.assertIn("uv_poll_init", by_node)
        self.assertEqual([name for name in sorted(by_node) if not FOREIGN.fullmatch(name)], [])

    def npm_ci(self, tools):
        """Whether npm could install what the folder locks."""
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tools, check=False,
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"SKIPPED: npm cannot install {tools.name}: {done.stderr[-300:]}")
        return done.returncode == 0

    def bullmq(self):
        """BullMQ, and a Redis for it."""
        tools = self.folder / "bullmq"
        shutil.copytree(ROOT / "bench/peers/bullmq", tools)
        if not self.npm_ci(tools):
            return {}
        socket = self.folder / "redis"
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return {"SLOTMQ_TEST_BULLMQ": str(tools), "SLOTMQ_TEST_REDIS": str(socket)}

    def test_a_copy_without_the_sources_says_what_to_do(self):
        copy = self.folder / "node_modules/slotmq"
        copy.mkdir(parents=True)
        shutil.copy(FOLDER / "build.js", copy)
        run = self.run_node(str(copy / "build.js"))
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn(f"the sources of the library are not in {copy.parent}: install", run.stdout)

    @unittest.skipUnless(WHICH == "short", "once is enough")
    def test_files_are_well_formed_and_types_are_right(self):
        """The tests load all files but one."""
        self.assertEqual(self.run_node("--check", str(FOLDER / "build.js")).returncode, 0)
        tools = self.folder / "tools"
        shutil.copytree(FOLDER / "test/types", tools)
        if not self.npm_ci(tools):
            return
        (tools / "node_modules/slotmq").symlink_to(FOLDER)
        checked = subprocess.run([NODE, "node_modules/typescript/bin/tsc", "--project", "."], cwd=tools, check=False,
                                 capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
