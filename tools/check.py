#!/usr/bin/env python3
"""Check what the pages and sources of this tree promise about each other.  usage: check.py [ROOT]

names       a function of the library, of coord and of the command begins with the name of its module
paths       the files and folders that the pages for developers and the READMEs of folders name exist
features    each row of docs/FEATURES.md is full, and what it names exists
guarantees  each cell of docs/guarantees.md names a test, and these exist
reasons     each reason why a process has no slot has a row in docs/operations.md
scripts     the table of scripts in docs/architecture.md is what lua and libsrc say
readme      the code in README.md is that of programs which are run, and its install commands are those of docs/INSTALL.md;
            the program in docs/start.md is examples/readme.c, and is short; the pieces of docs/cpp.md are of raii.cpp
width       lines of prose are not wider than those of code
words       the pages of the first hour of a contributor have no more words than can be read in it
"""
import pathlib
import re

import findings
import script_table

# --- names ---

ROOMS = ["libsrc", "coord", "cli", "serve", "node"]
FUNCTION = re.compile(r"^(?:SMQ_API )?(?:static )?(?:inline )?(?:const )?(?:struct |enum |unsigned )?\w+[ *]+"
                      r"(\w+)\([^;{]*\)\s*\{", re.MULTILINE)
DECLARED = re.compile(r"^(?!static|typedef| |/|#)[\w ]+[ *](\w+)\([^{}]*?\)[^;{]*;", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (\w+) \{", re.MULTILINE)


def forms(noun):
    yield noun
    yield noun + "s" if not noun.endswith("s") else noun[:-1]
    if noun.startswith("smq_"):
        yield from forms(noun.removeprefix("smq_"))


def prefixes(path, text):
    """The words with which a function of this file may begin: the name of the file or a word of it, that of its
    folder or of the one above, that of a type which the file or a header of the folder defines, and the first words of
    the functions that its own header declares (of the store: call.h, which all its files share)."""
    nouns = {path.stem, *path.stem.split("_"), path.parent.name, path.parent.parent.name, *TYPE.findall(text)}
    for header in path.parent.glob("*.h"):
        declared = header.read_text()
        nouns.update(TYPE.findall(declared))
        nouns.add(header.stem)
        if header.stem.split("_")[0] == path.stem.split("_")[0] or header.stem == "call":
            nouns.update(name.split("_")[0] for name in DECLARED.findall(declared))
    nouns.add("smq")  # a public function
    return {form for noun in nouns for form in forms(noun)}


def names(root):
    paths = sorted(path for room in ROOMS for path in (root / room).rglob("*.c"))
    for path in paths:
        text = path.read_text()
        words = prefixes(path, text)
        for name in FUNCTION.findall(text):
            if name != "main" and not any(name == word or name.startswith(word + "_") for word in words):
                yield f"{path.relative_to(root)}: {name}() does not begin with the name of its module"
    if not paths:
        yield "there is no source of the library, of coord or of the command"


# --- paths ---

PAGES = ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/first-change.md", "docs/deployment.md",
         "docs/release.md", "lua/README.md", "bench/README.md", "coord/model/README.md"]
NAMED = re.compile(r"`((?:libsrc|coord|cli|serve|node|lua|tests|tools|docs|include|bench|demo|examples|deploy)/[\w./*-]*)`")
# The README of a folder names its files without the folder.
BESIDE = re.compile(r"`(\w+\.(?:[ch]|js))`")
# A page of architecture names files of the library as the code includes them.
INCLUDED = re.compile(r"`((?:base|model|redis|store|core|produce|consume|admin|client)/[\w./-]*)`")


def paths(root):
    """NAME and VERSION in a path stand for anything."""
    readmes = {str(path.relative_to(root)) for room in [*ROOMS, "include"] for path in (root / room).rglob("README.md")}
    for page in [*PAGES, *sorted(readmes - {*PAGES})]:
        text = (root / page).read_text()
        found = [(name, name) for name in NAMED.findall(text)]
        if page not in PAGES:
            found += [(name, f"{pathlib.PurePath(page).parent}/{name}") for name in BESIDE.findall(text)]
        if page == "docs/architecture.md":
            found += [(name, "libsrc/" + name) for name in INCLUDED.findall(text)]
        for name, path in found:
            if not list(root.glob(re.sub(r"NAME|VERSION", "*", path).rstrip("/"))):
                yield f"{page}: there is no {name}"


# --- features ---

FEATURES = "docs/FEATURES.md"


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def feature_rows(text):
    """The rows of the tables whose first column is "feature", with their lines."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] if line.startswith("|") else []
        if not cells or cells[0] == "feature":
            inside = bool(cells)
        elif inside and not re.match(r"\|[\s:|-]+$", line):
            yield number, cells


def feature_test(root, name):
    """What is wrong with `file:function`; None: nothing."""
    file, _, function = name.partition(":")
    path = root / "tests" / file
    if not path.is_file():
        return f"there is no tests/{file}"
    if not function or not re.search(rf"\b{re.escape(function)}\b", path.read_text()):
        return f"tests/{file} has no {function or 'function named'}"
    return None


def feature_row(root, row, headers, manual):
    """feature | call | command | note | test: a dash stands for a call or command that cannot be, and then the note says
    why."""
    if len(row) != 5 or not all(row[:3]):
        yield "5 columns, the first three not empty"
        return
    _, call, command, note, tests = row
    if "-" in (call, command) and not note:
        yield "a dash needs a note"
    for name in re.findall(r"`(\w+)", call):
        if not re.search(rf"\b{name}\b", headers):
            yield f"{name} is in no public header"
    for name in quoted(command):
        if not re.search(rf"\b{re.escape(name.removeprefix('slotmq '))}\b", manual):
            yield f"{name} is not in docs/slotmq.1"
    if not quoted(tests):
        yield "names no test"
    yield from filter(None, (feature_test(root, name) for name in quoted(tests)))


def features(root):
    headers = "\n".join(path.read_text() for path in (root / "include/slotmq").glob("*.h"))
    manual = (root / "docs/slotmq.1").read_text()
    rows = list(feature_rows((root / FEATURES).read_text()))
    for number, row in rows:
        yield from (f"{FEATURES}:{number}: {text}" for text in feature_row(root, row, headers, manual))
    if not rows:
        yield f"{FEATURES}: no table of features"


# --- guarantees ---

GUARANTEES = "docs/guarantees.md"
DEFINED = r"(?m)^(?:static void |\s*def |class ){}\b"
CELL = re.compile(r"Redis may lose|\[\d+\]$")


def fault_rows(text):
    """The rows of faults: those of tables whose first column is "fault"."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells or cells[0] == "fault":
            inside = bool(cells)
        elif inside and not cells[0].startswith("--"):
            yield number, cells[1:]


def guarantees(root):
    """A cell ends with the numbers of tests, [1] [2], or says "Redis may lose".  Under "## Tests" each number has
    `FILE:FUNCTION`, below tests/chaos, lua, unit or integration; that file defines the function, or class."""
    tables, _, tests = (root / GUARANTEES).read_text().partition("\n## Tests\n")
    named = dict(re.findall(r"(?m)^- \[(\d+)\] (.*(?:\n  .*)*)", tests))
    for number, cells in fault_rows(tables):
        for cell in cells:
            if not CELL.search(cell):
                yield f'{GUARANTEES}:{number}: "{cell}" names no test, and does not say "Redis may lose"'
    used = set(re.findall(r"\[(\d+)\](?!\()", tables))
    for number in sorted(used ^ set(named), key=int):
        yield f"{GUARANTEES}: [{number}] is {'not under Tests' if number in used else 'not used'}"
    for number, line in named.items():
        tests = re.findall(r"`([^`:]+):(\w+)`", line)
        if not tests:
            yield f"{GUARANTEES}: [{number}] names no FILE:FUNCTION"
        for file, function in tests:
            path = root / ("tests" if file.startswith(("chaos/", "lua/", "unit/")) else "tests/integration") / file
            if not path.is_file() or not re.search(DEFINED.format(function), path.read_text()):
                yield f"{GUARANTEES}: [{number}]: {path.relative_to(root)} defines no {function}"


# --- reasons ---

REASONS = "libsrc/consume/consumer/standby.c"
REASON = re.compile(r"\[COORD_NO_SLOT_\w+\] =((?:\s*\"(?:[^\"\\]|\\.)*\")+)")
REASON_WORDS = 5  # so many of its words are enough to find it


def reasons(root):
    page = " ".join((root / "docs/operations.md").read_text().split())
    found = REASON.findall((root / REASONS).read_text())
    for literals in found:
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals))
        words = " ".join(re.split(r"[;:]", text)[0].split()[:REASON_WORDS])
        if not re.search(rf"\*[^*|]*\b{re.escape(words)}\b", page):
            yield f"docs/operations.md: no row has the reason of {REASONS}: {words} ..."
    if not found:
        yield f"{REASONS}: there is no reason why a process has no slot"


