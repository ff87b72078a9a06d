#!/usr/bin/env python3
"""Run the blocks of code in the pages of documentation.

A block `console` has commands after "$ " and what they print.  "..." stands for any text, also of
several lines.  All blocks of a page are run in order, in one shell, on servers of their own.  A
block `c` is compiled with the public headers.  The blocks `ini` of compatibility.md are a tunnel to
ZooKeeper, which is run where stunnel is installed.

usage: test_pages.py ROOT SANDBOX SLOTMQ [PAGE...]"""
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

ROOT, SANDBOX, SLOTMQ = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ONLY = sys.argv[4:]
sys.path.insert(0, str(ROOT / "tests/support"))
from waiting import wait_until  # noqa: E402  the path comes first

BLOCK = re.compile(r"^```(console|c|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 120
C_HEAD = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <slotmq/slotmq.h>\n"


def pages():
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if not ONLY or page.name in ONLY]


def blocks(page, kind):
    return [match.group(2) for match in BLOCK.finditer(page.read_text()) if match.group(1) == kind]


def dialogue(block):
    """[(command, what it prints)]"""
    turns = []
    for line in block.splitlines():
        if line.startswith("$ "):
            turns.append((line[2:], []))
        else:
            turns[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in turns]


def pattern(expected):
    return re.compile(".*".join(re.escape(part) for part in expected.split("...")), re.DOTALL)


class Shell:
    """One bash, whose commands print to one pipe, each with a mark behind it."""

    MARK = "--- end of command ---"

    def __init__(self, environment):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment,
                                        cwd=environment["PWD"])

    def run(self, command):
        self.process.stdin.write(f"{command}\nprintf '\\n%s\\n' '{self.MARK}'\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.rstrip("\n") == self.MARK:
                return "\n".join(lines).rstrip("\n")
            lines.append(line.rstrip("\n"))
        raise EOFError(f"the shell ended: {command}")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(TIMEOUT_S)


class Servers:
    """A sandbox of its own, found by the command through the environment."""

    def __init__(self, other=False):
        """`other`: OTHER is the address of a second cluster."""
        self.names = ["sandbox", "other"] if other else ["sandbox"]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="slotmq-pages-")
        found, *others = [self.up(name) for name in self.names]
        return {**os.environ, **found, **{"OTHER": other["SLOTMQ_REDIS"] for other in others},
                "PATH": f"{SLOTMQ.parent}:{os.environ['PATH']}", "COLUMNS": "200", "PWD": self.folder.name}

    def up(self, name):
        box = f"{self.folder.name}/{name}"
        subprocess.run([SANDBOX, "up", box, "--zookeeper"], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", box], check=True, capture_output=True, text=True).stdout
        return dict(re.findall(r"^export (\w+)=(\S+)$", said, re.MULTILINE))

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run([SANDBOX, "down", f"{self.folder.name}/{name}"], check=True, capture_output=True)
        self.folder.cleanup()


def slotmq(environment, command):
    return subprocess.run(["bash", "-c", f"slotmq {command}"], env=environment, text=True, capture_output=True, check=False,
                          timeout=TIMEOUT_S)


def free_ports(count):
    """Of the loopback; all are held until they are known."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in held]


def certificates(folder):
    """An authority, ca, with a certificate for a server on localhost and one for clients; another signs itself."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    def new(name, *words):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}-key.pem", *words)

    for name in ("ca", "other"):
        new(name, "-x509", "-days", "2", "-addext", "keyUsage=critical,keyCertSign", "-out", f"{name}.pem")
    pathlib.Path(folder, "names").write_text(
        "subjectAltName=DNS:localhost\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
    for name in ("zk1", "slotmq"):
        new(name, "-out", f"{name}.csr")
        openssl("x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem",
                "-CAcreateserial", "-extfile", "names", "-out", f"{name}.pem")


def tunnel(stack, folder, block, replaced, port):
    """Run a block with this test's addresses until the stack ends."""
    for old, new in {"/etc/slotmq": folder, **replaced}.items():
        assert old in block, f"the block does not have {old}"
        block = block.replace(old, new)
    path = pathlib.Path(folder, f"{port}.conf")
    path.write_text(block)
    log = stack.enter_context(open(f"{folder}/{port}.log", "w+", encoding="utf-8"))
    process = subprocess.Popen(["stunnel", str(path)], stdout=log, stderr=log)
    stack.callback(process.wait, TIMEOUT_S)
    stack.callback(process.terminate)

    def listens():
        assert process.poll() is None, pathlib.Path(log.name).read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0
    wait_until(listens, TIMEOUT_S, f"stunnel listens: {path}")


def is_let_in(folder, port, name):
    """Does the server's end pass bytes of a client with this certificate on to ZooKeeper, which answers?"""
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # as by default from Python 3.13 on
    if name:
        context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}-key.pem")
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as link:
                link.sendall(b"srvr")
                return link.recv(9) == b"Zookeeper"
    except (ssl.SSLError, ConnectionError):
        return False


