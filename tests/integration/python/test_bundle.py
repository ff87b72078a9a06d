#!/usr/bin/env python3
"""The package from a source distribution, with a library of its own and without ZooKeeper.

usage: test_bundle.py ROOT BUILD LIBRARY RUNTIME"""
import subprocess
import sys
import unittest

from installed import Installed


class Bundle(Installed):
    def test_the_package_has_its_library_inside(self):
        self.run_python("setup.py", "sdist")
        [distribution] = (self.sources / "python/dist").iterdir()
        self.install(distribution, SLOTMQ_LIBRARY="without-zookeeper")
        needed = subprocess.run(["ldd", str(self.site / "slotmq/_native.abi3.so")], capture_output=True, text=True,
                                check=True).stdout
        self.assertIn("libhiredis", needed)
        self.assertNotIn("libslotmq", needed)
        self.assertNotIn("zookeeper", needed)
        self.run_tests()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
