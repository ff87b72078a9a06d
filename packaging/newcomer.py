#!/usr/bin/env python3
"""Follow README.md alone, letter for letter, in an empty Debian: from the clone to a message that is
handled in a shell, in C, C++ and Python, with Celery and in Node.js.  ./dev newcomer runs this.

usage: newcomer.py [SUITE...]    default: bookworm trixie

It prints each command and when it was done, and then when each language had its message.  It fails if
one of them does not get it, or with more commands or time than LIMITS.  The variables by which pip is
configured are kept, with the files of certificates that they name.  A suite for which no chroot can be
made is SKIPPED with the reason, and the exit status is 77.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import chroot
import tarball

SUITES = ["bookworm", "trixie"]
SKIPPED = 77
# How the command of each language begins, and the line that it prints.
LANGUAGES = {
    "a shell": ("slotmq consume ", "two books"),
    "C": ("./readme ", "two books"),
    "C++": ("./raii ", "two books"),
    "Python": ("venv/bin/python examples/python/", "two books"),
    "Celery": ("venv/bin/python examples/celery/", "5"),
    "Node.js": ("node ", "two books"),
}
# How much it may take until a language has its message, from the first command on.
LIMITS = {"commands": {"C++": 16, "Node.js": 25}, "s": {"C++": 300, "Node.js": 600}}
# The variables that name a file of certificates.
CERTIFICATES = ["PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]


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


def programs(lines):
    """(language, number of its command, the command) of each language."""
    for language, (begins, _) in LANGUAGES.items():
        found = [(number, line) for number, line in enumerate(lines, 1) if line.startswith(begins)]
        if len(found) != 1:
            raise chroot.Failed(f"README.md has {len(found)} commands that begin with \"{begins}\", and not one")
        yield language, *found[0]


def check_limits(suite, unit, taken):
    """What it took until each language had its message."""
    for language, most in LIMITS[unit].items():
        if taken[language] > most:
            raise chroot.Failed(f"{suite}: it took {taken[language]} {unit} until {language} had its message, and "
                                f"at most {most} are wanted")


def script(lines, certificates):
    """They run in one shell, as they are typed into one."""
    followed = [f"export {name}=$PWD/{name}" for name in certificates]
    followed += ["cd clone", "trap 'kill $(jobs -p) 2>/dev/null || :; ./dev sandbox down' EXIT", "SECONDS=0"]
    for line in lines:
        followed += [line, f"printf 'after %s s: %s\\n' \"$SECONDS\" {shlex.quote(line)}"]
    return followed


def ended(said):
    """By command, the seconds until it had ended and the lines that were printed while it ran."""
    parts = re.split(r"^after (\d+) s: (.*)\n", said, flags=re.MULTILINE)
    return {line: (int(seconds), printed.splitlines())
            for printed, seconds, line in zip(parts[::3], parts[1::3], parts[2::3])}


def followed_in_chroot(suite, lines, log):
    """What the commands print."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "clone").mkdir()
        files = tarball.git("archive", tarball.commit_of_now())
        subprocess.run(["tar", "-x", "-C", folder / "clone"], input=files, check=True)
        certificates = [name for name in CERTIFICATES if os.path.isfile(os.environ.get(name, ""))]
        for name in certificates:
            shutil.copyfile(os.environ[name], folder / name)
        return chroot.run(suite, "minbase", [folder / name for name in ["clone", *certificates]],
                          script(lines, certificates), log)


def follow(suite, logs):
    lines = commands()
    wanted = list(programs(lines))
    check_limits(suite, "commands", {language: number for language, number, _ in wanted})
    done = ended(followed_in_chroot(suite, lines, logs / f"newcomer-{suite}.log"))
    for line, (seconds, _) in done.items():
        print(f"after {seconds} s: {line}")
    taken = {}
    for language, number, line in wanted:
        message = LANGUAGES[language][1]
        taken[language], printed = done.get(line, (0, []))
        if printed.count(message) != 1:
            raise chroot.Failed(f"{suite}: {language} printed \"{message}\" {printed.count(message)} times, and not "
                                f"once: {line}")
        print(f"{suite}: {language} had its message after {number} commands and {taken[language]} s")
    check_limits(suite, "s", taken)
    print(f"ok      {suite}: {len(lines)} commands in {max(taken.values())} s")


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
