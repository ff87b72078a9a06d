#!/usr/bin/env python3
"""Check the scripts of lua/ against their contracts and write them as C.

Every script begins with

    #!lua [flags=...]
    -- KEYS name, name, [name]      the last may be left out
    -- ARGV ...
    -- RETURN ...

and binds its keys to exactly these names:  local name, name = KEYS[1], KEYS[2]
A line `-- @include name` is replaced by lua/lib/name.lua, which names what it takes from the script
that includes it in lines `-- USES name, name`.

Refused: a key beyond the declared ones, a command on anything but a declared key, a name that is
neither local nor given by Redis, a name that a file of lib/ takes without naming it or that is not
defined where it is included, text that is not ASCII, lines over 100 columns.
Comments and blank lines are not embedded.

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
SHEBANGS = ("#!lua", "#!lua flags=allow-oom", "#!lua flags=no-writes")
WITHOUT_KEY = ("TIME", "SPUBLISH")
USES = "-- USES "


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


def splice(lines, folder, replaced):
    """Replace the include lines.  A file is spliced once; files of lib/ include nothing."""
    seen = set()
    for where, line in lines:
        match = re.fullmatch(r"-- @include (\w+)", line)
        if not match:
            if "@include" in line:
                raise Refused(f"{where}: an include is a line of its own, not indented")
            yield where, line
            continue
        name = match.group(1)
        if name in seen:
            raise Refused(f"{where}: {name} is included already")
        seen.add(name)
        yield from read_part(included_path(name, folder, replaced))


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


def parse_contract(path, lines):
    """The comment block after the shebang -> {KEYS, ARGV, RETURN} and all its lines."""
    if lines[0][1] not in SHEBANGS:
        raise Refused(f"{path}:1: the first line is one of {', '.join(SHEBANGS)}")
    block = []
    for _, line in lines[1:]:
        if not line.startswith("--"):
            break
        block.append(line[2:].strip())
    fields = {}
    for word, line in zip(("KEYS", "ARGV", "RETURN"), [b for b in block if re.match("[A-Z]+ ", b)]):
        if not line.startswith(word + " "):
            raise Refused(f"{path}: the header has KEYS, ARGV and RETURN, in this order")
        fields[word] = line[len(word) :].strip()
    if len(fields) != 3:
        raise Refused(f"{path}: the header has KEYS, ARGV and RETURN")
    names, _, last = fields["KEYS"].partition(", [")
    keys = names.split(", ") + ([last[:-1]] if last.endswith("]") else [])
    if not all(re.fullmatch(r"[a-z]+", key) for key in keys):
        raise Refused(f"{path}: KEYS is a list of names: a, b, [only of some topics]")
    return keys, bool(last), block


def check_keys(path, keys, lines):
    """Are only declared keys used, as far as the text shows?"""
    text = "\n".join(line for _, line in lines)
    numbers = ", ".join(f"KEYS[{i + 1}]" for i in range(len(keys)))
    if f"local {', '.join(keys)} = {numbers}\n" not in text:
        raise Refused(f"{path}: bind the keys: local {', '.join(keys)} = {numbers}")
    for where, line in lines:
        for used in re.findall(r"KEYS\s*\[([^]]*)\]", line):
            if used != "#KEYS" and not (used.isdigit() and 1 <= int(used) <= len(keys)):
                raise Refused(f"{where}: KEYS[{used}] is not declared")
        for call in re.finditer(r"redis\.p?call\((.*)", line):
            match = re.match(r"'([A-Z]+)'(?:, (\w+(?:\[#?\w+\])?))?[,)]", call.group(1))
            if not match:
                raise Refused(f"{where}: write redis.call('COMMAND', key, ...) on one line")
            command, key = match.groups()
            if command not in WITHOUT_KEY and key not in (*keys, "key", "KEYS[#KEYS]"):
                what = key or "an expression"
                raise Refused(f"{where}: {command} on {what}, which is not a declared key")


def strip(lines):
    kept = [line for _, line in lines if line.strip() and not line.lstrip().startswith("--")]
    return "\n".join(kept) + "\n"


class Script:
    def __init__(self, path, options):
        self.name = os.path.splitext(os.path.basename(path))[0]
        source = read_lines(path)
        keys, self.optional, self.contract = parse_contract(path, source)
        folder = os.path.dirname(path)
        names = re.findall(r"^-- @include (\w+)$", "\n".join(line for _, line in source), re.MULTILINE)
        self.read = [path] + [included_path(name, folder, options.replaced) for name in names]
        lines = list(drop_fences(splice(source, folder, options.replaced), options.broken))
        check_keys(path, keys, lines)
        check_names(lines[1:], (), "local, or given by Redis")
        self.keys = len(keys)
        self.text = strip(lines)

    def declaration(self):
        lines = "\n".join(f" * {line}".rstrip() for line in self.contract)
        return f"/* {self.name}\n{lines} */\nextern const struct script script_{self.name};\n"

    def definition(self):
        quoted = "\n".join(
            '    "%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"')
            for line in self.text.splitlines()
        )
        sha1 = hashlib.sha1(self.text.encode("ascii")).hexdigest()
        return (
            f"static const char text_{self.name}[] =\n{quoted};\n\n"
            f"const struct script script_{self.name} = {{\n"
            f'    "{self.name}", text_{self.name}, sizeof(text_{self.name}) - 1,\n'
            f'    "{sha1}", {self.keys}, {"true" if self.optional else "false"}}};\n'
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
