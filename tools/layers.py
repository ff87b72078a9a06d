#!/usr/bin/env python3
"""Check that includes point down only.  usage: layers.py [ROOT]"""
import pathlib
import re
import sys

# What a folder may include beside itself and the public headers.  Only coord/coord.h is coord's door.
DOWN = {
    "libsrc/base": [],
    "libsrc/model": ["base"],
    "libsrc/redis": ["base", "model"],
    "libsrc/store": ["base", "model", "redis", "scripts.h"],
    "coord": ["base", "model"],
    "libsrc/queue": ["base", "model", "redis", "store", "coord/coord.h"],
    "libsrc/client": ["base", "model", "redis", "store", "coord/coord.h", "queue"],
    "cli": [],
    "examples": [],
    "demo": ["support"],
    "bench": ["support", "scripts.h", "peers"],
}
# Where the header of a foreign library may be seen.
FOREIGN = {
    "hiredis": ["libsrc/redis", "bench", "demo"],
    "zookeeper": ["coord"],
    "amqp.h": ["bench"],
    "uthash.h": ["libsrc/base"],
    "jansson.h": ["cli"],
    "libsmartcols": ["cli"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def is_allowed(folder, quote, header):
    top = header.split("/")[0]
    if quote == "<":
        homes = FOREIGN.get(top)
        return homes is None or folder in homes
    own = top == folder.split("/")[-1] or "/" not in header and header != "scripts.h"
    return own or top in DOWN[folder] or header in DOWN[folder]


def violations(root):
    seen = 0
    for folder in DOWN:
        for path in sorted((root / folder).rglob("*.[ch]")):
            seen += 1
            for quote, header in INCLUDE.findall(path.read_text()):
                if not is_allowed(folder, quote, header):
                    yield f"{path.relative_to(root)}: must not include {header}"
    if seen == 0:
        yield f"no source file below {root}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(violations(root))
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)


main()
