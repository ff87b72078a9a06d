#!/usr/bin/env python3
"""Check docs/guarantees.md: each cell of its tables of faults names a test, and these exist.
usage: guarantees.py [ROOT]

A cell ends with the numbers of tests, [1] [2], or says "Redis may lose".  Under "## Tests" each number
has `FILE:FUNCTION`, below tests/chaos, tests/unit or tests/integration; the function, or class, is
defined in that file."""
import re

import findings

PAGE = "docs/guarantees.md"
DEFINED = r"(?m)^(?:static void |\s*def |class ){}\b"
CELL = re.compile(r"Redis may lose|\[\d+\]$")


def rows(text):
    """The rows of faults: those of tables whose first column is "fault"."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells or cells[0] == "fault":
            inside = bool(cells)
        elif inside and not cells[0].startswith("--"):
            yield number, cells[1:]


def missing(root):
    text = (root / PAGE).read_text()
    tables, _, tests = text.partition("\n## Tests\n")
    named = dict(re.findall(r"(?m)^- \[(\d+)\] (.*(?:\n  .*)*)", tests))
    for number, cells in rows(tables):
        for cell in cells:
            if not CELL.search(cell):
                yield f"{PAGE}:{number}: \"{cell}\" names no test, and does not say \"Redis may lose\""
    used = set(re.findall(r"\[(\d+)\](?!\()", tables))
    for number in sorted(used ^ set(named), key=int):
        yield f"{PAGE}: [{number}] is {'not under Tests' if number in used else 'not used'}"
    for number, line in named.items():
        names = re.findall(r"`([^`:]+):(\w+)`", line)
        if not names:
            yield f"{PAGE}: [{number}] names no FILE:FUNCTION"
        for file, function in names:
            folder = "tests" if file.startswith(("chaos/", "unit/")) else "tests/integration"
            path = root / folder / file
            if not path.is_file() or not re.search(DEFINED.format(function), path.read_text()):
                yield f"{PAGE}: [{number}]: {path} defines no {function}"


if __name__ == "__main__":
    findings.check_tree(missing)
