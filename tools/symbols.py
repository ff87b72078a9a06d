#!/usr/bin/env python3
"""Check that the library shows exactly the functions marked SMQ_API.

usage: symbols.py HEADER_FOLDER SHARED_LIBRARY STATIC_LIBRARY
"""
import pathlib
import re
import subprocess
import sys

import findings

DECLARED = re.compile(r"\bSMQ_API\b[^;{]*?\b(smq_\w+)\s*\(")
# A sanitizer adds symbols of its own to what it instruments.
FOREIGN = re.compile(r"^(__odr_asan|__asan|__ubsan|__sanitizer|__start_|__stop_|\.)")


def declared(folder):
    names = set()
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        text = re.sub(r"/\*.*?\*/|^\s*#[^\n]*", "", header.read_text(), flags=re.DOTALL | re.MULTILINE)
        names.update(DECLARED.findall(text))
    return names


def defined(library, *options):
    lines = subprocess.run(["nm", "--defined-only", *options, library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[2].split("@")[0] for line in lines if len(line.split()) == 3}
    return {name for name in names if not FOREIGN.match(name)}


def differences(wanted, library, *options):
    found = defined(library, *options)
    for name in sorted(wanted - found):
        yield f"{library}: {name} is declared, but missing"
    for name in sorted(found - wanted):
        yield f"{library}: {name} is visible, but not declared in a public header"


def main():
    folder, shared, static = sys.argv[1:]
    wanted = declared(folder)
    found = [*differences(wanted, shared, "-D"), *differences(wanted, static, "-g")]
    if not wanted:
        found.append(f"{folder}: no function is marked SMQ_API")
    findings.end(found)


main()
