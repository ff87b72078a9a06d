#!/usr/bin/env python3
"""Check that docs/CONFIGURATION.md is what the library says, and that the library knows each field
of the structs of options in the public headers.

usage: configuration.py [--write] BUILD_FOLDER [ROOT]
"""
import pathlib
import re
import subprocess
import sys

STRUCT = re.compile(r"typedef struct (smq_\w+_options) \{(.*?)\}", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FIELD = re.compile(r"^\s*([^;]+?)\s*(\w+)\s*;", re.MULTILINE)
SECTION = re.compile(r"^## \w+: `(\w+)`$(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
# Callbacks and what is passed to them have no text; a topic's name and state are no options.
UNNAMED = re.compile(r"smq_\w+_fn|\bvoid\b|\bsize_t\b")
NOT_OPTIONS = {("smq_topic_options", "name"), ("smq_topic_options", "paused"),
               ("smq_topic_options", "damaged"), ("smq_topic_options", "unreadable"),
               ("smq_topic_options", "unreadable_status")}


def declared(folder):
    for header in sorted(folder.glob("*.h")):
        for struct, body in STRUCT.findall(header.read_text()):
            for kind, field in FIELD.findall(COMMENT.sub("", body)):
                if not UNNAMED.search(kind) and (struct, field) not in NOT_OPTIONS:
                    yield struct, field


def described(text):
    for struct, body in SECTION.findall(text):
        for field in re.findall(r"^\| `(\w+)`", body, re.MULTILINE):
            yield struct, field


def main():
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    build, root = (arguments[1 if write else 0:] + ["."])[:2]
    page = pathlib.Path(root) / "docs/CONFIGURATION.md"
    text = subprocess.run([pathlib.Path(build) / "tools/configuration"], check=True,
                          capture_output=True, text=True).stdout
    if write:
        page.write_text(text)
    fields, rows = set(declared(pathlib.Path(root) / "include/slotmq")), set(described(text))
    found = [f"{struct}.{field} has no row in libsrc/model/option_table.c"
             for struct, field in sorted(fields - rows)]
    if not fields:
        found.append(f"{root}/include/slotmq: no struct of options found")
    if not page.exists() or page.read_text() != text:
        found.append(f"{page} is out of date: tools/configuration.py --write {build}")
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)


main()
