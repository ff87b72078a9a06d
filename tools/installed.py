#!/usr/bin/env python3
"""Check that what is installed is enough to build a program: with pkg-config, against the shared
library and against the static one.

usage: installed.py BUILD_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
#include <slotmq/slotmq.h>
#include <stdio.h>

int main(void)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    smq_error err;

    if (smq_client_new(&client, &options, &err) != SMQ_INVALID) { /* Redis is required */
        return 1;
    }
    printf("%s %d.%d.%d\\n", smq_version(), SMQ_VERSION_MAJOR, SMQ_VERSION_MINOR, SMQ_VERSION_PATCH);
    return 0;
}
"""


def output(*command, **environment):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True,
                          env={**os.environ, **environment}).stdout


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        output("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        pc = next(root.rglob("slotmq.pc"))
        found = {"PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(root)}
        libraries = pc.parent.parent
        version = output("pkg-config", "--modversion", "slotmq", **found).strip()
        flags = output("pkg-config", "--cflags", "slotmq", **found).split()
        shared = output("pkg-config", "--libs", "slotmq", **found).split()
        static = [libraries / "libslotmq.a" if flag == "-lslotmq" else flag for flag in
                  output("pkg-config", "--static", "--libs", "slotmq", **found).split()]
        (root / "program.c").write_text(PROGRAM)
        for kind, flags_of_kind in [("shared", shared), ("static", static)]:
            program = root / kind
            output("cc", "-o", program, root / "program.c", *flags, *flags_of_kind)
            said = output(program, LD_LIBRARY_PATH=str(libraries)).strip()
            if said != f"{version} {version}":
                sys.exit(f"{kind}: the program says {said}, pkg-config {version}")
            needed = "libslotmq" in output("ldd", program, LD_LIBRARY_PATH=str(libraries))
            if needed != (kind == "shared"):
                sys.exit(f"{kind}: linked the wrong library")


main()
