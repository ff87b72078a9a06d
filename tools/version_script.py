#!/usr/bin/env python3
"""Write the version script of the shared library, from the public headers: it shows the functions
that are marked SMQ_API, each with the version SLOTMQ_SOVERSION, and nothing else.

usage: version_script.py OUT SOVERSION HEADER_FOLDER
"""
import pathlib
import sys

import public_functions


def script(node, names):
    lines = [f"{node} {{", "global:", *(f"    {name};" for name in sorted(names)), "local:", "    *;", "};", ""]
    return "\n".join(lines)


def main():
    out, soversion, folder = sys.argv[1:]
    names = public_functions.declared(folder)
    if not names:
        sys.exit(f"{folder}: no function is marked SMQ_API")
    pathlib.Path(out).write_text(script(f"SLOTMQ_{soversion}", names))


main()