class Pages(unittest.TestCase):
    def test_commands_print_what_the_pages_say(self):
        for page in pages():
            turns = [turn for block in blocks(page, "console") for turn in dialogue(block)]
            if not turns:
                continue
            with self.subTest(page=page.name), Servers("$OTHER" in page.read_text()) as environment:
                self.play(turns, environment)

    def play(self, turns, environment):
        shell = Shell(environment)
        try:
            for command, expected in turns:
                printed = shell.run(f"timeout {TIMEOUT_S} {command}" if command.startswith("slotmq")
                                    else command)
                self.assertIsNotNone(pattern(expected).fullmatch(printed),
                                     f"$ {command}\nexpected:\n{expected}\nprinted:\n{printed}")
        finally:
            shell.close()

    def test_programs_are_compiled(self):
        """But README.md, which has lines of a program that tests/integration/examples runs."""
        for page in (page for page in pages() if page.name != "README.md"):
            for number, block in enumerate(blocks(page, "c")):
                with self.subTest(page=page.name, block=number):
                    source = block if "#include" in block else C_HEAD + block
                    done = subprocess.run(
                        [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-Wall", "-Wextra", "-Werror",
                         "-Wno-unused-function", "-fsyntax-only", f"-I{ROOT}/include", "-x", "c", "-"],
                        input=source, text=True, capture_output=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("stunnel"), "SKIPPED: the tunnel to ZooKeeper, because there is no stunnel")
    def test_zookeeper_is_reached_through_the_tunnel_of_the_page(self):
        if ONLY and "compatibility.md" not in ONLY:
            self.skipTest("this page is not wanted")
        inside, outside = blocks(ROOT / "docs/compatibility.md", "ini")
        with Servers() as environment, contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slotmq-tunnel-"))
            certificates(folder)
            direct = environment["SLOTMQ_ZOOKEEPER"]
            server, root = re.match(r"([^,/]+)[^/]*(.*)", direct).groups()
            public, local = free_ports(2)
            tunnel(stack, folder, inside, {"= 2281": f"= 127.0.0.1:{public}", "127.0.0.1:2181": server}, public)
            tunnel(stack, folder, outside, {"127.0.0.1:2181": f"127.0.0.1:{local}", "zk1.example.org:2281": f"127.0.0.1:{public}",
                                            "zk1.example.org": "localhost"}, local)
            environment["SLOTMQ_ZOOKEEPER"] = f"127.0.0.1:{local}{root}"
            said = slotmq(environment, "topic create hidden && slotmq send hidden 'two books' && "
                                       "slotmq consume hidden --count 1 -q && slotmq fleet show")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("two books", said.stdout.splitlines())
            self.assertFalse(is_let_in(folder, public, "other"), "somebody with a certificate of another authority")
            self.assertFalse(is_let_in(folder, public, None), "somebody without a certificate")
            self.assertTrue(is_let_in(folder, public, "slotmq"), "somebody with a certificate")
            environment["SLOTMQ_ZOOKEEPER"] = f"127.0.0.1:{public}{root}"
            self.assertNotEqual(slotmq(environment, "fleet show -X connect_timeout_ms=500ms").returncode, 0)

    def test_all_kinds_are_listed(self):
        for page, header, name in (("errors.md", "core.h", r"X\((SMQ_\w+), -?\d+, [A-Z]+,[\s\\]*\""),
                                   ("events.md", "client.h", r"X\(SMQ_EVENT_\w+, \d+, [A-Z]+, \"(\w+)\"")):
            defined = re.findall(name, (ROOT / "include/slotmq" / header).read_text())
            listed = re.findall(r"^\| `(\w+)` \| ", (ROOT / "docs" / page).read_text(), re.MULTILINE)
            self.assertEqual(defined, [row for row in listed if not row.startswith("SMQ_CLASS")], page)

    def test_exit_codes_and_levels(self):
        source = (ROOT / "cli/text/exit.c").read_text().split("enum exit_code exit_code_left_out")[0]
        names = dict(re.findall(r"(EXIT_\w+) = (\d+)", (ROOT / "cli/text/exit.h").read_text()))
        cases, waiting = {}, []
        for status, code in re.findall(r"case (SMQ_\w+):|return (EXIT_\w+);", source):
            waiting += [status] if status else []
            if code:
                cases.update((status, names[code]) for status in waiting)
                waiting = []
        rows = re.findall(r"^\| `(SMQ_\w+)` \| (\d+) \|", (ROOT / "docs/errors.md").read_text(), re.MULTILINE)
        self.assertEqual(cases, dict(rows))
        levels = re.findall(r"X\(SMQ_EVENT_\w+, \d+, ([A-Z]+), \"(\w+)\"",
                            (ROOT / "include/slotmq/client.h").read_text())
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", (ROOT / "docs/events.md").read_text(), re.MULTILINE)
        self.assertEqual({kind: level for level, kind in levels if kind != "log"},
                         {kind: level for kind, level in rows if kind != "log"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
