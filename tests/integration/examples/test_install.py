#!/usr/bin/env python3
"""Follow docs/INSTALL.md and then what README.md does with it, letter for letter, in a copy of the sources,
with an empty root to install into.

apt-get is only compared with what is installed, and ldconfig left to LD_LIBRARY_PATH, because both
need root.

usage: test_install.py ROOT"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "packaging"))
from newcomer import section, steps


class Install(unittest.TestCase):
    """One machine on which a user begins: the pages are followed from the first to the last line."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="slotmq-install-")
        base = pathlib.Path(cls.folder.name)
        cls.sources = base / "slotmq"
        cls.root = base / "root"
        cls.root.mkdir()
        (base / "run").mkdir(mode=0o700)
        shutil.copytree(ROOT, cls.sources, ignore=shutil.ignore_patterns("build*", ".git"))
        cls.environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("SLOTMQ_", "ASAN_", "UBSAN_", "LSAN_"))}
        cls.environment.update(DESTDIR=str(cls.root), XDG_RUNTIME_DIR=str(base / "run"))
        cls.install = steps((cls.sources / "docs/INSTALL.md").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def follow(self, lines, **more):
        """Run the lines in one shell, which ends at the first that fails."""
        run = subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=self.sources, text=True,
                             env={**self.environment, **more}, capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, f"{lines}\n{run.stdout}\n{run.stderr}")
        return run.stdout

    def installed(self):
        """The environment of a user on whose machine the root is /."""
        libraries = next(self.root.rglob("libslotmq.so")).parent
        return {"PATH": f"{self.root}/usr/local/bin:{self.environment['PATH']}",
                "PKG_CONFIG_PATH": str(libraries / "pkgconfig"),
                "PKG_CONFIG_SYSROOT_DIR": str(self.root),
                "LD_LIBRARY_PATH": str(libraries)}

    def test_1_install(self):
        update, packages, setup, compiled, install, ldconfig, program, *_ = self.install
        self.assertEqual(update, "apt-get update")
        self.assertRegex(packages, "^apt-get install -y ")
        self.assertEqual(ldconfig, "ldconfig")
        table = (self.sources / "dev").read_text().split("PACKAGES=(\n")[1].split("\n)")[0]
        known = re.findall(r"[\w.+-]+", " ".join(re.findall(r'"([^"]*)"', table)))
        self.assertLess(set(packages.split()[3:]), set(known))
        self.follow([setup, compiled, install])
        for path in ["bin/slotmq", "include/slotmq/slotmq.h", "share/man/man1/slotmq.1"]:
            self.assertTrue((self.root / "usr/local" / path).is_file(), path)
        self.follow([program], **self.installed())

    def test_2_cmake(self):
        """The block of the page, with a program around it; once shared and once static."""
        page = (self.sources / "docs/INSTALL.md").read_text()
        find, link = re.search(r"^```cmake\n(.*)\n(.*)\n```$", page, re.MULTILINE)[0].splitlines()[1:3]
        kinds = re.findall(r"slotmq::\w+", link)
        self.assertEqual(len(kinds), 2)
        for kind in kinds:
            folder = pathlib.Path(self.folder.name) / kind.replace("::", "-")
            folder.mkdir()
            (folder / "CMakeLists.txt").write_text("\n".join([
                "cmake_minimum_required(VERSION 3.16)", "project(readme C)", find,
                f"add_executable(readme {self.sources}/examples/readme.c)",
                link.split("#")[0].replace(kinds[0], kind)]))
            self.follow([f"cmake -S {folder} -B {folder}/build -DCMAKE_PREFIX_PATH={self.root}/usr/local",
                         f"cmake --build {folder}/build", f"test -x {folder}/build/readme"], **self.installed())

    def test_2_readme(self):
        """Up to the packages for other languages, whose programs the tests of these languages run."""
        lines = section("Send and consume")
        lines = lines[:next(at for at, line in enumerate(lines) if line.startswith("apt-get "))]
        try:
            said = self.follow(lines, **self.installed())
        finally:
            self.follow(["./dev sandbox down"])
        self.assertEqual(said.splitlines()[:3], ["two books"] * 3)
        self.assertRegex("\n".join(lines), "(?s)sandbox up.*slotmq topic create.*slotmq send.*slotmq consume"
                                           ".*cc .*[.]/readme.*c[+][+] .*[.]/raii")

    def test_3_uninstalled(self):
        *_, export, program = self.install
        run = '! said=$(./readme 127.0.0.1:1 2>&1); echo "$said"; ldd readme'
        (self.sources / "readme").unlink(missing_ok=True)
        said = self.follow([export, program, run])
        self.assertIn("127.0.0.1:1", said)
        self.assertIn(f"{self.sources}/build-install/libsrc/libslotmq.so", said)

    def test_4_without_zookeeper(self):
        """Beside a slotmq with ZooKeeper, which binds a topic to its fleet."""
        self.root = pathlib.Path(self.folder.name) / "without"
        setup = ("meson setup build-without --buildtype=release -Dtests=false -Dbench=false -Ddemo=false"
                 " -Dzookeeper=disabled")
        self.follow([setup, "meson compile -C build-without", "meson install -C build-without"],
                    DESTDIR=str(self.root))
        here = self.installed()
        needed = self.follow(["pkg-config --static --libs slotmq", "ldd $(command -v slotmq)",
                              f"cat {here['LD_LIBRARY_PATH']}/cmake/slotmq/*.cmake"], **here)
        self.assertIn("-lhiredis", needed)
        self.assertNotIn("zookeeper", needed)
        fleet = f"env LD_LIBRARY_PATH= {self.sources}/build-install/cli/slotmq"
        try:
            said = self.follow([
                "./dev sandbox up --zookeeper", 'eval "$(./dev sandbox env)"',
                f"{fleet} topic create bound && {fleet} send bound one && {fleet} consume bound --count 1",
                "slotmq topic create spread --shared && slotmq send spread two",
                "slotmq consume spread --count 1",
                "slotmq send bound three",
                'refused() { ! "$@" 2>&1; }',
                "refused slotmq consume bound --count 1",
                "refused slotmq fleet show",
                "unset SLOTMQ_ZOOKEEPER",
                "refused slotmq consume bound --count 1",
                "slotmq topic create alone && slotmq send alone four && slotmq consume alone --count 1",
            ], **here)
        finally:
            self.follow(["./dev sandbox down"])
        lines = said.splitlines()
        self.assertEqual([line for line in lines if " " not in line], ["one", "two", "four"], said)
        refusals = [line for line in lines if " " in line]
        self.assertEqual(len(refusals), 3, said)
        for line in refusals[:2]:
            self.assertIn("this library was built without ZooKeeper", line)
        self.assertIn("belongs to a fleet in ZooKeeper", refusals[2])


if __name__ == "__main__":
    unittest.main()
