#!/usr/bin/env python3
"""Check the table of scripts in docs/architecture.md, or write it anew.  usage: script_table.py [--write] [ROOT]

Keys, arguments and reply of a script are those in its head, without the remarks there: what stands in
parentheses, and in a reply what follows a colon.  A function of libsrc/store belongs to a script if
it begins with store_ and names the script, or calls a function of its file that does.  Its callers are
files of libsrc outside libsrc/store.  A long cell goes on in the next row, so that the table can be
read as text, too.
"""
import contextlib
import pathlib
import re
import sys
import textwrap

sys.dont_write_bytecode = True
import embed_lua  # noqa: E402 (beside this file)
import findings  # noqa: E402

PAGE = "docs/architecture.md"
BEGIN = "<!-- Made from lua/ and libsrc/: tools/script_table.py --write -->\n"
END = "<!-- End of the table of scripts -->\n"
# The widest text of a cell; a single word may be wider.
COLUMNS = {"script": 12, "function": 24, "called from": 30, "keys": 20, "arguments": 32, "reply": 36}
SLOT_KEYS = {"store, prepare, dead, why, slot": "KEYS5", "store, prepare, dead, why, slot, [body]": "KEYS6",
             "store, prepare, dead, why, slot, [body], [done]": "KEYS7"}

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


# --- heads ---

def wrap(column, text):
    return textwrap.wrap(text, COLUMNS[column], break_long_words=False, break_on_hyphens=False)


def without_remarks(text):
    """Without what stands in parentheses, except before dots: there they hold what is repeated."""
    before = None
    while before != text:
        before, text = text, re.sub(r" *\([^()]*\)(?!\.\.\.)", "", text)
    return " ".join(text.split())


def replies(text):
    """The forms of a reply: "OK, now, [failed]".  A script with verbs says before a colon to which one belongs."""
    for form in without_remarks(text).split(" | "):
        verbs, answer = re.fullmatch(r"((?:[a-z, ]+: )?)(.*)", form).groups()
        yield verbs + re.sub(r":.*", "", answer)


def reply_lines(forms):
    """Forms that fit share a line."""
    shared = []
    for form in forms:
        if shared and len(f"{shared[-1]}; {form};") <= COLUMNS["reply"]:
            shared[-1] += f"; {form}"
        else:
            shared.append(form)
    ended = [form + ";" for form in shared[:-1]] + shared[-1:]
    return [line for forms in ended for line in wrap("reply", forms)]


# --- table ---

def rows_of_calls(functions, files):
    """(function, called from); the files of one function may need several rows."""
    for function in functions:
        lines = wrap("called from", ", ".join(file for file, calls in files.items() if function in calls) or "-")
        yield from zip([function + "()"] + [""] * (len(lines) - 1), lines)


def rows_of(path, functions, files):
    fields = embed_lua.Contract(str(path), embed_lua.read_lines(path)).fields()
    keys = without_remarks(fields["KEYS"])
    calls = list(rows_of_calls(functions, files))
    cells = [[path.stem], [call[0] for call in calls], [call[1] for call in calls],
             wrap("keys", SLOT_KEYS.get(keys, keys) or "-"), wrap("arguments", without_remarks(fields["ARGV"]) or "-"),
             reply_lines(replies(fields["RETURN"]))]
    for number in range(max(map(len, cells))):
        yield [cell[number] if number < len(cell) else "" for cell in cells]


def table(root):
    functions, files = store_functions(root), callers_by_file(root)
    rows = [row for path in sorted((root / "lua").glob("*.lua"))
            for row in rows_of(path, functions.get(path.stem, []), files)]
    widths = [max(map(len, column)) for column in zip(list(COLUMNS), *rows)]
    lines = [list(COLUMNS), ["-" * width for width in widths], *rows]
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
    try:
        if page is None:
            yield f"{PAGE}: the two comments around the table of scripts are missing: see tools/script_table.py"
        elif page[1] != table(root):
            yield f"{PAGE}: the table of scripts is out of date: tools/script_table.py --write"
    except embed_lua.Refused as error:
        yield str(error)


def main():
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    root = pathlib.Path((arguments[1 if write else 0:] + ["."])[0])
    page = parts(root)
    if write and page:
        with contextlib.suppress(embed_lua.Refused):  # found() says it
            (root / PAGE).write_text(f"{page[0]}\n{table(root)}\n{page[2]}")
    findings.end(found(root))


if __name__ == "__main__":
    main()
