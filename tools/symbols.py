#!/usr/bin/env python3
"""Check that the library shows exactly the functions marked SMQ_API, and the shared one each with
the version that its SONAME has.

usage: symbols.py HEADER_FOLDER SHARED_LIBRARY STATIC_LIBRARY
"""
import re
import subprocess
import sys

import findings
import public_functions

# A sanitizer adds symbols of its own to what it instruments.
FOREIGN = re.compile(r"^(__odr_asan|__asan|__ubsan|__sanitizer|__start_|__stop_|\.)")
SONAME = re.compile(r"\(SONAME\).*\[lib\w+\.so\.([\d.]+)\]")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def defined(library, *options):
    """{name: its version, or ""}; a version is an absolute symbol (A), and is left out"""
    fields = [line.split() for line in output("nm", "--defined-only", *options, library).splitlines()]
    names = [field[2].partition("@") for field in fields if len(field) == 3 and field[1] != "A"]
    return {name: version.lstrip("@") for name, _, version in names if not FOREIGN.match(name)}


def differences(wanted, found, library):
    for name in sorted(wanted - found.keys()):
        yield f"{library}: {name} is declared, but missing"
    for name in sorted(found.keys() - wanted):
        yield f"{library}: {name} is visible, but not declared in a public header"


def versions(found, library):
    soname = SONAME.search(output("readelf", "-dW", library))
    if not soname:
        yield f"{library}: it has no SONAME that ends in a version"
        return
    for name, version in sorted(found.items()):
        if version != f"SLOTMQ_{soname[1]}":
            yield (f"{library}: {name} has the version \"{version}\"; "
                   f"it must be SLOTMQ_{soname[1]}, as the SONAME says")


def main():
    folder, shared, static = sys.argv[1:]
    wanted = public_functions.declared(folder)
    dynamic = defined(shared, "-D")
    found = [*differences(wanted, dynamic, shared), *versions(dynamic, shared),
             *differences(wanted, defined(static, "-g"), static)]
    if not wanted:
        found.append(f"{folder}: no function is marked SMQ_API")
    findings.end(found)


main()
