#!/usr/bin/env python3
"""Check that the program in README.md is examples/readme.c, letter for letter, and that it stays
short.  usage: readme.py ROOT"""
import pathlib
import re
import sys

MOST_LINES = 30  # blank ones are not counted


def main():
    root = pathlib.Path(sys.argv[1])
    program = (root / "examples/readme.c").read_text()
    blocks = re.findall(r"^```c\n(.*?)^```$", (root / "README.md").read_text(),
                        flags=re.DOTALL | re.MULTILINE)
    if blocks != [program]:
        sys.exit("README.md: its one block of C must be examples/readme.c, letter for letter")
    lines = sum(1 for line in program.splitlines() if line.strip())
    if lines > MOST_LINES:
        sys.exit(f"examples/readme.c: {lines} lines; it must show send and consume in {MOST_LINES}")


main()
