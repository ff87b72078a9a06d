#!/usr/bin/env python3
"""Run the blocks of code in the pages of documentation.

A block `console` has commands after "$ " and what they print.  "..." stands for any text, also of
several lines.  All blocks of a page are run in order, in one shell, on servers of their own.  A
block `c` is compiled with the public headers.

usage: test_pages.py ROOT SANDBOX SLOTMQ [PAGE...]"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT, SANDBOX, SLOTMQ = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ONLY = sys.argv[4:]
BLOCK = re.compile(r"^```(console|c)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
                                        stderr=subprocess.STDOUT, text=True, env=environment)

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

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="slotmq-pages-")
        self.box = f"{self.folder.name}/sandbox"
        subprocess.run([SANDBOX, "up", self.box], check=True, capture_output=True)
        said = subprocess.run([SANDBOX, "env", self.box], check=True, capture_output=True, text=True).stdout
        found = dict(re.findall(r"^export (\w+)=(\S+)$", said, re.MULTILINE))
        return {**os.environ, **found, "PATH": f"{SLOTMQ.parent}:{os.environ['PATH']}", "COLUMNS": "200"}

    def __exit__(self, *_):
        subprocess.run([SANDBOX, "down", self.box], check=True, capture_output=True)
        self.folder.cleanup()


class Pages(unittest.TestCase):
    def test_commands_print_what_the_pages_say(self):
        for page in pages():
            turns = [turn for block in blocks(page, "console") for turn in dialogue(block)]
            if not turns:
                continue
            with self.subTest(page=page.name), Servers() as environment:
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
        for page in pages():
            for number, block in enumerate(blocks(page, "c")):
                with self.subTest(page=page.name, block=number):
                    source = block if "#include" in block else C_HEAD + block
                    done = subprocess.run(
                        [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-Wall", "-Wextra", "-Werror",
                         "-Wno-unused-function", "-fsyntax-only", f"-I{ROOT}/include", "-x", "c", "-"],
                        input=source, text=True, capture_output=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_all_kinds_are_listed(self):
        for page, header, name in (("errors.md", "core.h", r"X\((SMQ_\w+), -?\d+, [A-Z]+,[\s\\]*\""),
                                   ("events.md", "client.h", r"X\(SMQ_EVENT_\w+, \d+, [A-Z]+, \"(\w+)\"")):
            defined = re.findall(name, (ROOT / "include/slotmq" / header).read_text())
            listed = re.findall(r"^\| `(\w+)` \| ", (ROOT / "docs" / page).read_text(), re.MULTILINE)
            self.assertEqual(defined, [row for row in listed if not row.startswith("SMQ_CLASS")], page)

    def test_exit_codes_and_levels(self):
        source = (ROOT / "cli/exit.c").read_text().split("enum exit_code exit_code_left_out")[0]
        names = dict(re.findall(r"(EXIT_\w+) = (\d+)", (ROOT / "cli/exit.h").read_text()))
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
