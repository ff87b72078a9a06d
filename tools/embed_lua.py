#!/usr/bin/env python3
"""Check the scripts of lua/ against their contracts and write them as C.

Every script begins with

    #!lua [flags=...]
    -- KEYS name, [name], [name]    those in brackets may be left out together; or the last is a tail of
                                 any length: name...
    -- ARGV name, name (words on it), name...      the last may be a tail of any length
    -- UNUSED name, name           arguments that it takes only because another script does; may be left out
    -- RETURN ...

Keys and arguments are embedded as locals of these names, and the place where a tail begins as a
local in capitals: `for i = NAME, #ARGV do`.  The header has the place of each argument:
SCRIPT_<SCRIPT>_ARGV_<NAME>, counted from 1.  A line `-- @include name` is replaced by
lua/lib/name.lua, which names what it takes from the script that includes it in lines `-- USES name,
name`.  A line `-- @script name` is replaced by lua/name.lua as a local function of that name: its
keys, its arguments, and for its tail a table like ARGV are the parameters, and NAME_TAIL is where the
tail begins in that table.

Refused: keys and arguments by number, an argument that is not used, a command on anything but a
declared key, a name that is neither local nor given by Redis, a name that a file of lib/ takes
without naming it or that is not defined where it is included, text that is not ASCII, lines over 100
columns.
Comments, blank lines and those functions of lib/ that a script does not use are not embedded.

    embed_lua.py [--break fencing] [--replace NAME=FILE] [--depfile FILE] HEADER SOURCE LUA...

--depfile writes which files were read, as make and ninja take it.
--replace takes another file for an include; --break fencing leaves out what stands between
`-- fence: begin` and `-- fence: end`, to show that the checks of a demonstration can fail.
"""

import argparse
import hashlib
import os
import re
import sys

sys.dont_write_bytecode = True
import lua_names  # noqa: E402 (beside this file)

COLUMNS = 100
# Up to this many are bound one by one, more by unpack().  With Redis 7.0 two take 82 ns one by one and
# 105 by unpack(), three about 60 either way, eleven 167 and 93.
ONE_BY_ONE = 2
READS = "#!lua flags=no-writes"
SHEBANGS = ("#!lua", "#!lua flags=allow-oom", READS)
WITHOUT_KEY = ("TIME", "SPUBLISH", "PUBSUB")
USES = "-- USES "
# Lua allows 200 names at a time in a function, and nobody keeps as many in mind.
MAIN_NAMES = 120


class Refused(Exception):
    """A script breaks a rule; the text names file, line and rule."""


def read_lines(path):
    with open(path, "rb") as file:
        data = file.read()
    lines = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        where = f"{path}:{number}"
        if any(byte < 32 or byte > 126 for byte in raw):
            raise Refused(f"{where}: only printable ASCII and spaces")
        if len(raw) > COLUMNS:
            raise Refused(f"{where}: longer than {COLUMNS} columns")
        if b"[[" in raw or b"[=" in raw:
            raise Refused(f"{where}: no long strings or comments")
        lines.append((where, raw.decode("ascii")))
    return lines


def included_path(name, folder, replaced):
    return replaced.get(name, os.path.join(folder, "lib", name + ".lua"))


def read_function(name, folder, replaced):
    """The lines of another script, as a function."""
    path = os.path.join(folder, name + ".lua")
    source = read_lines(path)
    contract = Contract(path, source)
    tail = contract.tail.upper()
    yield path, f"local {name.upper()}_{tail} = {len(contract.argv) + 1}"
    yield path, f"local function {name}({', '.join([*contract.keys, *contract.argv, 'ARGV'])})"
    yield path, f"local {tail} = {name.upper()}_{tail}"
    yield from splice(source[1:], folder, replaced)
    yield path, "end"


def splice(lines, folder, replaced):
    """Replace the include lines.  A file with locals is spliced once; files of lib/ include nothing."""
    seen = set()
    for where, line in lines:
        match = re.fullmatch(r"-- @script (\w+)", line)
        if match:
            yield from read_function(match.group(1), folder, replaced)
            continue
        match = re.fullmatch(r"-- @include (\w+)", line)
        if not match:
            if "@include" in line:
                raise Refused(f"{where}: an include is a line of its own, not indented")
            yield where, line
            continue
        name = match.group(1)
        part = list(read_part(included_path(name, folder, replaced)))
        if name in seen and any(text.startswith("local ") for _, text in part):
            raise Refused(f"{where}: {name} is included already")
        seen.add(name)
        yield from part


def read_part(path):
    """The lines of a file of lib/, which takes from its includer what it says, and nothing else."""
    lines = read_lines(path)
    for where, text in lines:
        if "@include" in text:
            raise Refused(f"{where}: a file of lib/ includes nothing")
    uses = [name for _, line in lines if line.startswith(USES) for name in lua_names.listed(line[len(USES) :])]
    own = [(where, line) for where, line in lines if not line.startswith(USES)]
    names = check_names(own, uses, "local, given by Redis, or in a line -- USES")
    for name in uses:
        if name not in names.used or uses.count(name) > 1:
            raise Refused(f"{path}: USES {name}, which it does not use, or names twice")
    return lines


