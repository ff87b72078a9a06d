#!/usr/bin/env python3
"""The walks of docs/first-change.md: the patches of each are applied to a copy of the tree, what they touch is compiled
and linked as the build folder does it, and that does what the page says.  A step that is left out is named.

usage: test_first_change.py BUILD_FOLDER
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
COPIED = ["cli", "coord", "docs", "include", "libsrc", "lua", "python/src", "serve", "tools",
          "tests/integration/command", "tests/integration/fixture", "tests/lua", "tests/support", "tests/unit",
          "tests/vectors"]
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
PATCH = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATCHES = {heading: "".join(PATCH.findall(text))
           for heading, text in SECTION.findall((ROOT / "docs/first-change.md").read_text())}
LIBRARY = max(path.name for path in (BUILD / "libsrc").glob("libslotmq.so*.*") if path.is_file())


def tree(path):
    """The name in the tree of a path of the build folder."""
    return os.path.relpath(os.path.normpath(BUILD / path), ROOT)


ENTRIES = {tree(entry["file"]): entry for entry in json.loads((BUILD / "compile_commands.json").read_text())}


def run(*command, cwd=BUILD, **environment):
    """Programs find the library beside them, and not where meson says that it is."""
    kept = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    return subprocess.run([str(word) for word in command], cwd=cwd, env={**kept, **environment},
                          capture_output=True, text=True, check=False)


class Walk(unittest.TestCase):
    """`root` is a copy of the tree, `folder` stands for its build folder."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name).resolve()
        self.root = self.folder / "tree"
        for name in COPIED:
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "libsrc").mkdir()
        for path in (BUILD / "libsrc").glob("libslotmq.so*"):
            (self.folder / "libsrc" / path.name).symlink_to(os.readlink(path) if path.is_symlink() else path)
        self.made = {}  # what the build folder has -> what was made anew in its place

    def good(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def bad(self, result, *texts):
        self.assertNotEqual(result.returncode, 0)
        for text in texts:
            self.assertIn(text, result.stdout + result.stderr)

    def has(self, path, *texts):
        for text in texts:
            self.assertIn(text, (self.root / path).read_text(), path)

    def apply(self, heading, *options):
        """The patches below a heading; options: those of git apply."""
        (self.folder / "patch").write_text(PATCHES[heading])
        self.good(run("git", "apply", *options, self.folder / "patch", cwd=self.root,
                      GIT_CEILING_DIRECTORIES=str(self.folder)))

    # --- as the build folder does it ---

    def moved(self, word):
        """A word of a command: a path of the tree becomes that in the copy."""
        flag, name = re.fullmatch(r"(-I|)(.*)", word, re.DOTALL).groups()
        if word.startswith("-D"):
            return word.replace(f"{ROOT}/", f"{self.root}/")
        path = pathlib.Path(os.path.normpath(BUILD / name))
        if path.is_relative_to(ROOT) and not path.is_relative_to(BUILD):
            copied = self.root / path.relative_to(ROOT)
            return f"{flag}{copied}" if copied.exists() else word
        return word

    def compile_one(self, source, like, place):
        entry = ENTRIES[like]
        command = [self.moved(word) for word in shlex.split(entry["command"])]
        made = self.folder / (source.replace("/", "_") + ".o")
        for option, value in (("-o", made), ("-MF", f"{made}.d"), ("-c", place / source)):
            command[command.index(option) + 1] = value
        self.good(run(*command))
        self.made[entry["output"] if source == like else source] = made

    def compile(self, *sources):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda source: self.compile_one(source, source, self.root), sources))

    def inputs(self, word):
        """An archive with an object that was made anew becomes its objects."""
        members = run("ar", "t", word).stdout.split() if word.endswith(".a") and word[0] != "-" else []
        return [self.made.get(name, name) for name in (members if self.made.keys() & {*members} else [word])]

    def link(self, target, *new):
        """A program or library of the build folder, with the objects that were made anew and those of new files."""
        made = self.folder / target
        made.parent.mkdir(parents=True, exist_ok=True)
        made.unlink(missing_ok=True)
        command = shlex.split(run("ninja", "-t", "commands", "-s", target).stdout)
        at = command.index("-o")
        words = [name for word in command[at + 2:] for name in self.inputs(word)]
        self.good(run(*command[:at], "-o", made, *(self.made[name] for name in new), *words))
        self.made[target] = made
        return made

    def link_library(self):
        self.link(f"libsrc/{LIBRARY}")

    def generator(self, name, *options):
        """One of tools/ with its program, which asks the library."""
        program = self.folder / "tools" / name
        program.parent.mkdir(exist_ok=True)
        shutil.copy(BUILD / "tools" / name, program)
        return run(sys.executable, self.root / "tools" / f"{name}.py", *options, self.folder, self.root)

    def scripts(self):
        """The scripts of the copy in the program of their tests."""
        command = shlex.split(run("ninja", "-t", "commands", "-s", "tests/lua/clocked.c").stdout)
        made = self.folder / "tests/lua"
        made.mkdir(parents=True)
        outputs = {f"tests/lua/clocked.{end}": made / f"clocked.{end}" for end in "cdh"}
        self.good(run(*(outputs.get(word) or self.moved(word) for word in command)))
        self.compile_one("clocked.c", tree("tests/lua/clocked.c"), made)
        self.made[ENTRIES[tree("tests/lua/clocked.c")]["output"]] = self.made.pop("clocked.c")


