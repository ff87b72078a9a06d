#!/usr/bin/env python3
"""Make the tarball of the sources, without debian/.  The same commit always makes the same bytes:
names, order, times and modes are those of git, and nothing is of this machine.

usage: tarball.py OUT.tar.gz [COMMIT]

Without a COMMIT it has the files that git knows as they are now, changes included.
"""
import gzip
import pathlib
import subprocess
import sys

import version

ROOT = pathlib.Path(__file__).resolve().parents[1]


def git(*arguments, root=ROOT):
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True).stdout


def commit_of_now(root=ROOT):
    """HEAD, or with changes a commit that has them and that no branch has."""
    return git("stash", "create", root=root).decode().strip() or "HEAD"


def prefix(commit, root=ROOT):
    header = git("show", f"{commit}:include/slotmq/core.h", root=root).decode()
    return f"slotmq-{version.parse(header, 'core.h')}"


def make(out, commit, root=ROOT):
    """Without tar.umask the modes are those that the user's git is set to; gzip notes no time."""
    tar = git("-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix={prefix(commit, root)}/", commit, "--",
              ".", ":(exclude)debian", root=root)
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(tar)


def main():
    out, *commit = sys.argv[1:]
    make(out, commit[0] if commit else commit_of_now())


if __name__ == "__main__":
    main()