# --- scripts ---

def scripts(root):
    return script_table.found(root)


# --- readme ---

MOST_LINES, MOST_SHOWN = 30, 7  # blank ones are not counted
# The programs of which README.md shows a few lines, by the language of its block.
SHOWN = {"c": "examples/readme.c", "cpp": "examples/raii.cpp"}


def filled(text):
    return sum(1 for line in text.splitlines() if line.strip())


def installing(text):
    """The block of commands that begins with apt-get update."""
    found = re.search(r"^    apt-get update\n(?:    .*\n)+", text, re.MULTILINE)
    return found and found[0]


def readme(root):
    page, start = ((root / name).read_text() for name in ("README.md", "docs/start.md"))
    program = (root / SHOWN["c"]).read_text()
    for language, path in SHOWN.items():
        lines = re.sub(r"(?m)^[ \t]+", "", (root / path).read_text())
        blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
        if len(blocks) != 1 or re.sub(r"(?m)^[ \t]+", "", blocks[0]) not in lines:
            yield f"README.md: its one block of {language} must be lines of {path}"
        elif filled(blocks[0]) > MOST_SHOWN:
            yield f"README.md: its block of {language} must have at most {MOST_SHOWN} lines"
    for block in re.findall(r"^```cpp\n(.*?)^```$", (root / "docs/cpp.md").read_text(), flags=re.DOTALL | re.MULTILINE):
        if block not in (root / SHOWN["cpp"]).read_text():
            yield f"docs/cpp.md: not letter for letter in {SHOWN['cpp']}: {block.splitlines()[0]}"
    if program not in re.findall(r"^```c\n(.*?)^```$", start, flags=re.DOTALL | re.MULTILINE):
        yield f"docs/start.md: no block of C is {SHOWN['c']}, letter for letter"
    if filled(program) > MOST_LINES:
        yield f"{SHOWN['c']}: {filled(program)} lines; it must show send and consume in {MOST_LINES}"
    commands = installing((root / "docs/INSTALL.md").read_text())
    if not commands or installing(page) != commands:
        yield "README.md: its commands to install must be those of docs/INSTALL.md"


