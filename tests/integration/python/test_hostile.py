#!/usr/bin/env python3
"""Many random applications of python/tests/hostile.py, with other numbers in each run.

usage: test_hostile.py ROOT BUILD LIBRARY RUNTIME"""
import sys
import unittest

from installed import LIBRARY, SANITIZED, Installed


class Hostile(Installed):
    def test_hostile_applications_leave_nothing_claimed_and_no_thread_dead(self):
        self.install(PKG_CONFIG_PATH=str(LIBRARY / "meson-uninstalled"))
        print(self.run_python("tests/hostile.py", "--count", "2000", PYTHONPATH=str(self.site), **SANITIZED))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
