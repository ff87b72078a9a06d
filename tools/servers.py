#!/usr/bin/env python3
"""Fetch a Redis or Valkey server of some Debian release into a folder of its own.

usage: servers.py NAME FOLDER        FOLDER/bin/redis-server then is that server
       servers.py --sources RELEASE  print the sources of a release, as sources.list(5) has them

NAME is one of SERVERS below.  apt-get downloads the packages, with all that they depend on, from the
mirror that the system itself uses, and checks them with Debian's keyring; nothing of the system
changes.  The server runs with the loader and the libraries of its release.  A folder that exists is
used as it is: remove it to fetch a newer one.

The exit status is 77 when the server cannot be had; the last line on stderr says why.
"""
import dataclasses
import pathlib
import re
import stat
import subprocess
import sys
import tempfile

NOT_HAD = 77
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEFAULT_MIRROR = "http://deb.debian.org/"
FETCH_TIMEOUT_S = 600

# apt's files below the folder {apt}.  Hooks, sources, keys, pins and packages of the system do not
# count; how to reach the mirror (proxy, time-outs) does.
APT_CONFIGURATION = """
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "{apt}/state";
Dir::State::status "{apt}/state/status";
Dir::Cache "{apt}/cache";
Dir::Log "{apt}/log";
Dir::Etc::sourcelist "{apt}/debian.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architectures {{ "{architecture}"; }};
APT::Default-Release "";
APT::Get::AllowUnauthenticated "false";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::PDiffs "false";
"""

START = """#!/bin/sh
# The server with the loader and the libraries of its release.
root=${{0%/*}}/../root
exec "$root/{loader}" --library-path "$root/{libraries}:$root/usr/{libraries}" \\
    "$root/usr/bin/{program}" "$@"
"""


@dataclasses.dataclass(frozen=True)
class Server:
    release: str
    package: str  # and its program in /usr/bin
    series: str


SERVERS = {
    "redis-7.0": Server("bookworm", "redis-server", "7.0"),
    "redis-8.0": Server("trixie", "redis-server", "8.0"),
    "valkey-8.1": Server("trixie", "valkey-server", "8.1"),
    "valkey-9.1": Server("sid", "valkey-server", "9.1"),
}


class NotHad(Exception):
    """Why there is no such server here."""


def upstream(version):
    """The part of a Debian version that the server's authors gave: 8.0.2 of 5:8.0.2-3+deb13u1."""
    return re.match(r"(?:\d+:)?([0-9.]+[0-9])", version).group(1)


def is_of(version, series):
    return upstream(version).split(".")[:len(series.split("."))] == series.split(".")


def mirror(used, archive):
    """The mirror of an archive ("debian", "debian-security") among the addresses that are used."""
    for address in used:
        if address.rstrip("/").endswith("/" + archive):
            return address.rstrip("/")
    return DEFAULT_MIRROR + archive


def sources(release, used):
    """The text of a file of sources for one release; sid has no security updates of its own."""
    places = [(mirror(used, "debian"), release)]
    if release != "sid":
        places.append((mirror(used, "debian-security"), release + "-security"))
    return "\n".join(f"Types: deb\nURIs: {address}\nSuites: {suite}\nComponents: main\n"
                     f"Targets: Packages\nSigned-By: {KEYRING}\n" for address, suite in places)


def run(*command):
    """What a command prints; its last complaint becomes the reason when it fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                stdin=subprocess.DEVNULL, timeout=FETCH_TIMEOUT_S)
    except FileNotFoundError as error:
        raise NotHad(f"there is no {command[0]} here") from error
    except subprocess.TimeoutExpired as error:
        raise NotHad(f"{command[0]} does not end within {FETCH_TIMEOUT_S} s") from error
    if result.returncode != 0:
        complaints = [line for line in result.stderr.splitlines() if line.startswith(("E:", "W:"))]
        raise NotHad(f"{command[0]}: {' '.join(complaints) or result.stderr.strip()}")
    return result.stdout


def used_mirrors():
    return run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()


def prepare(apt, server):
    """Write apt's configuration; the command that uses it."""
    for folder in ["state/lists/partial", "cache/archives/partial", "log"]:
        (apt / folder).mkdir(parents=True)
    (apt / "state" / "status").touch()
    (apt / "debian.sources").write_text(sources(server.release, used_mirrors()))
    architecture = run("dpkg", "--print-architecture").strip()
    (apt / "apt.conf").write_text(APT_CONFIGURATION.format(apt=apt, architecture=architecture))
    return "-c", str(apt / "apt.conf")


def candidate(options, server):
    found = re.search(r"^Version: (\S+)$",
                      run("apt-cache", *options, "show", "--no-all-versions", server.package), re.MULTILINE)
    if not found or not is_of(found.group(1), server.series):
        raise NotHad(f"Debian {server.release} has {server.package} {found.group(1) if found else 'not'}, "
                     f"not {server.series}")
    return found.group(1)


def unpack(packages, root):
    root.mkdir(parents=True)
    for package in packages:
        run("dpkg-deb", "-x", str(package), str(root))


def write_start(folder, program):
    """Write the script bin/redis-server, which must run."""
    root = folder / "root"
    loaders = sorted(path for place in ["lib", "lib64", "usr/lib", "usr/lib64"]
                     for path in (root / place).glob("ld-linux*.so.*"))
    libraries = sorted(path.parent for path in root.glob("**/libc.so.6"))
    if not loaders or not libraries or not (root / "usr/bin" / program).exists():
        raise NotHad(f"the packages have no {program}, loader or C library")
    (folder / "bin").mkdir()
    start = folder / "bin" / "redis-server"
    start.write_text(START.format(loader=loaders[0].relative_to(root), program=program,
                                  libraries=f"lib/{libraries[0].name}"))
    start.chmod(start.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    run(str(start), "--version")


def fetch(server, folder):
    """Make the folder; it has its name only when it is whole."""
    if not pathlib.Path(KEYRING).exists():
        raise NotHad(f"{KEYRING} is missing: install the package debian-archive-keyring")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        apt, made = pathlib.Path(work) / "apt", pathlib.Path(work) / "made"
        options = prepare(apt, server)
        run("apt-get", *options, "--error-on=any", "update")
        version = candidate(options, server)
        run("apt-get", *options, "--yes", "--download-only", "install", server.package)
        unpack(sorted((apt / "cache" / "archives").glob("*.deb")), made / "root")
        write_start(made, server.package)
        (made / "version").write_text(f"{server.package} {version} of Debian {server.release}\n")
        made.rename(folder)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--sources":
        print(sources(arguments[1], used_mirrors()), end="")
        return 0
    if len(arguments) != 2 or arguments[0] not in SERVERS:
        print(f"servers.py NAME FOLDER: NAME is one of {', '.join(SERVERS)}", file=sys.stderr)
        return 64
    folder = pathlib.Path(arguments[1]).absolute()
    try:
        if not folder.exists():
            fetch(SERVERS[arguments[0]], folder)
    except NotHad as reason:
        print(reason, file=sys.stderr)
        return NOT_HAD
    print((folder / "version").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
