#!/usr/bin/env python3
"""Check what `meson install` puts in its place, and that it is enough to build a program: with
pkg-config and with CMake, against the shared library and against the static one.

usage: installed.py BUILD_FOLDER [ROOT]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import version

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
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(slotmq @ASKED@ REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared slotmq::slotmq)
add_executable(static program.c)
target_link_libraries(static slotmq::slotmq_static)
"""
COMPLETIONS = ["bash-completion/completions/slotmq", "zsh/site-functions/_slotmq",
               "fish/vendor_completions.d/slotmq.fish"]


def output(*command, **environment):
    run = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True,
                         env={**os.environ, **environment})
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{run.stdout}{run.stderr}")
    return run.stdout


class Installed:
    """What one build installs, below a root of its own."""

    def __init__(self, build, source, root):
        self.source, self.root = source, root
        output("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
        self.pc = next(root.rglob("slotmq.pc")).parent
        self.libraries = self.pc.parent
        self.prefix = next(root.rglob("slotmq.h")).parents[2]
        self.found = {"PKG_CONFIG_PATH": str(self.pc), "PKG_CONFIG_SYSROOT_DIR": str(root)}
        self.version = output("pkg-config", "--modversion", "slotmq", **self.found).strip()
        (root / "program.c").write_text(PROGRAM)

    def pkg_config(self, *options):
        return output("pkg-config", *options, "slotmq", **self.found).split()

    def check_files(self):
        """Headers, names of libraries, pages of the manual, completions, documents, examples."""
        headers = {path.name for path in (self.source / "include").glob("*/*.h")}
        yield from (f"include/meson.build does not install slotmq/{name}" for name in
                    sorted(headers - {path.name for path in (self.prefix / "include/slotmq").iterdir()}))
        soversion = version.soversion(self.version)
        names = ["libslotmq.so", f"libslotmq.so.{soversion}", f"libslotmq.so.{self.version}"]
        resolved = {(self.libraries / name).resolve() for name in names}
        if len(resolved) != 1:
            yield f"{', '.join(names)} are not the same file"
        soname = output("readelf", "-dW", resolved.pop())
        if f"[libslotmq.so.{soversion}]" not in soname:
            yield f"the SONAME is not libslotmq.so.{soversion}"
        pages = output(self.source / "tools/manual.py", "names",
                       *sorted((self.source / "include/slotmq").glob("*.h"))).split()
        documents = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"]
        for pattern in ["docs/**/*.md", "examples/*.c", "examples/*.cpp", "examples/*.py", "deploy/*/*"]:
            documents += [str(path.relative_to(self.source)) for path in self.source.glob(pattern)]
        wanted = ["bin/slotmq", *("share/doc/slotmq/" + path for path in documents), "share/man/man1/slotmq.1", *("share/man/man3/" + page for page in pages),
                  *("share/" + path for path in COMPLETIONS)]
        yield from (f"{path} is missing" for path in wanted if not (self.prefix / path).is_file())
        yield from (f"{path} is of no use" for path in (self.prefix / "share/doc").rglob("*")
                    if path.name == "meson.build" or path.suffix == ".abi")

    def check_program(self, how, kind, program):
        said = output(program, LD_LIBRARY_PATH=str(self.libraries)).strip()
        if said != f"{self.version} {self.version}":
            yield f"{how}, {kind}: the program says {said}, pkg-config {self.version}"
        needed = "libslotmq" in output("ldd", program, LD_LIBRARY_PATH=str(self.libraries))
        if needed != (kind == "shared"):
            yield f"{how}, {kind}: linked the wrong library"

    def check_pkg_config(self):
        flags = self.pkg_config("--cflags")
        static = [self.libraries / "libslotmq.a" if flag == "-lslotmq" else flag
                  for flag in self.pkg_config("--static", "--libs")]
        for kind, libraries in [("shared", self.pkg_config("--libs")), ("static", static)]:
            program = self.root / kind
            output("cc", "-o", program, self.root / "program.c", *flags, *libraries)
            yield from self.check_program("pkg-config", kind, program)

    def cmake(self, asked):
        build = self.root / f"cmake-{asked}"
        (self.root / "CMakeLists.txt").write_text(CMAKE.replace("@ASKED@", asked))
        return build, subprocess.run(
            ["cmake", "-S", self.root, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            check=False, capture_output=True, text=True)

    def check_cmake(self):
        build, run = self.cmake(version.soversion(self.version))
        if run.returncode != 0:
            yield f"CMake: {run.stdout}{run.stderr}"
            return
        output("cmake", "--build", build)
        for kind in ["shared", "static"]:
            yield from self.check_program("CMake", kind, build / kind)
        _, run = self.cmake("99.0")
        if run.returncode == 0:
            yield "CMake: the version 99.0 is found, too"


def main():
    build, source = sys.argv[1], pathlib.Path((sys.argv + ["."])[2])
    with tempfile.TemporaryDirectory() as folder:
        installed = Installed(build, source.resolve(), pathlib.Path(folder))
        found = [*installed.check_files(), *installed.check_pkg_config(), *installed.check_cmake()]
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
