"""Build slotmq._native, by which Python calls the library: cffi reads the declarations from the public headers,
and the compiler checks them.

SLOTMQ_BUNDLE in the environment says which library is linked:

    not set              the shared library that pkg-config finds as `slotmq`, by PKG_CONFIG_PATH also one that is
                         not installed
    yes                  a static one, which is built from the sources around this folder with ZooKeeper
    without-zookeeper    the same without ZooKeeper
"""
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig

import cffi

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = FOLDER.parent
BUNDLES = {"yes": "enabled", "without-zookeeper": "disabled"}
# A header declares for C compilers what cffi need not know.
LEFT_OUT = [r"static inline smq_bytes smq_text\(.*?\n\}", r"typedef \w+ smq_worker\w*\s*;"]


def run(*command, **more):
    try:
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **more).stdout
    except FileNotFoundError:
        sys.exit(f"slotmq: the program {command[0]} is not installed")
    except subprocess.CalledProcessError as error:
        sys.exit(f"slotmq: {shlex.join(command)} failed with exit code {error.returncode}")


@functools.lru_cache(maxsize=None)
def bundle():
    """Where the library of the bundle is installed; None: the one of the system is used."""
    wanted = os.environ.get("SLOTMQ_BUNDLE", "")
    if not wanted:
        return None
    if wanted not in BUNDLES:
        sys.exit(f'slotmq: SLOTMQ_BUNDLE is "{wanted}"; it may be {" or ".join(BUNDLES)}')
    if not (SOURCES / "meson.build").exists():
        sys.exit(f"slotmq: SLOTMQ_BUNDLE needs the sources of the library, and they are not in {SOURCES}")
    # The folder stays, because setuptools runs this file for each of its steps.
    folder = FOLDER / "build" / f"library-{wanted}"
    # Build tools of Python put their own packages first, and meson may be a program of another Python.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DESTDIR")}
    if not (folder / "build.ninja").exists():
        run("meson", "setup", str(folder), str(SOURCES), f"--prefix={folder / 'prefix'}", "--libdir=lib",
            "--buildtype=release", "-Dcli=false", "-Dtests=false", "-Dbench=false", "-Ddemo=false",
            f"-Dzookeeper={BUNDLES[wanted]}", env=environment)
    run("meson", "install", "-C", str(folder), env=environment)
    return folder / "prefix"


def pkg_config(*arguments):
    environment = dict(os.environ)
    if bundle():
        environment["PKG_CONFIG_PATH"] = f"{bundle()}/lib/pkgconfig"
    if subprocess.run(["pkg-config", "--exists", "slotmq"], env=environment, check=False).returncode != 0:
        sys.exit("slotmq: pkg-config finds no library slotmq.  Install it (docs/INSTALL.md), or name its folder "
                 "in PKG_CONFIG_PATH, or set SLOTMQ_BUNDLE=yes or SLOTMQ_BUNDLE=without-zookeeper, which builds it")
    return shlex.split(run("pkg-config", *arguments, "slotmq", env=environment))


def preprocessed(*options):
    """The public headers, as the C compiler sees them."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
    return run(*compiler, "-E", *options, *pkg_config("--cflags"), "-", input="#include <slotmq/slotmq.h>\n")


def declarations():
    """The text for cffi: types and functions of the headers, and constants whose values the compiler gives."""
    kept, ours = [], False
    for line in preprocessed("-D__attribute__(x)=").splitlines():
        marker = re.match(r'# \d+ "([^"]+)"', line)
        if marker:
            ours = "/slotmq/" in marker[1]
        elif ours and line.strip():
            kept.append(line)
    text = "\n".join(kept)
    for pattern in LEFT_OUT:
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    constants = re.findall(r"^#define (SMQ_\w+) +\(?-?\d+\)?$", preprocessed("-dM"), re.MULTILINE)
    return "\n".join([text, *(f"#define {name} ..." for name in sorted(constants)),
                      'extern "Python" bool slotmq_visit_message(const smq_message_info *, void *);'])


def version():
    """That of the headers."""
    macros = dict(re.findall(r"^#define SMQ_VERSION_(\w+) (\d+)$", preprocessed("-dM"), re.MULTILINE))
    return ".".join(macros[part] for part in ("MAJOR", "MINOR", "PATCH"))


def linked():
    """Arguments for setuptools' Extension."""
    flags = pkg_config("--static", "--libs") if bundle() else pkg_config("--libs")
    folders = [flag[2:] for flag in flags if flag.startswith("-L")]
    if bundle():
        return {"extra_objects": [f"{bundle()}/lib/libslotmq.a"],
                "extra_link_args": [flag for flag in flags if flag != "-lslotmq"]}
    return {"extra_link_args": flags, "runtime_library_dirs": folders}


def make():
    builder = cffi.FFI()
    builder.cdef(declarations())
    includes = [flag[2:] for flag in pkg_config("--cflags-only-I")]
    builder.set_source("slotmq._native", "#include <slotmq/slotmq.h>", include_dirs=includes, **linked())
    return builder
