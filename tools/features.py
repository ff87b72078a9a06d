#!/usr/bin/env python3
"""Check docs/FEATURES.md: every row full, and what it names exists.  usage: features.py [ROOT]

In the tables under "## Sources" a row is: feature | call | command | test | note.  A call is in the
public headers, a command is a verb of docs/slotmq.1, a test is FILE:FUNCTION below tests/.  A dash
stands for a call or command that cannot be, and then the note must say why.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
COLUMNS = 5


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def check_call(names, headers):
    for name in names:
        if not re.search(r"\b%s\b" % re.escape(name), headers):
            yield f"{name} is in no public header"


def check_command(names, manual):
    for name in names:
        if not re.search(r"\b%s\b" % re.escape(name), manual):
            yield f"{name} is not in docs/slotmq.1"


def check_test(names):
    for name in names:
        file, _, function = name.partition(":")
        path = ROOT / "tests" / file
        if not path.is_file():
            yield f"there is no tests/{file}"
        elif not function or not re.search(r"\b%s\b" % re.escape(function), path.read_text()):
            yield f"tests/{file} has no {function or 'function named'}"


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def check_row(row, headers, manual):
    if len(row) != COLUMNS or not all(row[:4]):
        yield f"{COLUMNS} columns, the first four not empty"
        return
    feature, call, command, test, note = row
    if "-" in (call, command, test) and not note:
        yield "a dash needs a note"
    words = (re.match(r"[\w]+", name) for name in quoted(call))
    yield from check_call([word.group() for word in words if word], headers)
    yield from check_command([re.sub(r"^slotmq ", "", name) for name in quoted(command)], manual)
    yield from check_test(quoted(test))
    if test != "-" and not quoted(test):
        yield "names no test"


def main():
    headers = "\n".join(path.read_text() for path in (ROOT / "include" / "slotmq").glob("*.h"))
    manual = (ROOT / "docs" / "slotmq.1").read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
    wrong, rows, inside = [], 0, False
    for number, line in enumerate((ROOT / "docs" / "FEATURES.md").read_text().splitlines(), 1):
        if line.startswith("## "):
            inside = line == "## Sources"
        if not inside or not line.startswith("|") or re.match(r"\|[\s:|-]+$", line):
            continue
        row = cells(line)
        if row[0] == "feature":
            continue
        rows += 1
        wrong += [f"docs/FEATURES.md:{number}: {text}" for text in check_row(row, headers, manual)]
    if rows == 0:
        wrong.append("docs/FEATURES.md: no row under \"## Sources\"")
    print("\n".join(wrong) or f"{rows} features are named, and proven by tests that exist")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
