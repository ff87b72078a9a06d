#!/usr/bin/env python3
"""Print the version.  It is written in include/slotmq/core.h alone; everything else asks here.

usage: version.py [CORE_H]
"""
import pathlib
import re
import sys

CORE_H = pathlib.Path(__file__).resolve().parents[1] / "include/slotmq/core.h"
PARTS = ["MAJOR", "MINOR", "PATCH"]


def parse(text, path):
    """The version in the text of core.h."""
    found = dict(re.findall(r"^#define SMQ_VERSION_(\w+) (\d+)$", text, re.MULTILINE))
    missing = [part for part in PARTS if part not in found]
    if missing:
        sys.exit(f"{path}: there is no SMQ_VERSION_{missing[0]}")
    return ".".join(found[part] for part in PARTS)


def read(path=CORE_H):
    return parse(pathlib.Path(path).read_text(), path)


def soversion(version):
    """The part of a version that stays as long as programs need not be linked again."""
    major, minor, _ = version.split(".")
    return f"0.{minor}" if major == "0" else major


if __name__ == "__main__":
    print(read(*sys.argv[1:]))
