#!/usr/bin/env python3
"""Check the table of scripts in docs/architecture.md, or write it anew.  usage: script_table.py [--write] [ROOT]

A function of libsrc/store belongs to a script if it begins with store_ and names the script, or calls
a function of its file that does.  Its callers are files of libsrc outside libsrc/store.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import findings  # noqa: E402 (beside this file)

PAGE = "docs/architecture.md"
BEGIN = "<!-- Made from lua/ and libsrc/: tools/script_table.py --write -->\n"
END = "<!-- End of the table of scripts -->\n"
COLUMNS = ["script", "function", "called from"]

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FUNCTION = re.compile(r"^\w[\w ]*[ *](\w+)\([^;{]*\)\s*\{(.*?)^\}", re.MULTILINE | re.DOTALL)


# --- sources ---

def code(path):
    return COMMENT.sub("", path.read_text())


def callers_by_file(root):
    """{file above the store: the names that it calls}"""
    library = root / "libsrc"
    return {str(path.relative_to(library)): set(re.findall(r"\b(store_\w+)\(", code(path)))
            for path in sorted(library.rglob("*.c")) if path.parent != library / "store"}


def store_functions(root):
    """{script: the functions store_...() that end in a call of it, in the order of the sources}"""
    found = {}
    for path in sorted((root / "libsrc/store").glob("*.c")):
        bodies = dict(FUNCTION.findall(code(path)))
        for name in bodies:
            for script in scripts_of(name, bodies, set()) if name.startswith("store_") else ():
                found.setdefault(script, []).append(name)
    return found


def scripts_of(name, bodies, seen):
    """The scripts that a function names, or a function of the same file that it calls."""
    seen.add(name)
    scripts = set(re.findall(r"&script_(\w+)", bodies[name]))
    for called in re.findall(r"\b(\w+)\(", bodies[name]):
        if called in bodies and called not in seen:
            scripts |= scripts_of(called, bodies, seen)
    return scripts


# --- table ---

def rows_of(path, functions, files):
    """A row for each function that calls the script."""
    for number, function in enumerate(functions):
        callers = ", ".join(file for file, calls in files.items() if function in calls)
        yield ["" if number else path.stem, function + "()", callers or "-"]


def table(root):
    functions, files = store_functions(root), callers_by_file(root)
    rows = [row for path in sorted((root / "lua").glob("*.lua"))
            for row in rows_of(path, functions.get(path.stem, []), files)]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
    lines = [COLUMNS, ["-" * width for width in widths], *rows]
    return "".join("| " + " | ".join(map(str.ljust, row, widths)) + " |\n" for row in lines)


def parts(root):
    """The page before the table, the table, and the page after it."""
    before, begin, rest = (root / PAGE).read_text().partition(BEGIN)
    made, end, after = rest.partition(END)
    return (before + begin, made.strip("\n") + "\n", end + after) if begin and end else None


def found(root):
    """What is wrong, a line for each."""
    functions = store_functions(root)
    paths = list((root / "lua").glob("*.lua"))
    if not paths:
        yield "lua: there is no script"
    for path in sorted(paths):
        if path.stem not in functions:
            yield f"lua/{path.name}: no function of libsrc/store calls it"
    page = parts(root)
    if page is None:
        yield f"{PAGE}: the two comments around the table of scripts are missing: see tools/script_table.py"
    elif page[1] != table(root):
        yield f"{PAGE}: the table of scripts is out of date: tools/script_table.py --write"


def main():
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    root = pathlib.Path((arguments[1 if write else 0:] + ["."])[0])
    page = parts(root)
    if write and page:
        (root / PAGE).write_text(f"{page[0]}\n{table(root)}\n{page[2]}")
    findings.end(found(root))


if __name__ == "__main__":
    main()
