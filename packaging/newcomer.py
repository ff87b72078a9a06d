#!/usr/bin/env python3
"""Follow README.md alone, letter for letter, in an empty Debian: from the clone to a message that is
handled in a shell, in C and in C++.  ./dev newcomer runs this.

usage: newcomer.py [SUITE...]    default: bookworm trixie

It prints each command and when it was done, and fails if one of the three does not get its message,
or with more than 16 commands or 5 minutes.  A suite for which no chroot can be made is SKIPPED with the
reason, and the exit status is 77.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import chroot
import tarball

SUITES = ["bookworm", "trixie"]
SKIPPED = 77
MOST_COMMANDS, MOST_S = 16, 300
# What is handled: in a shell, in C, in C++.
WANTED, TIMES = "two books", 3


def steps(text):
    """The lines of the indented blocks of a page."""
    return re.findall(r"^    (\S.*)$", text, re.MULTILINE)


def section(heading):
    """The commands below a heading of README.md, without its code."""
    text = (ROOT / "README.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return steps(re.sub(r"^```\w+\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def commands():
    """From apt-get to the last program; script() takes the sandbox down."""
    return section("Install") + [line for line in section("Send and consume") if line != "./dev sandbox down"]


def script(lines):
    """They run in one shell, as they are typed into one."""
    followed = ["cd clone", "trap './dev sandbox down' EXIT", "SECONDS=0"]
    for line in lines:
        followed += [line, f"printf 'after %s s: %s\\n' \"$SECONDS\" {shlex.quote(line)}"]
    return followed


def follow(suite, logs):
    lines = commands()
    if len(lines) > MOST_COMMANDS:
        raise chroot.Failed(f"{len(lines)} commands, and at most {MOST_COMMANDS} are wanted")
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder) / "clone"
        clone.mkdir()
        files = tarball.git("archive", tarball.commit_of_now())
        subprocess.run(["tar", "-x", "-C", clone], input=files, check=True)
        said = chroot.run(suite, "minbase", [clone], script(lines),
                          logs / f"newcomer-{suite}.log").splitlines()
    times = [re.fullmatch(r"after (\d+) s: (.*)", line) for line in said]
    print("\n".join(match[0] for match in times if match))
    if said.count(WANTED) != TIMES:
        raise chroot.Failed(f"{suite}: \"{WANTED}\" was handled {said.count(WANTED)} times, and not {TIMES}")
    seconds = max(int(match[1]) for match in times if match)
    if seconds > MOST_S:
        raise chroot.Failed(f"{suite}: it took {seconds} s, and at most {MOST_S} are wanted")
    print(f"ok      {suite}: {len(lines)} commands in {seconds} s")


def follow_all(suites, logs):
    status = 0
    for suite in suites:
        try:
            follow(suite, logs)
        except chroot.NoChroot as reason:
            print(f"SKIPPED {suite}: {reason}")
            status = status or SKIPPED
        except chroot.Failed as failure:
            print(f"FAILED  {failure}")
            status = 1
    return status


def main():
    suites = sys.argv[1:] or SUITES
    if set(suites) - set(SUITES):
        sys.exit(__doc__)
    sys.exit(follow_all(suites, ROOT / "build-package"))


if __name__ == "__main__":
    main()
