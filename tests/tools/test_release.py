#!/usr/bin/env python3
"""./dev release on copies of a small tree: it makes the same tarball each time with a bill of
materials, and refuses whatever is not ready, also what was only SKIPPED.

usage: test_release.py LIBRARY COMMAND   what was built, to see what it needs
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(sys.argv.pop())
LIBRARY = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "tools"))
import sbom

CORE_H = "".join(f"#define SMQ_VERSION_{part} {number}\n" for part, number in
                 [("MAJOR", 0), ("MINOR", 3), ("PATCH", 1)])
DEV = """#!/bin/sh
case "$*" in
build | abi) exit 0 ;;
"package test") echo "ok      packages in bookworm"; exit 0 ;;
"test --server "*" short") echo "dev: $3"; exit 0 ;;
newcomer) echo "ok      bookworm: 10 commands in 90 s"; exit 0 ;;
esac
exit 64
"""
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
               **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
               "GIT_COMMITTER_DATE": "2026-02-03T04:05:06Z"}


class Tree(unittest.TestCase):
    """A tree of version 0.3.1 that is ready to be released."""

    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.kept.name) / "tree"
        self.root.mkdir()
        for tool in ["release.py", "tarball.py", "sbom.py", "servers.py", "version.py"]:
            self.write(f"tools/{tool}", (ROOT / "tools" / tool).read_text(), 0o755)
        self.write("tools/symbols.py", "#!/bin/sh\n", 0o755)
        self.write("dev", DEV, 0o755)
        self.write("include/slotmq/core.h", CORE_H)
        self.write("packaging/vcpkg/slotmq/vcpkg.json", '{\n  "version": "0.3.1"\n}\n')
        self.write("node/package.json", '{\n  "version": "0.3.1"\n}\n')
        self.write("debian/changelog", "slotmq (0.3.1-1) unstable; urgency=medium\n")
        self.write("debian/control", "Package: libslotmq0.3\n")
        self.write("CHANGELOG.md", "# Changes\n\n## 0.3.1, 2026-02-03\n\n- A fix.\n")
        self.write("docs/abi/libslotmq-0.3.1.abi", "")
        self.write("SECURITY.md", "# Security\n")
        self.write(".gitignore", "/build*/\n__pycache__/\n")
        self.git("init", "-q", "-b", "main")
        self.commit()

    def tearDown(self):
        self.kept.cleanup()

    def write(self, path, text, mode=0o644):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        (self.root / path).chmod(mode)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True, env=ENVIRONMENT)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def release(self):
        return subprocess.run([sys.executable, self.root / "tools/release.py", self.root], text=True, check=False,
                              capture_output=True, env=ENVIRONMENT, cwd="/")

    def made(self):
        return {path.name: path for path in (self.root / "build-release").glob("*")}


class Made(Tree):
    def test_tarball_bill_and_sums(self):
        done = self.release()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn('git tag -a v0.3.1 -m "slotmq 0.3.1"', done.stdout)
        made = self.made()
        self.assertEqual(set(made), {"slotmq-0.3.1.tar.gz", "slotmq-0.3.1.spdx.json", "SHA256SUMS"})
        sums = dict(reversed(line.split("  ")) for line in made["SHA256SUMS"].read_text().splitlines())
        for name, digest in sums.items():
            self.assertEqual(hashlib.sha256(made[name].read_bytes()).hexdigest(), digest, name)
        with tarfile.open(made["slotmq-0.3.1.tar.gz"]) as tar:
            names = tar.getnames()
        self.assertIn("slotmq-0.3.1/include/slotmq/core.h", names)
        self.assertFalse([name for name in names if "debian" in name or ".git/" in name])

    def test_the_same_commit_makes_the_same_bytes(self):
        self.assertEqual(self.release().returncode, 0)
        first = {name: path.read_bytes() for name, path in self.made().items()}
        self.assertEqual(self.release().returncode, 0)
        self.assertEqual({name: path.read_bytes() for name, path in self.made().items()}, first)


class Refused(Tree):
    def check(self, said):
        done = self.release()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(said, done.stdout)
        self.assertIn("0.3.1 is not released", done.stderr)
        self.assertEqual(self.made(), {})

    def with_file(self, path, text, said):
        self.write(path, text, 0o755 if path == "dev" else 0o644)
        self.commit()
        self.check(said)

    def test_a_tree_that_is_not_committed(self):
        self.write("new", "")
        self.check("FAILED  tree: commit or remove what git status shows")

    def test_a_version_that_is_released(self):
        self.git("tag", "v0.3.1")
        self.check("FAILED  tree: the tag v0.3.1 exists")

    def test_versions_that_differ(self):
        for path, text in [("packaging/vcpkg/slotmq/vcpkg.json", '{"version": "0.3.0"}'),
                           ("node/package.json", '{"version": "0.3.0"}'),
                           ("debian/changelog", "slotmq (0.3.0-1) unstable; urgency=medium\n"),
                           ("debian/changelog", "slotmq (0.3.1-1) UNRELEASED; urgency=medium\n"),
                           ("debian/control", "Package: libslotmq0.2\n")]:
            before = (self.root / path).read_text()
            self.with_file(path, text, f"FAILED  version: {path}")
            self.write(path, before)

    def test_a_changelog_without_the_date(self):
        for section in ["## 0.3.1, not released\n", "## 0.3.0, 2026-01-01\n", ""]:
            self.with_file("CHANGELOG.md", "# Changes\n\n" + section, "FAILED  changelog: CHANGELOG.md must begin")

    def test_a_page_that_knows_no_release(self):
        self.with_file("SECURITY.md", "Until the first release only `main` is supported.\n",
                       "FAILED  security: SECURITY.md says that there is no release")

    def test_symbols_and_interface(self):
        self.write("tools/symbols.py", "#!/bin/sh\necho smq_x is visible >&2; exit 1\n", 0o755)
        self.commit()
        self.check("smq_x is visible")
        self.with_file("dev", DEV.replace("build | abi)", "build)"), "FAILED  interface: ./dev abi")

    def test_an_interface_that_is_not_kept(self):
        (self.root / "docs/abi/libslotmq-0.3.1.abi").unlink()
        self.with_file("docs/abi/libslotmq-0.3.0.abi", "", "docs/abi has no libslotmq-0.3.1.abi")

    def test_an_interface_that_has_grown_since_the_version_of_the_symbols(self):
        """Packages of programs would take the library of before, which lacks what they use."""
        self.write("bin/abidiff", "#!/bin/sh\nexit 4\n", 0o755)
        self.write("docs/abi/libslotmq-0.3.0.abi", "")
        with unittest.mock.patch.dict(ENVIRONMENT, PATH=f"{self.root}/bin:{os.environ['PATH']}"):
            self.with_file("debian/libslotmq0.3.symbols", " (symver)SLOTMQ_0.3 0.3.0\n",
                           "FAILED  interface: debian/libslotmq0.3.symbols")
            self.write("debian/libslotmq0.3.symbols", " (symver)SLOTMQ_0.3 0.3.1\n")
            self.commit()
            self.assertEqual(self.release().returncode, 0)

    def test_a_check_that_was_skipped(self):
        skipped = DEV.replace('echo "ok      packages in bookworm"; exit 0',
                              'echo "SKIPPED packages in trixie: no network"; exit 77')
        self.with_file("dev", skipped, "SKIPPED packages: SKIPPED packages in trixie: no network")
        skipped = DEV.replace('echo "dev: $3"; exit 0',
                              '[ "$3" != valkey-9.1 ] || { echo "dev: SKIPPED: the tests with $3: no mirror" >&2;'
                              " exit 77; }; exit 0")
        self.with_file("dev", skipped, "SKIPPED servers: dev: SKIPPED: the tests with valkey-9.1: no mirror")
        skipped = DEV.replace('echo "ok      bookworm: 10 commands in 90 s"; exit 0',
                              'echo "SKIPPED trixie: no network"; exit 77')
        self.with_file("dev", skipped, "SKIPPED newcomer: SKIPPED trixie: no network")

    def test_a_check_that_failed(self):
        self.with_file("dev", DEV.replace('bookworm"; exit 0', 'bookworm"; exit 1'), "FAILED  packages")
        self.with_file("dev", DEV.replace('90 s"; exit 0', '90 s"; exit 1'), "FAILED  newcomer: ./dev newcomer")
        self.with_file("dev", DEV.replace('"dev: $3"; exit 0', '"dev: $3"; exit 1'),
                       "FAILED  servers: ./dev test --server redis-7.0 short")

    def test_a_tarball_that_differs(self):
        tool = (ROOT / "tools/tarball.py").read_text().replace("mtime=0", "mtime=__import__('os').getpid()")
        self.write("tools/tarball.py", tool, 0o755)
        self.commit()
        self.check("two clones of the commit make different tarballs")


class Bill(unittest.TestCase):
    """The bill of materials has what SPDX 2.3 requires, and what the built files need."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            tarball = pathlib.Path(folder) / "slotmq-0.3.1.tar.gz"
            tarball.write_bytes(b"x")
            cls.bill = sbom.bill(tarball, "0.3.1", "2026-02-03T04:05:06Z")

    def test_document(self):
        bill = json.loads(json.dumps(self.bill))
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]),
                         ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(bill["documentNamespace"], r"^https?://\S+[^#]$")
        datetime.datetime.strptime(bill["creationInfo"]["created"], "%Y-%m-%dT%H:%M:%SZ")
        for creator in bill["creationInfo"]["creators"]:
            self.assertRegex(creator, r"^(Organization|Tool|Person): ")

    def test_packages(self):
        found = {package["SPDXID"]: package for package in self.bill["packages"]}
        self.assertEqual(len(found), len(self.bill["packages"]))
        for name, package in found.items():
            self.assertRegex(name, r"^SPDXRef-[a-zA-Z0-9.-]+$")
            self.assertLessEqual({"name", "downloadLocation", "licenseDeclared", "copyrightText"}, set(package))
            self.assertIs(package["filesAnalyzed"], False)
        self.assertEqual(found["SPDXRef-slotmq"]["checksums"][0]["checksumValue"], hashlib.sha256(b"x").hexdigest())

    def test_relationships(self):
        known = {package["SPDXID"] for package in self.bill["packages"]} | {"SPDXRef-DOCUMENT"}
        kinds = {"DESCRIBES", "DEPENDS_ON", "BUILD_DEPENDENCY_OF"}
        for relation in self.bill["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, known)
            self.assertIn(relation["relationshipType"], kinds)
        named = {relation[end] for relation in self.bill["relationships"] for end in
                 ("spdxElementId", "relatedSpdxElement")}
        self.assertEqual(named, known)

    def test_it_has_what_was_linked(self):
        needed = set()
        for path in (LIBRARY, COMMAND):
            dump = subprocess.run(["readelf", "-dW", path], check=True, capture_output=True, text=True).stdout
            needed |= set(re.findall(r"\(NEEDED\).*\[([\w-]+\.so)[.\d]*\]", dump))
        own = {"libc.so", "libslotmq.so", "libcrypto.so", "libm.so", "libpthread.so"}
        needed = {name for name in needed - own if not re.match(r"(lib(asan|ubsan|tsan|gcc_s)|ld-linux)", name)}
        self.assertEqual({row[2] for row in sbom.MATERIALS.values() if row[2]}, needed)


if __name__ == "__main__":
    if not shutil.which("git"):
        sys.exit("git is needed")
    unittest.main()
