#!/usr/bin/env python3
"""Check that the files and folders that the pages for developers name exist.  usage: paths.py [ROOT]

NAME and VERSION in a path stand for anything."""
import re

import findings

PAGES = ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/deployment.md", "docs/release.md",
         "lua/README.md", "bench/README.md"]
NAMED = re.compile(r"`((?:libsrc|coord|cli|lua|tests|tools|docs|include|bench|demo|examples|deploy)/[\w./*-]*)`")
# A page of architecture names files of the library as the code includes them.
INCLUDED = re.compile(r"`((?:base|model|redis|store|core|produce|consume|admin|client)/[\w./-]*)`")


def missing(root):
    for page in PAGES:
        text = (root / page).read_text()
        names = [(name, name) for name in NAMED.findall(text)]
        if page == "docs/architecture.md":
            names += [(name, "libsrc/" + name) for name in INCLUDED.findall(text)]
        for name, path in names:
            if not list(root.glob(re.sub(r"NAME|VERSION", "*", path).rstrip("/"))):
                yield f"{page}: there is no {name}"


if __name__ == "__main__":
    findings.check_tree(missing)
