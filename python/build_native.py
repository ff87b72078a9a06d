"""Build slotmq._native, by which Python calls the library: cffi reads the declarations from the public headers,
and the compiler checks them.

SLOTMQ_LIBRARY in the environment says which library is linked:

    bundled              the default: a static one, which is built from its sources: the clone around this folder, or
                         in a source distribution the folder `library`
    without-zookeeper    the same without ZooKeeper
    shared               the shared library that pkg-config finds as `slotmq`, by PKG_CONFIG_PATH also one that is
                         not installed
"""
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

import cffi

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = FOLDER / "library" if (FOLDER / "library").exists() else FOLDER.parent
# The option zookeeper of those that are built here.
LIBRARIES = {"bundled": "enabled", "without-zookeeper": "disabled", "shared": None}
# What the build of the library reads.
PARTS = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "coord", "docs", "examples", "include", "libsrc", "lua",
         "meson.build", "meson_options.txt", "node", "packaging", "tools"]
# What a poll has got belongs to this struct, from which an answer takes it: also an exception that comes between two
# steps of Python loses none.
POLLED = """typedef struct slotmq_polled {
    size_t count;
    smq_delivery *held[];
} slotmq_polled;
"""
# A call from Python releases the lock of the interpreter, for which other threads wait: so one gets all of a batch.
POLL = """smq_status slotmq_poll(smq_consumer *consumer, slotmq_polled *out, const smq_message_info **infos,
                                  size_t capacity, int64_t timeout_ms, smq_error *err)"""
POLL_BODY = """
{
    smq_status status = smq_consumer_poll(consumer, out->held, capacity, &out->count, timeout_ms, err);

    out->count = status == SMQ_OK ? out->count : 0;
    for (size_t i = 0; i < out->count; i++) {
        infos[i] = smq_delivery_info(out->held[i]);
    }
    return status;
}
"""
# Release what was neither answered nor dropped.
DROP = "void slotmq_drop(slotmq_polled *polled)"
DROP_BODY = """
{
    for (size_t i = 0; i < polled->count; i++) {
        smq_delivery *left = __atomic_exchange_n(&polled->held[i], NULL, __ATOMIC_ACQ_REL);

        if (left != NULL) {
            smq_release(left, 0, NULL);
        }
    }
}
"""
# Give one answer to all that have none, and count them.  It returns the first status that is not SMQ_OK.
ANSWER = """smq_status slotmq_answer(smq_delivery **const *held, size_t count, const smq_answer *answer,
                                    size_t *answered, smq_error *err)"""
ANSWER_BODY = """
{
    enum { AT_ONCE = 128 };
    smq_answer some[AT_ONCE];
    smq_status first = SMQ_OK;
    smq_error why;

    for (size_t i = 0, taken; i < count; *answered += taken) {
        for (taken = 0; i < count && taken < AT_ONCE; i++) {
            some[taken] = *answer;
            some[taken].delivery = __atomic_exchange_n(held[i], NULL, __ATOMIC_ACQ_REL);
            taken += some[taken].delivery != NULL;
        }
        if (smq_answer_all(some, taken, &why) != SMQ_OK && first == SMQ_OK) {
            *err = why;
            first = why.status;
        }
    }
    return first;
}
"""
REMOVE = """void slotmq_remove_each(smq_client *client, const char *topic, const smq_message_ref *which, size_t count,
                                     bool *removed)"""
REMOVE_BODY = """
{
    bool fails = false;

    for (size_t i = 0; i < count && !fails; i++) {
        smq_status status = smq_message_remove(client, topic, &which[i], NULL);

        removed[i] = status == SMQ_OK;
        fails = status == SMQ_UNAVAILABLE || status == SMQ_UNKNOWN || status == SMQ_NO_TOPIC;
    }
}
"""
HELPERS = {POLL: POLL_BODY, DROP: DROP_BODY, ANSWER: ANSWER_BODY, REMOVE: REMOVE_BODY}
# What is visited.
VISITED = ("message", "schedule", "topic")
# A header declares for C compilers what cffi need not know.
LEFT_OUT = [r"static inline smq_bytes smq_text\(.*?\n\}", r"typedef \w+ smq_worker\w*\s*;"]


