#!/usr/bin/env python3
"""Celery, with real workers, on a cluster of three masters; and children of fork().

usage: test_celery.py ROOT BUILD LIBRARY RUNTIME SANDBOX WHICH

WHICH is "short", or "long" for what the nightly run has besides."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from installed import LIBRARY, SANITIZED, SILENT_S, Installed

SANDBOX, WHICH = str(pathlib.Path(sys.argv[5]).resolve()), sys.argv[6]
MODULES = {"celery": "python3-celery", "django": "python3-django", "eventlet": "python3-eventlet",
           "gevent": "python3-gevent", "redis": "python3-redis"}
ZOOKEEPER = {"short": [], "long": ["--zookeeper"]}
SILENT = {"short": SILENT_S, "long": 1300}
LEAST = {"short": 60, "long": 16}


class Celery(Installed):
    def test_celery_runs_on_a_cluster(self):
        missing = [package for module, package in MODULES.items() if not importlib.util.find_spec(module)]
        self.assertEqual(missing, [], "these Debian packages are missing: ./dev setup")
        folder = tempfile.TemporaryDirectory(prefix="slotmq-celery-")
        self.addCleanup(folder.cleanup)
        box = pathlib.Path(folder.name) / "sandbox"
        subprocess.run([SANDBOX, "up", box, *ZOOKEEPER[WHICH]], check=True, capture_output=True)
        self.addCleanup(subprocess.run, [SANDBOX, "down", box], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", box], check=True, capture_output=True, text=True).stdout
        addresses = dict(re.findall(r"^export SLOTMQ_(REDIS|ZOOKEEPER)=(\S+)$", said, re.MULTILINE))
        self.install(PKG_CONFIG_PATH=str(LIBRARY / "meson-uninstalled"))
        said = self.run_python(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=10",
            "-m", "long" if WHICH == "long" else "not long", "tests/celery", silent_s=SILENT[WHICH],
            PYTHONPATH=str(self.site), **SANITIZED,
            SLOTMQ_TEST_SANDBOX=SANDBOX, SLOTMQ_TEST_CLUSTER=addresses["REDIS"],
            SLOTMQ_TEST_ZOOKEEPER=addresses.get("ZOOKEEPER", ""))
        passed = re.search(r"^(\d+) passed", said, re.MULTILINE)
        self.assertTrue(passed and int(passed[1]) >= LEAST[WHICH], said)
        print(said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
