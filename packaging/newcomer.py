#!/usr/bin/env python3
"""Follow docs/INSTALL.md and README.md, letter for letter, in an empty Debian: from the clone to a
consumer that runs.  ./dev newcomer runs this.

usage: newcomer.py [SUITE...]    default: bookworm trixie

It prints each command and when it was done, and fails if the consumer does not get its message, or
with more than 10 commands or 5 minutes.  A suite for which no chroot can be made is SKIPPED with the
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
MOST_COMMANDS, MOST_S = 10, 300
WANTED = "two books"


def steps(text):
    """The lines of the indented blocks of a page."""
    return re.findall(r"^    (\S.*)$", text, re.MULTILINE)


def commands():
    """From the first line of INSTALL.md to ldconfig, and from the first of README.md to its program."""
    install = steps((ROOT / "docs/INSTALL.md").read_text())
    section = (ROOT / "README.md").read_text().split("\n## Send and consume\n")[1].split("\n## ")[0]
    program = steps(re.sub(r"^```c\n.*?^```$", "", section, flags=re.DOTALL | re.MULTILINE))
    last = next(number for number, line in enumerate(program) if line.startswith("./readme"))
    return install[:install.index("ldconfig") + 1] + program[:last + 1]


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
    if WANTED not in said:
        raise chroot.Failed(f"{suite}: the consumer did not print \"{WANTED}\"")
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
