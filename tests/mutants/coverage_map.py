"""Which tests run which lines: each test runs once in an instrumented build.

The map is kept in build-mutants, because it takes minutes to make.  A test that is new, or has
changed, is run when the map is read.  Where a file of the library has changed since the map was
made, its tests are those of all its lines.
"""
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
import time

import generate
import tree as trees

MAP = trees.FOLDER / "map.json"
NEAR = 30  # how far above a line that has no code of its own to look for one
# What these do does not depend on the code of the library, or they leave servers to others.
LEFT_OUT = {"sandbox", "servers", "run", "lua_mutants"}
# Tests of whole programs and of other languages take longer than all others together, and some of
# them longer than a mutant has.  Of 23,075 mutants of C, 91 were in lines that only the first run,
# and most of these in lines that KEPT run.
PROGRAMS = {"bench", "chaos", "command", "deployed", "examples", "node", "pages", "python"}
KEPT = {"command_fleet_show", "command_secrets"}
INCLUDE = re.compile(r"^-- @include (\w+)", re.MULTILINE)


def digest(*paths):
    text = b"".join(pathlib.Path(path).read_bytes() for path in paths)
    return hashlib.sha256(text).hexdigest()[:16]


def judges(tree):
    """The names of the tests that judge mutants."""
    return [name for name, test in tree.tests.items()
            if test.targets and name not in LEFT_OUT and "tools" not in test.suites
            and (name in KEPT or name.split("_")[0] not in PROGRAMS)]


def lines_run(gcda):
    """{file: lines that ran}, of the files that one test has written; gcov reads them beside those
    of the compiler."""
    found = collections.defaultdict(set)
    names = []
    for path in sorted(gcda.rglob("*.gcda")):
        notes = (pathlib.Path("/") / path.relative_to(gcda)).with_suffix(".gcno")
        if notes.exists():
            path.with_suffix(".gcno").symlink_to(notes)
            names.append(str(path))
    if not names:
        return found
    output = subprocess.run(["gcov", "--stdout", "--json-format", *names], cwd=gcda, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for report in output.decode().splitlines():
        for file in json.loads(report)["files"] if report else ():
            name = file["file"].removeprefix("../tree/")
            if name.split("/")[0] in generate.FOLDERS:
                found[name] |= {line["line_number"] for line in file["lines"] if line["count"]}
    return found


class Map:
    """`tests`: seconds by name; `lines`: by file and line the indexes of tests; `files` and
    `programs`: digests of the library's files and of what the tests are made of."""

    def __init__(self, tests, lines, files, programs):
        self.tests, self.lines, self.files, self.programs = tests, lines, files, programs
        self.names = list(tests)

    def save(self):
        MAP.write_text(json.dumps({"tests": self.tests, "lines": self.lines, "files": self.files,
                                   "programs": self.programs}))

    def unknown(self, tree):
        """The tests that are new or have changed, those with the longest limits first."""
        names = [name for name in judges(tree)
                 if self.programs.get(name) != digest(*tree.tests[name].sources)]
        return sorted(names, key=lambda name: -tree.tests[name].seconds_max)

    def add(self, tree, name, seconds, found):
        """What a test has run, in place of what is known of it."""
        if name in self.tests:
            index = self.names.index(name)
            for indexes in (indexes for lines in self.lines.values() for indexes in lines.values()):
                if index in indexes:
                    indexes.remove(index)
        else:
            index = len(self.names)
            self.names.append(name)
        self.tests[name] = round(seconds, 2)
        self.programs[name] = digest(*tree.tests[name].sources)
        for file, numbers in found.items():
            self.files.setdefault(file, digest(tree.copy / file))
            lines = self.lines.setdefault(file, {})
            for number in numbers:
                lines.setdefault(str(number), []).append(index)

    def _indexes(self, tree, file, line):
        lines = self.lines.get(file, {})
        if self.files.get(file) == digest(tree.copy / file):
            for at in range(line, max(line - NEAR, 0), -1):
                if str(at) in lines:
                    return set(lines[str(at)])
            return set()
        return {index for indexes in lines.values() for index in indexes}

    def of_line(self, tree, file, line):
        """The tests that run it, those that are likely to fail soonest first."""
        if file.endswith(".lua"):
            return self.of_script(tree, file)
        names = [self.names[index] for index in self._indexes(tree, file, line)]
        return sorted((name for name in names if name in tree.tests),
                      key=lambda name: (self.tests[name] * (1 if near(name, file) else 3), name))

    def of_script(self, tree, file):
        """Those of the suite lua, of which lua_random compares all scripts with a model, and those
        that run the line of the library that calls the script."""
        names = {name for name, test in tree.tests.items()
                 if "lua" in test.suites and name in self.tests}
        for script in scripts_with(tree.copy / "lua", pathlib.PurePath(file).stem):
            for path in (tree.copy / "libsrc/store").glob("*.c"):
                text = path.read_text(encoding="utf-8")
                for found in re.finditer(rf"&script_{script}\b", text):
                    line = text.count("\n", 0, found.start()) + 1
                    of = str(path.relative_to(tree.copy))
                    names |= {name for name in (self.names[index]
                                                for index in self._indexes(tree, of, line))
                              if name in tree.tests and "integration" in tree.tests[name].suites}
        stem = pathlib.PurePath(file).stem

        def order(name):
            suite = "lua" if "lua" in tree.tests[name].suites else "integration"
            return (suite != "lua", name != f"lua_{stem}", self.tests[name], name)

        return sorted(names, key=order)


def near(test, file):
    """Is the test named after the folder or the file?"""
    words = pathlib.PurePath(file).with_suffix("").parts
    return test.split("_")[0] in words or words[-1] in test


def scripts_with(lua, name):
    """The scripts that are, or include, this one."""
    if (lua / f"{name}.lua").exists():
        return {name}
    includes = {path.stem: set(INCLUDE.findall(path.read_text(encoding="utf-8")))
                for path in lua.rglob("*.lua")}
    found = {name}
    while more := {stem for stem, parts in includes.items() if parts & found} - found:
        found |= more
    return {stem for stem in found if (lua / f"{stem}.lua").exists()}


def run_one(tree, name):
    """(name, seconds, {file: lines}); None for the lines: the test failed."""
    with tempfile.TemporaryDirectory(prefix="slotmq-coverage-") as folder:
        begin = time.monotonic()
        try:
            code, output = tree.run_test(name, 4 * tree.tests[name].seconds_max,
                                         {"GCOV_PREFIX": folder})
        except trees.TakesTooLong:
            code, output = 1, "it takes too long"
        seconds = time.monotonic() - begin
        if code != 0:
            print(f"mutants: {name} fails without a mutant, and is left out\n{output[-2000:]}",
                  flush=True)
            return name, seconds, None
        return name, seconds, lines_run(pathlib.Path(folder))


def read(tree, anew=False):
    """The map that there is, or a new one, with the tests of the tree as they are."""
    there = MAP.exists() and not anew
    runs = Map(**json.loads(MAP.read_text())) if there else Map({}, {}, {}, {})
    names = runs.unknown(tree)
    if not names:
        return runs
    begin = time.monotonic()
    print(f"mutants: running {len(names)} tests once to see what they run", flush=True)
    with trees.pool(tree.programs) as threads:
        for name, seconds, found in threads.map(lambda name: run_one(tree, name), names):
            if found is not None:
                runs.add(tree, name, seconds, found)
    runs.save()
    print(f"mutants: {len(runs.tests)} tests run lines of {len(runs.files)} files, "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    return runs
