"""Install the package from a copy of the sources with pip, as docs/python.md says, and run its tests.

The arguments of such a test begin with ROOT BUILD LIBRARY RUNTIME: LIBRARY is the build folder whose library the package
gets, RUNTIME that of its AddressSanitizer, or "".  What is missing makes a test fail with its name: no test is skipped."""
import importlib.util
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

ROOT, BUILD, LIBRARY = (pathlib.Path(folder) for folder in sys.argv[1:4])
RUNTIME = sys.argv[4]
MODULES = {"cffi": "python3-cffi", "pip": "python3-pip", "pytest": "python3-pytest",
           "setuptools": "python3-setuptools", "wheel": "python3-wheel", "fastapi": "python3-fastapi",
           "uvicorn": "python3-uvicorn", "redis": "python3-redis", "psycopg2": "python3-psycopg2"}
sys.path.insert(0, str(ROOT / "tests/support"))
import watched  # noqa: E402

# What a library with a sanitizer needs in a Python that is built without one, and frees little at its end.
SANITIZED = {"LD_PRELOAD": RUNTIME, "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1"} if RUNTIME else {}
# A test that says nothing for so long hangs; then it fails, and says where each of its processes was.
SILENT_S = 120


class Installed(unittest.TestCase):
    """`self.site` is the folder into which pip installs."""

    def setUp(self):
        missing = [package for module, package in MODULES.items() if not importlib.util.find_spec(module)]
        self.assertEqual(missing, [], "these Debian packages are missing: ./dev setup")
        folder = tempfile.TemporaryDirectory(prefix="slotmq-python-")
        self.addCleanup(folder.cleanup)
        self.sources, self.site = pathlib.Path(folder.name) / "slotmq", pathlib.Path(folder.name) / "site"
        shutil.copytree(ROOT, self.sources, ignore=shutil.ignore_patterns("build", "build-*", ".git", "*.egg-info"))

    def run_python(self, *arguments, fails=False, silent_s=None, **environment):
        run = watched.run(
            [sys.executable, *arguments], silent_s, cwd=self.sources / "python",
            env={**{name: value for name, value in os.environ.items() if not name.startswith("SLOTMQ_")},
                 "PYTHONDONTWRITEBYTECODE": "1", **environment})
        self.assertEqual(run.returncode != 0, fails, run.stdout)
        return run.stdout

    def install(self, what=".", fails=False, site=None, **environment):
        """Without an index: Debian has what the build needs.  By default the library is one that was built before."""
        environment = {"SLOTMQ_LIBRARY": "shared", **environment}
        return self.run_python("-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                               "--no-cache-dir", "--target", str(site or self.site), str(what), fails=fails,
                               **environment)

    def run_tests(self, **environment):
        """Run the package's own tests, at least so many that no folder was missed."""
        said = self.run_python("-X", "faulthandler", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests",
                               silent_s=SILENT_S, PYTHONPATH=str(self.site), **environment)
        passed = re.search(r"^(\d+) passed in", said, re.MULTILINE)
        self.assertTrue(passed and int(passed[1]) >= 70, said)
