#!/usr/bin/env python3
"""Check that includes point down only.  usage: layers.py [ROOT]"""
import re

import findings

LOWER = ["base", "model", "redis", "store"]
COORD = ["base", "model", "coord/coord.h", "coord/coord_internal.h", "coord/no_slot.h", "coord/port.h"]
VERB = ["base/nearest.h", "cli/text", "cli/verb"]
# What a folder may include beside itself and the public headers: folders, or single headers.  Only
# coord/coord.h is coord's door; the folders of coord may know the headers of COORD.  produce,
# consume and admin are siblings that do not know each other.
DOWN = {
    "libsrc/base": [],
    "libsrc/model": ["base"],
    "libsrc/redis": ["base", "model"],
    "libsrc/store": ["base", "model", "redis", "scripts.h"],
    "coord/node": ["base", "model"],
    "coord/session": [*COORD, "coord/node"],
    "coord/zk": [*COORD, "coord/session/session.h"],
    "coord/tree": [*COORD, "coord/session/session.h"],
    "coord/member": [*COORD, "coord/node", "coord/session"],
    "coord/assigner": [*COORD, "coord/node", "coord/session", "coord/member/member.h"],
    "coord/fleet": [*COORD, "coord/node", "coord/session", "coord/store.h"],
    "coord": ["base", "model"],
    "libsrc/core": [*LOWER, "coord/coord.h", "coord/port.h"],
    "libsrc/produce": [*LOWER, "core"],
    "libsrc/consume/run": [*LOWER, "core"],
    "libsrc/consume/slot": [*LOWER, "core", "consume/run"],
    "libsrc/consume/consumer": [*LOWER, "core", "consume/run", "consume/slot"],
    "libsrc/admin": [*LOWER, "core", "coord/coord.h"],
    "libsrc/client": [*LOWER, "core", "produce", "consume/run", "consume/consumer", "admin"],
    "cli/text": [],
    "cli/verb": ["base/nearest.h", "cli/text"],
    "cli/topic": VERB,
    "cli/http": VERB,
    "cli/fleet": [*VERB, "cli/topic"],
    "cli/doctor": [*VERB, "cli/topic"],
    "cli/stat": [*VERB, "cli/topic"],
    "cli/message": [*VERB, "cli/topic"],
    "cli/schedule": [*VERB, "cli/topic", "cli/message"],
    "cli/consume": [*VERB, "cli/topic", "cli/message", "cli/http"],
    "cli": [],
    "serve": ["cli/text", "cli/verb", "cli/http", "cli/topic", "cli/fleet", "cli/doctor", "cli/stat", "cli/message",
              "cli/schedule"],
    "node": [],
    "examples": [],
    "demo": ["support"],
    "bench": ["support", "scripts.h", "peers"],
}
# Where the header of a foreign library may be seen.
FOREIGN = {
    "hiredis": ["libsrc/redis", "bench", "demo"],
    "openssl": ["libsrc/redis"],
    "zookeeper": ["coord/zk"],
    "amqp.h": ["bench"],
    "node_api.h": ["node", "examples"],
    "uthash.h": ["libsrc/base"],
    "jansson.h": ["cli", "serve"],
    "microhttpd.h": ["cli/http"],
    "libsmartcols": ["cli/text"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def is_allowed(folder, quote, header):
    if quote == "<":
        homes = FOREIGN.get(header.split("/")[0])
        return homes is None or any(f"{folder}/".startswith(home + "/") for home in homes)
    if "/" not in header and header != "scripts.h":
        return True
    own = folder.removeprefix("libsrc/")
    return any(header == door or header.startswith(door + "/") for door in [own, *DOWN[folder]])


def room(folder):
    """The nearest folder of DOWN."""
    while folder not in DOWN:
        folder = folder.rpartition("/")[0]
    return folder


def violations(root):
    seen = 0
    for folder in DOWN:
        for path in sorted((root / folder).rglob("*.[ch]")):
            if room(path.parent.relative_to(root).as_posix()) != folder:
                continue
            seen += 1
            for quote, header in INCLUDE.findall(path.read_text()):
                if not is_allowed(folder, quote, header):
                    yield f"{path.relative_to(root)}: must not include {header}"
    if seen == 0:
        yield f"no source file below {root}"


findings.check_tree(violations)
