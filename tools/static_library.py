#!/usr/bin/env python3
"""Make one static library of internal archives, in which only public symbols can be linked to.

usage: static_library.py OUT ARCHIVE...

The archives become one object whose hidden symbols are made local, so that no name of ours can
clash with one of the program that links us.
"""
import os
import subprocess
import sys


def main():
    out, archives = sys.argv[1], sys.argv[2:]
    merged = out + ".o"
    subprocess.run(["ld", "-r", "-o", merged, "--whole-archive", *archives], check=True)
    subprocess.run(["objcopy", "--localize-hidden", merged], check=True)
    if os.path.exists(out):
        os.remove(out)
    subprocess.run(["ar", "rcsD", out, merged], check=True)
    os.remove(merged)


main()