def drop_unused(lines):
    """Without the functions of lib/ that nothing else uses: each run of a script would create them."""
    at, words = 0, [set(re.findall(r"\w+", line)) for _, line in lines]
    while at < len(lines):
        where, line = lines[at]
        match = re.match(r"local function (\w+)\(", line)
        if match and "/lib/" in where:
            end = next(i for i in range(at, len(lines)) if lines[i][1] == "end") + 1
            if not any(match[1] in found for found in words[:at] + words[end:]):
                return drop_unused(lines[:at] + lines[end:])
        at += 1
    return lines


def check_names(lines, given, else_than):
    try:
        names = lua_names.Names(lines, given)
    except lua_names.NamesError as error:
        raise Refused(str(error)) from error
    for where, name in names.free:
        if name not in lua_names.GLOBALS:
            raise Refused(f"{where}: {name} is not {else_than}")
    return names


def drop_fences(lines, broken):
    inside = None
    for where, line in lines:
        if line.strip() == "-- fence: begin":
            if inside:
                raise Refused(f"{where}: begins inside the fence of {inside}")
            inside = where
        elif line.strip() == "-- fence: end":
            if not inside:
                raise Refused(f"{where}: ends a fence that did not begin")
            inside = None
        elif not (inside and broken):
            yield where, line
    if inside:
        raise Refused(f"{inside}: the fence does not end")


class Contract:
    """The comment block after the shebang: what a script takes and returns."""

    def __init__(self, path, lines):
        if lines[0][1] not in SHEBANGS:
            raise Refused(f"{path}:1: the first line is one of {', '.join(SHEBANGS)}")
        self.path, self.lines = path, []
        for _, line in lines[1:]:
            if not line.startswith("--"):
                break
            self.lines.append(line[2:].strip())
        fields = self.fields()
        keys = re.sub(r" *\([^()]*\)", "", fields["KEYS"])
        names, *optional = keys.split(", [")
        self.optional = len(optional)
        names = names.split(", ") if names else []
        self.keys = self.names("KEYS", names + [name.removesuffix("]") for name in optional])
        self.keys_tail = self.keys.pop().removesuffix("...") if keys.endswith("...") else None
        argv = re.sub(r" *\([^()]*\)", "", fields["ARGV"])
        self.argv = self.names("ARGV", argv.split(", ") if argv else [])
        self.tail = self.argv.pop().removesuffix("...") if argv.endswith("...") else None
        self.unused = lua_names.listed(fields.get("UNUSED", ""))

    def fields(self):
        """{KEYS, ARGV, perhaps UNUSED, RETURN}, each with the lines that continue it."""
        fields, word = {}, None
        for line in self.lines:
            match = re.match(r"(KEYS|ARGV|UNUSED|RETURN) (.*)", line)
            if match:
                word = match.group(1)
                fields[word] = match.group(2)
            elif line and word:
                fields[word] += " " + line
            else:
                break
        if [word for word in fields if word != "UNUSED"] != ["KEYS", "ARGV", "RETURN"]:
            raise Refused(f"{self.path}: the header has KEYS, ARGV and RETURN, in this order")
        return fields

    def names(self, word, names):
        for name in names:
            last = name is names[-1]
            if not re.fullmatch(r"[a-z_]+(\.\.\.)?" if last else r"[a-z_]+", name):
                raise Refused(f"{self.path}: {word} is a list of names, and {name} is none")
        return names

    def bound(self):
        """The names that the script has without a line of its own."""
        tails = [tail.upper() for tail in (self.keys_tail, self.tail) if tail]
        return [*self.keys, *self.argv, *tails]

    def bindings(self):
        """Lines of Lua."""
        for table, names, tail in ("KEYS", self.keys, self.keys_tail), ("ARGV", self.argv, self.tail):
            numbers = ", ".join(f"{table}[{i}]" for i in range(1, len(names) + 1))
            if len(names) > ONE_BY_ONE:
                numbers = f"unpack({table}, 1, {len(names)})" if tail else f"unpack({table})"
            if names:
                yield f"local {', '.join(names)} = {numbers}"
            if tail:
                yield f"local {tail.upper()} = {len(names) + 1}"

    def places(self, script):
        """The enumerators of C."""
        names = [*self.argv, *([self.tail] if self.tail else [])]
        places = [
            f"    SCRIPT_{script.upper()}_ARGV_{name.upper()} = {place}"
            for place, name in enumerate(names, 1)
        ]
        return "enum {\n" + ",\n".join(places) + "\n};\n" if places else ""


def check_keys(keys, tail, lines):
    """Are only declared keys used, as far as the text shows?"""
    for where, line in lines:
        for table, used in re.findall(r"(KEYS|ARGV)\s*\[([^]]*)\]", line):
            if table == "KEYS" and used != "#KEYS" and not tail or used.isdigit():
                raise Refused(f"{where}: {table}[{used}]: use the names of the header")
        for call in re.finditer(r"redis\.p?call\((.*)", line):
            match = re.match(r"'([A-Z]+)'(?:, (\w+(?:\[#?\w+\])?))?[,)]", call.group(1))
            if not match:
                raise Refused(f"{where}: write redis.call('COMMAND', key, ...) on one line")
            command, key = match.groups()
            if command not in WITHOUT_KEY and key not in (*keys, "key", "KEYS[#KEYS]"):
                what = key or "an expression"
                raise Refused(f"{where}: {command} on {what}, which is not a declared key")


