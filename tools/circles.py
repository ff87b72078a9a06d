#!/usr/bin/env python3
"""Check that no files call each other in a circle.  usage: circles.py BUILD

Read are the names that the compiled files define and use, so a call through a struct of callbacks
is none.  Files are named as their objects: coord/member/a.c is coord/member_a.c.
"""
import pathlib
import subprocess
import sys

ROOMS = ["libsrc", "coord", "cli", "serve"]


def objects(build):
    """Each compiled file once: {source: path of its object}."""
    found = {}
    for room in ROOMS:
        for path in sorted((build / room).rglob("*.c.o")):
            folder = path.parent.parent.relative_to(build)
            found[f"{folder}/{path.name[:-2]}"] = path
    return found


def symbols(path):
    """The names that an object defines, and those that it uses of others."""
    defined, used = set(), set()
    listing = subprocess.run(["nm", "--portability", path], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        name, kind = line.split()[:2]
        if kind == "U":
            used.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, used


def calls(build):
    """{source: the sources whose names it uses}"""
    tables = {source: symbols(path) for source, path in objects(build).items()}
    home = {name: source for source, (defined, _) in tables.items() for name in defined}
    return {source: {home[name] for name in used if home.get(name, source) != source}
            for source, (_, used) in tables.items()}


def reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for target in graph[waiting.pop()]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def circles(graph):
    """The sets of files of which each reaches each."""
    reach = {source: reachable(graph, source) for source in graph}
    found = {frozenset(other for other in reach[source] if source in reach[other])
             for source in graph if source in reach[source]}
    return sorted(sorted(circle) for circle in found)


def main():
    graph = calls(pathlib.Path(sys.argv[1]))
    if not graph:
        sys.exit(f"{sys.argv[1]}: no compiled file")
    wrong = circles(graph)
    for circle in wrong:
        print("a circle of calls: " + ", ".join(circle), file=sys.stderr)
        for source in circle:
            for target in sorted(graph[source] & set(circle)):
                names = symbols_between(pathlib.Path(sys.argv[1]), source, target)
                print(f"  {source} calls {target}: {names}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


def symbols_between(build, source, target):
    paths = objects(build)
    return ", ".join(sorted(symbols(paths[source])[1] & symbols(paths[target])[0]))


if __name__ == "__main__":
    main()
