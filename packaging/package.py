#!/usr/bin/env python3
"""Build the Debian packages, and test that they are enough.  ./dev package runs this.

usage: package.py build            build those of this Debian into build-package/SUITE, and let
                                   lintian check them
       package.py test [SUITE...]  for each SUITE (default: bookworm trixie) build them, install them
                                   in an empty chroot, and run debian/tests/installed there

A suite for which no chroot can be made is SKIPPED with the reason, and the exit status is 77.
"""
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import chroot
import tarball
import version

LOGS = ROOT / "build-package"
SUITES = ["bookworm", "trixie"]
SKIPPED = 77
# The packages are not uploaded to Debian: the changelog may say UNRELEASED, and closes no bug there.
LINTIAN = ["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
           "bad-distribution-in-changes-file,initial-upload-closes-no-bugs"]
PACKAGES = ["libslotmq0.3", "libslotmq-dev", "slotmq", "python3-slotmq", "libslotmq0.3-dbgsym", "slotmq-dbgsym",
            "python3-slotmq-dbgsym"]
# What debian/tests/control wants beside the packages.
TOOLS = ["cmake", "gcc", "libc6-dev", "make", "pkgconf", "redis-server"]


def this_suite():
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    except OSError:
        return ""


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    say(f"package: {text}")
    sys.exit(1)


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, **{"text": True, **options})
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def sources(suite):
    """A new folder build-package/SUITE with the sources, as a maintainer begins."""
    folder = ROOT / "build-package" / suite
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    now = version.read()
    orig, commit = folder / f"slotmq_{now}.orig.tar.gz", tarball.commit_of_now()
    tarball.make(orig, commit)
    run("tar", "-xzf", orig, "-C", folder)
    run("tar", "-x", "-C", folder / f"slotmq-{now}", input=tarball.git("archive", commit, "debian"), text=False)
    return folder, folder / f"slotmq-{now}"


def check(folder):
    """Every package is there, and lintian says nothing."""
    made = {path.name.split("_")[0] for path in folder.glob("*.deb")}
    missing = sorted(set(PACKAGES) - made)
    if missing:
        fail(f"{folder}: {', '.join(missing)} not built")
    changes = next(folder.glob("*.changes"))
    said = run(*LINTIAN, changes)
    if said.strip():
        fail(f"lintian: {said}")


def build_here(suite):
    folder, tree = sources(suite)
    say(f"package: building in {folder}")
    run("dpkg-buildpackage", "-us", "-uc", cwd=tree)
    check(folder)
    return folder


def in_chroot(suite, variant, copied, commands, copied_out=None):
    try:
        return chroot.run(suite, variant, copied, commands, LOGS / f"{suite}-{variant}.log", copied_out)
    except chroot.Failed as failure:
        fail(failure)


def build_in_chroot(suite):
    folder, tree = sources(suite)
    say(f"package: building in a chroot of {suite}")
    in_chroot(suite, "buildd", [tree, next(folder.glob("*.orig.tar.gz"))], [
        "apt-get -qq update",
        f"apt-get -qq -y --no-install-recommends build-dep ./{tree.name}",
        "apt-get -qq -y --no-install-recommends install lintian",
        f"cd {tree.name}",
        "dpkg-buildpackage -us -uc",
        "cd ..",
        " ".join(LINTIAN) + " *.changes",
        "mkdir out",
        "cp ./*.deb ./*.changes out",
    ], folder)
    return folder


def test(suite):
    """Each package is installed with nothing but what it needs."""
    folder = build_here(suite) if suite == this_suite() else build_in_chroot(suite)
    debs = [path for path in folder.glob("*.deb") if "dbgsym" not in path.name]
    say(f"package: installing in an empty chroot of {suite}")
    said = in_chroot(suite, "minbase", [*debs, ROOT / "debian/tests/installed"], [
        "apt-get -qq update",
        "apt-get -qq -y --no-install-recommends install ./libslotmq0.3_*.deb ./slotmq_*.deb",
        "slotmq --version",
        f"apt-get -qq -y --no-install-recommends install ./libslotmq-dev_*.deb ./python3-slotmq_*.deb {' '.join(TOOLS)}",
        "./installed",
    ])
    print("\n".join(line for line in said.splitlines() if line.startswith(("ok ", "slotmq "))))


def test_all(suites):
    skipped = False
    for suite in suites:
        try:
            test(suite)
            print(f"ok      packages in {suite}")
        except chroot.NoChroot as reason:
            print(f"SKIPPED packages in {suite}: {reason}")
            skipped = True
    return SKIPPED if skipped else 0


def main():
    verb, *arguments = sys.argv[1:] or [""]
    if verb == "build" and not arguments:
        print(build_here(this_suite() or "here"))
    elif verb == "test" and not set(arguments) - set(SUITES):
        sys.exit(test_all(arguments or SUITES))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