def strip(lines, bindings):
    shebang, *lines = lines
    kept = [(where, line) for where, line in lines if line.strip() and not line.lstrip().startswith("--")]
    return "\n".join([shebang[1], *bindings, *(line for _, line in drop_unused(kept))]) + "\n"


def directives(word, lines):
    """The names in lines `-- @word name`."""
    return [line.split()[2] for _, line in lines if re.fullmatch(rf"-- @{word} \w+", line)]


class Script:
    def __init__(self, path, options):
        self.name = os.path.splitext(os.path.basename(path))[0]
        source = read_lines(path)
        self.contract = contract = Contract(path, source)
        folder = os.path.dirname(path)
        scripts = [(path, source)]
        for name in directives("script", source):
            of = os.path.join(folder, name + ".lua")
            scripts.append((of, read_lines(of)))
        keys = [name for of, lines in scripts for name in Contract(of, lines).keys]
        self.read = [of for of, _ in scripts] + [
            included_path(name, folder, options.replaced)
            for _, lines in scripts
            for name in directives("include", lines)
        ]
        whole = list(splice(source, folder, options.replaced))
        lines = list(drop_fences(whole, options.broken))
        check_keys(keys, contract.keys_tail, lines)
        names = check_names(whole[1:], contract.bound(), "local, or given by Redis")
        for name in contract.bound():
            if (name in names.used) == (name in contract.unused) and name not in contract.keys:
                raise Refused(f"{path}: ARGV {name.lower()}, which is {'' if name in names.used else 'not '}used")
        many = len(contract.bound()) + names.main
        if many > MAIN_NAMES:
            raise Refused(f"{path}: {many} names outside of functions; {MAIN_NAMES} are allowed")
        self.text = strip(lines, contract.bindings())

    def declaration(self):
        lines = "\n".join(f" * {line}".rstrip() for line in self.contract.lines)
        places = self.contract.places(self.name)
        return f"/* {self.name}\n{lines} */\n{places}extern const struct script script_{self.name};\n"

    def definition(self):
        quoted = "\n".join(
            '    "%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"')
            for line in self.text.splitlines()
        )
        sha1 = hashlib.sha1(self.text.encode("ascii")).hexdigest()
        writes = "false" if self.text.startswith(READS) else "true"
        return (
            f"static const char text_{self.name}[] =\n{quoted};\n\n"
            f"const struct script script_{self.name} = {{\n"
            f'    "{self.name}", text_{self.name}, sizeof(text_{self.name}) - 1,\n'
            f'    "{sha1}", {len(self.contract.keys)}, '
            f"{self.contract.optional}, {writes}}};\n"
        )


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def header_text(scripts):
    return (
        "/* Made by tools/embed_lua.py from lua/: do not edit. */\n"
        "#ifndef SCRIPTS_H\n#define SCRIPTS_H\n\n"
        '#include "base/script.h"\n\n'
        + "\n".join(script.declaration() for script in scripts)
        + "\n/* All of them, by name. */\n"
        f"enum {{ SCRIPTS_COUNT = {len(scripts)} }};\n"
        "extern const struct script *const scripts_all[SCRIPTS_COUNT];\n\n#endif\n"
    )


def source_text(scripts, header):
    table = "\n".join(f"    &script_{script.name}," for script in scripts)
    return (
        "/* Made by tools/embed_lua.py from lua/: do not edit. */\n"
        f'#include "{header}"\n\n'
        "/* ISO C promises 4095 characters in a literal; our compilers take more. */\n"
        '#pragma GCC diagnostic ignored "-Woverlength-strings"\n\n'
        + "\n".join(script.definition() for script in scripts)
        + f"\nconst struct script *const scripts_all[SCRIPTS_COUNT] = {{\n{table}\n}};\n"
    )


def depfile_text(scripts, header):
    paths = sorted({path.replace(" ", "\\ ") for script in scripts for path in script.read})
    return f"{header}: {' '.join(paths)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--break", dest="broken", choices=("none", "fencing"), default="none")
    parser.add_argument("--replace", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--depfile")
    parser.add_argument("header")
    parser.add_argument("source")
    parser.add_argument("lua", nargs="+")
    options = parser.parse_args()
    options.broken = options.broken == "fencing"
    options.replaced = dict(pair.split("=", 1) for pair in options.replace)
    try:
        paths = sorted(options.lua, key=os.path.basename)
        scripts = [Script(path, options) for path in paths]
    except (Refused, OSError) as error:
        sys.exit(f"embed_lua.py: {error}")
    write(options.header, header_text(scripts))
    write(options.source, source_text(scripts, os.path.basename(options.header)))
    if options.depfile:
        write(options.depfile, depfile_text(scripts, options.header))


if __name__ == "__main__":
    main()