class Option(Walk):
    TEST = "tests/unit/model/test_option.c"
    KNOW = ["libsrc/client/options.c", *(f"libsrc/model/{name}.c" for name in (
        "option", "option_parse", "option_table", "topic", "topic_alter", "topic_fields", "topic_text"))]

    def test_walk(self):
        self.apply("An option")
        self.compile(*self.KNOW)
        self.link_library()
        self.bad(self.generator("configuration"), "docs/CONFIGURATION.md is out of date",
                 "cli/topic/topic_flags.h is out of date", "serve/openapi.json is out of date")
        self.good(self.generator("configuration", "--write"))
        self.good(self.generator("configuration"))
        self.has("docs/CONFIGURATION.md", "| `alert_lag_ms` | duration | none |", "Since 0.3.0.")
        self.has("cli/topic/topic_flags.h", 'TOPIC_FLAG("alert-lag", "alert_lag_ms", "TIME")')
        self.has("serve/openapi.json", '"alert_lag_ms": {"type": "integer"}')
        self.compile_one(self.TEST, self.TEST, ROOT)
        self.bad(run(self.link("tests/unit/model/test_model"), "option"), "[  FAILED  ] every_option_is_in_a_table")
        self.compile(self.TEST, "tests/integration/command/test_topic.c")
        self.good(run(self.link("tests/unit/model/test_model"), "option"))
        self.command()

    def command(self):
        self.compile("cli/topic/topic_create.c")
        test = self.link("tests/unit/command/test_command")
        screens = {"SLOTMQ_SCREENS": str(self.root / "tests/unit/command/screens")}
        self.good(run(test, "help", SLOTMQ_MANUAL=str(self.root / "docs/slotmq.1")))
        self.bad(run(test, "help", SLOTMQ_MANUAL=str(ROOT / "docs/slotmq.1")),
                 "the manual page does not hold \".It Fl -alert-lag")
        self.bad(run(test, "screens", **screens), "screens/topic-show-80.txt is not:")
        self.good(run(test, "screens", **screens, SLOTMQ_SCREENS_WRITE="1"))
        self.good(run(test, "screens", **screens))
        self.has("tests/unit/command/screens/topic-show-80.txt", "alert_lag_ms")

    def test_the_row_is_left_out(self):
        self.apply("An option", "--exclude=libsrc/*")
        self.bad(self.generator("configuration"), "smq_topic_options.alert_lag_ms has no row")


class Statistic(Walk):
    def test_walk(self):
        self.apply("A statistic")
        self.compile("libsrc/model/statistic.c", "tests/unit/model/test_metrics_text.c", "libsrc/model/metrics_text.c")
        self.link_library()
        self.bad(self.generator("statistic_table"), "docs/METRICS.md is out of date",
                 "serve/openapi.json is out of date", "python/src/slotmq/records.py is out of date")
        self.good(self.generator("statistic_table", "--write"))
        self.good(self.generator("statistic_table"))
        self.has("docs/METRICS.md", "| `slotmq_topic_messages_removed_total` | counter | Messages that an operator has")
        self.has("serve/openapi.json", '"duplicates": {"type": "integer"},\n     "removed": {"type": "integer"}')
        self.has("python/src/slotmq/records.py", "    removed: int\n")
        self.good(run(self.link("tests/unit/model/test_model"), "metrics_text"))

    def test_it_is_counted(self):
        self.apply("A statistic")
        self.compile(*(f"tests/lua/{name}.c" for name in ("test_edit", "model_slot", "model_edit", "model")),
                     "tests/integration/command/test_stat.c")
        self.scripts()
        self.good(run(self.link("tests/lua/test_lua"), "edit", "test_removed_from_every_state_but_claimed"))

    def test_the_row_is_left_out(self):
        self.apply("A statistic", "--exclude=libsrc/*")
        self.compile("tests/unit/model/test_metrics_text.c", "libsrc/model/statistic.c", "libsrc/model/metrics_text.c")
        self.bad(run(self.link("tests/unit/model/test_model"), "metrics_text"), "each_field_has_one_row")


class Verb(Walk):
    def test_walk(self):
        self.apply("A verb")
        self.compile("cli/verbs.c", "tests/integration/command/test_topic.c")
        self.compile_one("cli/topic/topic_count.c", "cli/topic/topic_rebind.c", self.root)
        self.has("cli/topic/meson.build", "'topic_count.c'")
        command = self.link("cli/slotmq", "cli/topic/topic_count.c")
        self.assertIn("topic count", self.good(run(command, "help")))
        test = self.link("tests/unit/command/test_command", "cli/topic/topic_count.c")
        self.good(run(test, "help", SLOTMQ_MANUAL=str(self.root / "docs/slotmq.1")))
        self.bad(run(test, "help", SLOTMQ_MANUAL=str(ROOT / "docs/slotmq.1")),
                 "the manual page does not hold \".Ss topic count")
        self.good(run(self.link("tests/integration/command/test_command"), "topic",
                      "test_that_there_are_no_topics_is_said", SLOTMQ_COMMAND=str(command)))


class Script(Walk):
    def test_walk(self):
        self.apply("A script")
        self.compile("tests/lua/test_topic.c", "tests/lua/test_denied.c")
        self.scripts()
        program = self.link("tests/lua/test_lua")
        self.good(run(program, "topic", "test_each_topic_that_is_due_is_given_to_one"))
        self.good(run(program, "denied", "test_a_change_of_a_topic_that_was_denied_is_done_by_the_same_call"))


class Page(unittest.TestCase):
    def test_each_walk_is_here(self):
        self.assertEqual([heading for heading, patch in PATCHES.items() if patch],
                         ["An option", "A statistic", "A verb", "A script"])


if __name__ == "__main__":
    unittest.main()