# --- width ---

WIDEST = 100
PROSE = ["*.md", "bench/*.md", "deploy/*.md",
         *(f"{folder}/**/*.md" for folder in [*ROOMS, "include", "lua", "docs", "tests"])]


def width(root):
    """Tables, code and lines with a URL may be wider."""
    for path in sorted(path for pattern in PROSE for path in root.glob(pattern)):
        fenced = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            fenced ^= line.startswith("```")
            if len(line) > WIDEST and not fenced and not re.match(r" {4}| *\|", line) and "://" not in line:
                yield f"{path.relative_to(root)}:{number}: {len(line)} columns; wrap it at {WIDEST}"


# --- words ---

FIRST_HOUR = ["CONTRIBUTING.md", "docs/first-change.md", "docs/architecture.md", "lua/README.md"]
MOST_WORDS = 11000


def words(root):
    count = sum(len((root / page).read_text().split()) for page in FIRST_HOUR)
    if count > MOST_WORDS:
        yield (f"{', '.join(FIRST_HOUR)}: {count} words, and at most {MOST_WORDS} are for a first hour: leave to headers, "
               "decisions and heads of scripts what they say already")


def everything(root):
    for check in (names, paths, features, guarantees, reasons, scripts, readme, width, words):
        yield from check(root)


if __name__ == "__main__":
    findings.check_tree(everything)
