#!/usr/bin/env python3
"""Count the tests of a run: every cmocka test for itself, every other program as one.

usage: count_tests.py TESTLOG.JSON [CHOSEN]

Prints the longest tests, and `N passed, N failed` as the last line.  Fails when a test failed, was skipped, or none ran.
CHOSEN has the names of the tests of a run that was ended when its time was over, one a line: those
that had not ended then are printed as "left out: NAME", and are no failure.
What a program left out because the server has no such command (it prints a line "SKIPPED: ...") is
repeated here.  What is printed of a program that failed: the line "failed: NAME (RESULT)", and
behind "failed: NAME: " what says why.
"""
import itertools
import json
import re
import sys

OK = re.compile(r"^\[       OK \] ", re.MULTILINE)
# The name of the group may come before the number of tests.
NOT_OK = re.compile(r"^\[  (?:FAILED |SKIPPED)  ?\] (?!(?:.*: )?\d+ test)(\S+)", re.MULTILINE)
LEFT_OUT = re.compile(r"^SKIPPED: .*", re.MULTILINE)
STARTED = re.compile(r"^\[==========\] (?:.*: )?Running \d+ test", re.MULTILINE)

# What cmocka, unittest, node --test and the sanitizers print of a failure.
WHY = re.compile(r"^\[  (?:ERROR|FAILED |SKIPPED) |^ *not ok |^(?:FAIL|ERROR|\w*Error): |\berror: |ERROR: ")
WHY_LINES = 12
LONGEST = 10


def why(test):
    """The lines that say why a program failed; the last ones of all, if there are none."""
    lines = [*(test.get("stdout") or "").splitlines(), *(test.get("stderr") or "").splitlines()]
    found = list(itertools.islice(filter(WHY.search, lines), WHY_LINES))
    return found or [line for line in lines if line.strip()][-WHY_LINES:]


def count(test):
    """(passed, failed) of one program; its end counts too, or a crash would not show."""
    output = test.get("stdout") or ""
    errors = output + "\n" + (test.get("stderr") or "")
    succeeded = test["result"] in ("OK", "EXPECTEDFAIL")
    if not STARTED.search(output):
        return (1, 0) if succeeded else (0, 1)
    passed = len(OK.findall(output))
    failed = len(set(NOT_OK.findall(errors)))
    if failed == 0 and (not succeeded or passed == 0):
        failed = 1
    return passed, failed


def read(log, chosen=None):
    """(the tests of a run, the names of those that were chosen and had no time)"""
    with open(log, encoding="utf-8", errors="replace") as file:
        tests = list(map(json.loads, file))
    if chosen is None:
        return tests, []
    tests = [test for test in tests if test["result"] != "INTERRUPT"]
    ended = {test["name"] for test in tests}
    with open(chosen, encoding="utf-8") as file:
        return tests, [name for name in file.read().splitlines() if name not in ended]


def longest(tests):
    """A line for each of those that took most of the time of the run."""
    timed = [test for test in tests if test.get("duration", 0) >= 1]
    timed.sort(key=lambda test: -test["duration"])
    return [f"longest: {test['duration']:.0f} s {test['name']}" for test in timed[:LONGEST]]


def main():
    passed = failed = 0
    tests, left_out = read(*sys.argv[1:])
    for test in tests:
        good, bad = count(test)
        passed += good
        failed += bad
        for line in LEFT_OUT.findall(test.get("stdout") or ""):
            print(f"{test['name']}: {line}")
        if bad > 0:
            print(f"failed: {test['name']} ({test['result']})")
            for line in why(test):
                print(f"failed: {test['name']}: {line[:200]}")
    for name in left_out:
        print(f"left out: {name}")
    for line in longest(tests):
        print(line)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed > 0 or passed == 0 else 0)


main()
