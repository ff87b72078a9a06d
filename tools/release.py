#!/usr/bin/env python3
"""Check that the commit can be a release, and make its tarball, its bill of materials and the sums of
both in build-release.  ./dev release runs this.

usage: release.py [ROOT]

Each check is ok, FAILED or SKIPPED; with one that is not ok nothing is released, and the exit status
is 1.  It changes neither the tree nor git, and sends nothing: at the end it says what to do by hand.
"""
import datetime
import filecmp
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import servers
import version

SKIPPED = 77
SAID_MOST = 40  # lines of a check that failed


class Refused(Exception):
    """The check failed; the text says what to do."""


class Skipped(Exception):
    """The check could not be made; the text is the reason."""


class Release:
    def __init__(self, root):
        self.root = root
        self.version = version.read(root / "include/slotmq/core.h")
        self.folder = root / "build-release"

    def run(self, *command, **options):
        return subprocess.run(list(map(str, command)), cwd=self.root, text=True, capture_output=True, check=False,
                              **options)

    def must(self, *command, **options):
        done = self.run(*command, **options)
        if done.returncode != 0:
            raise Refused(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}".rstrip())
        return done.stdout

    def text(self, path):
        return (self.root / path).read_text()

    # === Checks ==============================================================

    def check_tree(self):
        """The commit is all that there is, and no release yet."""
        if self.must("git", "status", "--porcelain"):
            raise Refused("commit or remove what git status shows")
        if self.must("git", "tag", "--list", f"v{self.version}"):
            raise Refused(f"the tag v{self.version} exists: raise the version in include/slotmq/core.h")

    def check_version(self):
        soversion = version.soversion(self.version)
        if f'"version": "{self.version}"' not in self.text("packaging/vcpkg/slotmq/vcpkg.json"):
            raise Refused(f"packaging/vcpkg/slotmq/vcpkg.json: the version is not {self.version}")
        if f'"version": "{self.version}"' not in self.text("node/package.json"):
            raise Refused(f"node/package.json: the version is not {self.version}")
        first = self.text("debian/changelog").splitlines()[0]
        if not first.startswith(f"slotmq ({self.version}-") or "UNRELEASED" in first:
            raise Refused(f"debian/changelog must begin with an entry of {self.version} that is not UNRELEASED")
        if f"Package: libslotmq{soversion}\n" not in self.text("debian/control"):
            raise Refused(f"debian/control: there is no package libslotmq{soversion}")

    def check_changelog(self):
        section = re.search(r"^## (.*)$", self.text("CHANGELOG.md"), re.MULTILINE)
        if not section or not re.fullmatch(re.escape(self.version) + r", \d{4}-\d\d-\d\d", section[1]):
            raise Refused(f"CHANGELOG.md must begin with \"## {self.version}, YYYY-MM-DD\", not \"## "
                          f"{section[1] if section else ''}\"")

    def check_security(self):
        if "Until the first release" in self.text("SECURITY.md"):
            raise Refused("SECURITY.md says that there is no release")

    def check_symbols(self):
        self.must("./dev", "build")
        self.must("tools/symbols.py", "include/slotmq", "build/libsrc/libslotmq.so", "build/libsrc/libslotmq.a")

    def check_interface(self):
        """The dump of this version is kept, and is that of this commit; within one SONAME it only grows."""
        dumps = sorted((self.root / "docs/abi").glob("libslotmq-*.abi"), key=numbers)
        if not dumps or dumps[-1].name != f"libslotmq-{self.version}.abi":
            raise Refused(f"docs/abi has no libslotmq-{self.version}.abi: run ./dev abi write, and commit it")
        self.must("./dev", "abi")
        soversion = version.soversion(self.version)
        before = [dump for dump in dumps[:-1] if soversion_of(dump) == soversion]
        if before:
            done = self.run("abidiff", "--suppressions", "docs/abi/private.supp", before[-1], dumps[-1])
            if done.returncode & ~4:  # 4: it changed; 8 and 1: it broke, or could not be compared
                raise Refused(f"the interface of {before[-1].name} is broken, so the SONAME must change\n{done.stdout}")
            symbols = f"debian/libslotmq{soversion}.symbols"
            since = f"(symver)SLOTMQ_{soversion} {self.version}\n"
            if done.returncode == 4 and since not in self.text(symbols):
                raise Refused(f"{symbols}: the interface is larger than that of {before[-1].name}, so programs need "
                              f"this version: write \"{since.rstrip()}\"")

    def check_servers(self):
        """A small suite; the whole ones are run by hand."""
        for name in servers.SERVERS:
            self.check_not_skipped("./dev", "test", "--server", name, "short")

    def check_packages(self):
        self.check_not_skipped("./dev", "package", "test")

    def check_newcomer(self):
        self.check_not_skipped("./dev", "newcomer")

    def check_not_skipped(self, *command):
        done = self.run(*command)
        said = (done.stdout + done.stderr).splitlines()
        if done.returncode == SKIPPED:
            raise Skipped(next((line for line in said if "SKIPPED" in line), "\n".join(said)))
        if done.returncode != 0:
            raise Refused("\n".join([" ".join(command), *said[-SAID_MOST:]]))

    def check_tarball(self):
        """It is made twice, by clones in other folders, with other settings of the user."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        name = f"slotmq-{self.version}.tar.gz"
        with tempfile.TemporaryDirectory() as folder:
            made = [self.tarball_of_clone(pathlib.Path(folder) / clone / name, mask, zone)
                    for clone, mask, zone in [("one", 0o022, "UTC"), ("another", 0o077, "Asia/Tokyo")]]
            if not filecmp.cmp(*made, shallow=False):
                raise Refused("two clones of the commit make different tarballs")
            shutil.copy(made[0], self.folder / name)

    def tarball_of_clone(self, out, mask, zone):
        out.parent.mkdir()
        clone = out.parent / "clone"
        self.must("git", "clone", "--quiet", self.root, clone, umask=mask)
        self.must(clone / "tools/tarball.py", out, "HEAD", umask=mask, env={**os.environ, "TZ": zone, "LC_ALL": "C"})
        return out

    def check_bill(self):
        """Of the tarball, with the time of the commit; then the sums of both."""
        tarball = self.folder / f"slotmq-{self.version}.tar.gz"
        if not tarball.exists():
            raise Refused("there is no tarball")
        seconds = int(self.must("git", "show", "-s", "--format=%ct", "HEAD"))
        created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        bill = self.folder / f"slotmq-{self.version}.spdx.json"
        self.must("tools/sbom.py", bill, tarball, self.version, created)
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (tarball, bill))
        (self.folder / "SHA256SUMS").write_text(sums)

    # =========================================================================

    def check_all(self):
        """How many checks were not ok."""
        bad = 0
        for name in ["tree", "version", "changelog", "security", "symbols", "interface", "servers", "packages",
                     "newcomer", "tarball", "bill"]:
            try:
                getattr(self, f"check_{name}")()
                print(f"ok      {name}", flush=True)
            except Refused as reason:
                bad += 1
                print(f"FAILED  {name}: {reason}", flush=True)
            except Skipped as reason:
                bad += 1
                print(f"SKIPPED {name}: {reason}", flush=True)
        return bad

    def by_hand(self):
        return f"""
{self.folder}: the tarball, its bill of materials, the sums of both.
By hand, as docs/release.md says:
  the long checks: .ci/run on a fresh clone, ./dev nightly --record FOLDER, ./dev fuzz --seconds 600;
    then ./dev record FOLDER, whose page is published, too
  git tag -a v{self.version} -m "slotmq {self.version}"
  gpg --detach-sign --armor build-release/SHA256SUMS
  git push origin main v{self.version}
  publish build-release with the section of CHANGELOG.md as its text
  raise the version in include/slotmq/core.h, and begin its section in CHANGELOG.md"""


def numbers(dump):
    return [int(number) for number in re.findall(r"\d+", dump.stem)]


def soversion_of(dump):
    return version.soversion(dump.stem.removeprefix("libslotmq-"))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    release = Release(root)
    bad = release.check_all()
    if bad:
        shutil.rmtree(release.folder, ignore_errors=True)
        sys.exit(f"release: {bad} checks are not ok, so {release.version} is not released")
    print(release.by_hand())


if __name__ == "__main__":
    main()