def run(*command, **more):
    try:
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **more).stdout
    except FileNotFoundError:
        sys.exit(f"slotmq: the program {command[0]} is not installed")
    except subprocess.CalledProcessError as error:
        print(error.stdout, file=sys.stderr)
        sys.exit(f"slotmq: {shlex.join(command)} failed with exit code {error.returncode}")


def copy_library(folder):
    """Copy the sources of the library into a source distribution."""
    for part in PARTS:
        if (SOURCES / part).is_dir():
            shutil.copytree(SOURCES / part, folder / part,
                            ignore=shutil.ignore_patterns("__pycache__", "abi", "build", "node_modules", "pictures"))
        else:
            shutil.copy(SOURCES / part, folder / part)


def library():
    wanted = os.environ.get("SLOTMQ_LIBRARY") or "bundled"
    if wanted not in LIBRARIES:
        sys.exit(f'slotmq: SLOTMQ_LIBRARY is "{wanted}"; it may be {", ".join(LIBRARIES)}')
    return wanted


@functools.lru_cache(maxsize=None)
def bundle():
    """The folder in which the library is built; None: the shared one is used."""
    option = LIBRARIES[library()]
    if not option:
        return None
    # The folder stays, because setuptools runs this file for each of its steps.
    folder = FOLDER / "build" / library()
    # Build tools of Python put their own packages first, and meson may be a program of another Python.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if not (folder / "build.ninja").exists():
        run("meson", "setup", str(folder), str(SOURCES), "--buildtype=release", "-Dcli=false", "-Dtests=false",
            "-Dbench=false", "-Ddemo=false", f"-Dzookeeper={option}", env=environment)
    run("ninja", "-C", str(folder), "library", env=environment)
    return folder


def pkg_config(*arguments):
    environment = dict(os.environ)
    if bundle():
        environment["PKG_CONFIG_PATH"] = f"{bundle()}/meson-uninstalled"
    if subprocess.run(["pkg-config", "--exists", "slotmq"], env=environment, check=False).returncode != 0:
        sys.exit("slotmq: pkg-config finds no library slotmq.  Install it (docs/INSTALL.md), or name its folder "
                 "in PKG_CONFIG_PATH, or let this build it: SLOTMQ_LIBRARY=bundled")
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
                      POLLED, *(f"{head};" for head in HELPERS),
                      *(f'extern "Python" bool slotmq_visit_{kind}(const smq_{kind}_info *, void *);' for kind in VISITED)])


def version():
    """That of the headers."""
    if LIBRARIES[library()]:  # built later, when the extension is
        text = (SOURCES / "include/slotmq/core.h").read_text()
    else:
        text = preprocessed("-dM")
    macros = dict(re.findall(r"^#define SMQ_VERSION_(\w+) (\d+)$", text, re.MULTILINE))
    return ".".join(macros[part] for part in ("MAJOR", "MINOR", "PATCH"))


def linked():
    """Arguments for setuptools' Extension."""
    flags = pkg_config("--static", "--libs") if bundle() else pkg_config("--libs")
    if bundle():
        return {"extra_objects": [f"{bundle()}/libsrc/libslotmq.a"],
                "extra_link_args": [flag for flag in flags if flag != "-lslotmq"]}
    # Below a root for staging the library is not where it will be.
    staged = os.environ.get("PKG_CONFIG_SYSROOT_DIR")
    folders = [flag[2:] for flag in flags if flag.startswith("-L") and not staged]
    return {"extra_link_args": flags, "runtime_library_dirs": folders}


def make():
    builder = cffi.FFI()
    builder.cdef(declarations())
    includes = [flag[2:] for flag in pkg_config("--cflags-only-I")]
    helpers = "".join(f"static {head}{body}" for head, body in HELPERS.items())
    builder.set_source("slotmq._native", f"#include <slotmq/slotmq.h>\n{POLLED}{helpers}", include_dirs=includes,
                       **linked())
    return builder
