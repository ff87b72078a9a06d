#!/usr/bin/env python3
"""Make one object of the static library and of what it needs, in which only the public functions can be linked to.

usage: static.py OUT LIBRARY ARCHIVE...

Archives that distributions compile for programs reach variables of libc by their distance, which a shared object
cannot: in their place they get those of src/libc_data.c.
"""
import subprocess
import sys

VARIABLES = ["environ", "in6addr_any", "stderr"]


def main():
    out, library, *archives = sys.argv[1:]
    subprocess.run(["ld", "-r", "-o", out, "--whole-archive", library, "--no-whole-archive", "--start-group", *archives,
                    "--end-group"], check=True)
    renamed = [f"--redefine-sym={name}=node_{name}" for name in VARIABLES]
    subprocess.run(["objcopy", "--wildcard", "--keep-global-symbol=smq_*", *renamed, out], check=True)


main()
