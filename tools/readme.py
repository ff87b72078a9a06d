#!/usr/bin/env python3
"""Check that the program in README.md is examples/readme.c, letter for letter.  usage: readme.py ROOT"""
import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1])
    blocks = re.findall(r"^```c\n(.*?)^```$", (root / "README.md").read_text(),
                        flags=re.DOTALL | re.MULTILINE)
    if blocks != [(root / "examples/readme.c").read_text()]:
        sys.exit("README.md: its one block of C must be examples/readme.c, letter for letter")


main()
