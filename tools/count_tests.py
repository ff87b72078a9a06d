#!/usr/bin/env python3
"""Count the tests of a run: every cmocka test for itself, every other program as one.

usage: count_tests.py TESTLOG.JSON

Prints `N passed, N failed` as the last line.  Fails when a test failed, was skipped, or none ran.
What a program left out because the server has no such command (it prints a line "SKIPPED: ...") is
repeated here.
"""
import json
import re
import sys

OK = re.compile(r"^\[       OK \] ", re.MULTILINE)
NOT_OK = re.compile(r"^\[  (?:FAILED |SKIPPED)  ?\] (?!\d+ test)(\S+)", re.MULTILINE)
LEFT_OUT = re.compile(r"^SKIPPED: .*", re.MULTILINE)
# Debian 13's cmocka puts the name of the group before it.
STARTED = re.compile(r"^\[==========\] (?:.*: )?Running \d+ test", re.MULTILINE)


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


def main():
    passed = failed = 0
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for test in map(json.loads, log):
            good, bad = count(test)
            passed += good
            failed += bad
            for line in LEFT_OUT.findall(test.get("stdout") or ""):
                print(f"{test['name']}: {line}")
            if bad > 0:
                print(f"failed: {test['name']} ({test['result']})")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed > 0 or passed == 0 else 0)


main()
