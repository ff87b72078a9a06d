#!/usr/bin/env python3
"""Check the scripts of lua/ against their contracts and write them as C.

Every script begins with

    #!lua [flags=...]
    -- KEYS name, [name], [name]    those in brackets may be left out together; or the last is a tail of
                                 any length: name...
    -- ARGV name, name (words on it), name...      the last may be a tail of any length
    -- RETURN ...

Keys and arguments are embedded as locals of these names, and the place where a tail begins as a
local in capitals: `for i = NAME, #ARGV do`.  The header has the place of each argument:
SCRIPT_<SCRIPT>_ARGV_<NAME>, counted from 1.  A line `-- @include name` is replaced by the module
lua/lib/name.lua, whose head says what it shares (lua_modules.py); its other names stay its own.  A
line `-- @script name` is replaced by lua/name.lua as a local function of that name, which takes two
tables like KEYS and ARGV; NAME_TAIL is where the tail begins in the second one.  Its clock is that of
the caller.

Refused: keys and arguments by number, a command on anything but a declared key, text that is not
ASCII, lines over 100 columns; and with --luac names and functions that break the rules of
lua_modules.py.  Comments, blank lines and those functions of modules that a script does not use are
not embedded.

    embed_lua.py [--break fencing] [--replace NAME=FILE] [--depfile FILE] [--luac LUAC]
                 HEADER SOURCE LUA...

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
import lua_modules  # noqa: E402 (beside this file)

COLUMNS = 100
# Up to this many are bound one by one, more by unpack().  With Redis 7.0 two take 82 ns one by one and
# 105 by unpack(), three about 60 either way, eleven 167 and 93.
ONE_BY_ONE = 2
READS = "#!lua flags=no-writes"
SHEBANGS = ("#!lua", "#!lua flags=allow-oom", READS)
WITHOUT_KEY = ("TIME", "SPUBLISH", "PUBSUB", "INFO")
GENERATED = "a line of the generator"
# A script that is a function in another one has these of that: a call reads the clock once.
OF_THE_CALLER = frozenset(["clock"])
# A line of a module that makes names of the module: a function, or others with or without values.
TOP_LEVEL = re.compile(r"local (?:function (\w+)|(\w+(?:, \w+)*)( = .*)?$)")


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


class Module:
    """A file of lua/lib, as it stands in one place of a script."""

    def __init__(self, name, path):
        self.name, self.path, self.lines = name, path, read_lines(path)
        for where, text in self.lines:
            if "@include" in text:
                raise Refused(f"{where}: a module includes nothing")
        self.head = lua_modules.Head(self.lines)
        self.given = frozenset(self.head.gives)

    def privates(self):
        """The names that it does not give."""
        for _, line in self.lines:
            match = TOP_LEVEL.match(line)
            if match:
                yield from (name for name in lua_modules.listed(match[1] or match[2]) if name not in self.given)

    def block(self, kept):
        """Its lines: where it has names of its own, they are in a block, and it sets those it gives."""
        kept = [line for line in kept if line[1].strip() and not line[1].lstrip().startswith("--")]
        if not any(True for _ in self.privates()):
            yield from kept
            return
        defined = [name for name in self.head.gives if any(re.search(rf"\b{name}\b", line) for _, line in kept)]
        if defined:
            yield self.path, f"local {', '.join(defined)}"
        yield self.path, "do"
        for where, line in kept:
            match = TOP_LEVEL.match(line)
            names = set(lua_modules.listed(match[1] or match[2])) if match else set()
            if names & self.given and not names <= self.given:
                raise Refused(f"{where}: one line makes names that the module gives, and others")
            if not names & self.given:
                yield where, line
            elif match[1] or match[3]:
                yield where, line.removeprefix("local ")
        yield self.path, "end"


class Text:
    """The lines of a script: `whole` as they are run, with a Module where one begins and ends;
    `outline` with what stands for its modules (lua_modules.py)."""

    def __init__(self, source, folder, replaced):
        self.folder, self.replaced = folder, replaced
        self.whole, self.outline, self.modules, self.given = [], [], {}, set()
        self.others = []  # the contracts of scripts that are functions in it
        self.around = frozenset()  # the modules that such a function does not include again
        self.splice(source)

    def splice(self, lines):
        for where, line in lines:
            script, name = (re.fullmatch(rf"-- @{word} (\w+)", line) for word in ("script", "include"))
            if script:
                self.function(script[1])
            elif name:
                self.include(where, name[1])
            elif "@include" in line:
                raise Refused(f"{where}: an include is a line of its own, not indented")
            else:
                self.both(where, line)

    def both(self, where, line):
        self.whole.append((where, line))
        self.outline.append((where, line))

    def include(self, where, name):
        if name in self.around:
            return
        module = Module(name, self.replaced.get(name, os.path.join(self.folder, "lib", name + ".lua")))
        self.modules[name] = module
        for one in [*module.head.uses, *module.head.takes]:
            if (one in self.given) != (one in module.head.uses):
                raise Refused(f"{module.path}: {one} is {'not ' * (one not in self.given)}given by a module before {where}")
        self.given |= module.given
        self.whole += [(module.path, module), *module.lines, (module.path, module)]
        self.outline += lua_modules.stand_in(where, module.head)

    def function(self, name):
        """Another script as a function of its keys and arguments, two tables."""
        path = os.path.join(self.folder, name + ".lua")
        source = read_lines(path)
        contract = Contract(path, source)
        self.others.append(contract)
        self.both(path, f"local {name.upper()}_{contract.tail.upper()} = {len(contract.argv) + 1}")
        self.both(path, f"local function {name}(KEYS, ARGV)")
        begun = len(self.outline)
        self.whole += [(GENERATED, line) for line in contract.bindings()]
        self.around = OF_THE_CALLER & set(self.modules)
        self.splice(source[1:])
        self.around = frozenset()
        del self.outline[begun:]
        self.both(path, "end")


def drop_unused(lines):
    """Without the functions of modules that nothing else uses: each run of a script would create them."""
    at, words = 0, [set(re.findall(r"\w+", line)) if isinstance(line, str) else set() for _, line in lines]
    while at < len(lines):
        where, line = lines[at]
        match = re.match(r"local function (\w+)\(", line) if isinstance(line, str) else None
        if match and "/lib/" in where:
            end = next(i for i in range(at, len(lines)) if lines[i][1] == "end") + 1
            if not any(match[1] in found for found in words[:at] + words[end:]):
                return drop_unused(lines[:at] + lines[end:])
        at += 1
    return lines


def in_blocks(lines):
    """With each module as a block of its own."""
    inside, begun = None, 0
    for at, (where, line) in enumerate(lines):
        if isinstance(line, str) and not inside:
            yield where, line
        elif not isinstance(line, str) and inside:
            yield from inside.block(lines[begun:at])
            inside = None
        elif not isinstance(line, str):
            inside, begun = line, at + 1


def drop_fences(lines, broken):
    inside = None
    for where, line in lines:
        if not isinstance(line, str):
            yield where, line
        elif line.strip() == "-- fence: begin":
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

    def fields(self):
        """{KEYS, ARGV, RETURN}, each with the lines that continue it."""
        fields, word = {}, None
        for line in self.lines:
            match = re.match(r"(KEYS|ARGV|RETURN) (.*)", line)
            if match:
                word = match.group(1)
                fields[word] = match.group(2)
            elif line and word:
                fields[word] += " " + line
            else:
                break
        if list(fields) != ["KEYS", "ARGV", "RETURN"]:
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
        if not isinstance(line, str) or where == GENERATED:
            continue
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
    kept = [
        (where, line) for where, line in lines
        if not isinstance(line, str) or line.strip() and not line.lstrip().startswith("--")
    ]
    return "\n".join([shebang[1], *bindings, *(line for _, line in in_blocks(drop_unused(kept)))]) + "\n"


class Script:
    def __init__(self, path, options):
        self.name = os.path.splitext(os.path.basename(path))[0]
        source = read_lines(path)
        self.contract = contract = Contract(path, source)
        folder = os.path.dirname(path)
        text = Text(source, folder, options.replaced)
        keys = [name for one in (contract, *text.others) for name in one.keys]
        self.read = [path, *(one.path for one in (*text.others, *text.modules.values()))]
        lines = list(drop_fences(text.whole, options.broken))
        check_keys(keys, contract.keys_tail, lines)
        if options.luac:
            for module in text.modules.values():
                lua_modules.check_module(options.luac, module.path, tuple(module.lines), frozenset(keys))
            lua_modules.check_script(options.luac, text.outline[1:], contract.bound())
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
    parser.add_argument("--luac", help="the compiler of Lua 5.1, to check names and functions")
    parser.add_argument("header")
    parser.add_argument("source")
    parser.add_argument("lua", nargs="+")
    options = parser.parse_args()
    options.broken = options.broken == "fencing"
    options.replaced = dict(pair.split("=", 1) for pair in options.replace)
    try:
        paths = sorted(options.lua, key=os.path.basename)
        scripts = [Script(path, options) for path in paths]
    except (Refused, lua_modules.ModuleError, OSError) as error:
        sys.exit(f"embed_lua.py: {error}")
    write(options.header, header_text(scripts))
    write(options.source, source_text(scripts, os.path.basename(options.header)))
    if options.depfile:
        write(options.depfile, depfile_text(scripts, options.header))


if __name__ == "__main__":
    main()
