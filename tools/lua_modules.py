"""What a script and its modules may see of each other, and how large their functions may be.

The modules of a script lie in lua/lib.  Each says in its head what it shares:

    -- GIVES a, b           names that others may use; all its other names are its own
    -- TAKES a, b           names of the script that includes it: keys, and at most six others
    -- USES a, b            names that modules give which were included before it

The compiler of Lua (luac) says which names a text uses that it does not define, how many parameters
a function has and how many values it returns.
"""

import functools
import re
import subprocess

# What Redis gives to every script.
GLOBALS = frozenset(
    "ARGV KEYS assert bit cjson cmsgpack error getmetatable ipairs math next pairs pcall rawequal "
    "rawget rawset redis select setmetatable string struct table tonumber tostring type unpack "
    "xpcall".split()
)
STATE, PARAMETERS, RESULTS, LINES = 6, 6, 3, 60

HEAD = re.compile(r"-- (GIVES|TAKES|USES) (.*)")
FUNCTION = re.compile(r"(?:main|function) <.*:(\d+),(\d+)>")
PARAMETER = re.compile(r"(\d+)\+? params?,")
INSTRUCTION = re.compile(r"\s+\d+\s+\[(\d+)\]\s+(\w+)\s+([-\d ]*)\s*(?:; (\w+))?")


class ModuleError(Exception):
    """A text breaks a rule; the text of the error names file, line and rule."""


def listed(text):
    return [name for name in re.split(r"[,\s]+", text) if name]


class Head:
    """What a module shares."""

    def __init__(self, lines):
        self.gives, self.takes, self.uses = [], [], []
        for _, line in lines:
            match = HEAD.fullmatch(line)
            if match:
                getattr(self, match[1].lower()).extend(listed(match[2]))

    def needs(self):
        return [*self.takes, *self.uses]


class Function:
    """A function as it was compiled: its lines, parameters, and how many values it returns."""

    def __init__(self, first, last):
        self.first, self.last, self.parameters, self.results = first, last, 0, 0


class Compiled:
    """free: (line, name) of each name that is not local.  functions: but the text itself."""

    def __init__(self, luac, lines):
        done = subprocess.run(
            [luac, "-l", "-p", "-"], input="\n".join(line for _, line in lines) + "\n",
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            match = re.search(r"stdin:(\d+): (.*)", done.stderr)
            at = min(int(match[1]), len(lines)) - 1 if match else 0
            raise ModuleError(f"{lines[at][0]}: not Lua: {match[2] if match else done.stderr}")
        self.free, self.functions = [], []
        self.read(done.stdout)

    def read(self, listing):
        call = None
        for line in listing.splitlines():
            begins, its = FUNCTION.match(line), INSTRUCTION.match(line)
            if begins:
                self.functions.append(Function(int(begins[1]), int(begins[2])))
            elif PARAMETER.match(line):
                self.functions[-1].parameters = int(PARAMETER.match(line)[1])
            elif its:
                number, operation, operands, name = int(its[1]), its[2], its[3].split(), its[4]
                if operation in ("GETGLOBAL", "SETGLOBAL"):
                    self.free.append((number, name))
                elif operation == "RETURN":
                    self.functions[-1].results = max(
                        self.functions[-1].results, returned(operands, call))
                call = operands if operation == "CALL" else None
        self.functions.pop(0)


def returned(operands, call):
    """How many values an instruction RETURN returns; of a last call among them one is known."""
    if operands[1] != "0":
        return int(operands[1]) - 1
    return int(call[0]) - int(operands[0]) + 1 if call else 1


def check_functions(compiled, lines):
    for function in compiled.functions:
        where, size = lines[function.first - 1][0], function.last - function.first + 1
        for what, many, most in (
            ("takes", function.parameters, PARAMETERS),
            ("returns", function.results, RESULTS),
            ("has lines:", size, LINES),
        ):
            if many > most:
                raise ModuleError(f"{where}: a function {what} {many}; {most} are the most")


def check_free(compiled, lines, else_than):
    for number, name in compiled.free:
        if name not in GLOBALS:
            raise ModuleError(f"{lines[number - 1][0]}: {name} is not {else_than}")


@functools.lru_cache(maxsize=None)
def check_module(luac, path, lines, keys):
    """A module alone: it has what its head says, and nothing else."""
    head = Head(lines)
    needs = head.needs()
    compiled = Compiled(luac, lines)
    used = {name for _, name in compiled.free}
    for name in needs:
        if name not in used or needs.count(name) > 1:
            raise ModuleError(f"{path}: its head names {name}, which it does not use, or names twice")
    own = Compiled(luac, [(path, f"local {', '.join(needs) or '_'}"), *lines])
    check_free(own, [(path, ""), *lines], "local, given by Redis, or named in the head")
    given = Compiled(luac, [*lines, (path, f"return {{ {', '.join(head.gives)} }}")])
    for name in head.gives:
        if (len(lines) + 1, name) in given.free:
            raise ModuleError(f"{path}: it gives {name}, which is not local in it")
    state = [name for name in head.takes if name not in keys]
    if len(state) > STATE:
        raise ModuleError(f"{path}: it takes {len(state)} names beside keys; {STATE} are the most")
    check_functions(own, [(path, ""), *lines])


def stand_in(where, head):
    """What stands for a module where only what it shares counts."""
    if head.needs():
        yield where, f"do local _ = {{ {', '.join(head.needs())} }} end"
    if head.gives:
        yield where, f"local {', '.join(head.gives)}"


def check_script(luac, lines, bound):
    """A script with stand-ins for its modules."""
    bound_lines = [(lines[0][0], f"local {', '.join(bound) or '_'}")]
    lines = [*bound_lines, *lines]
    compiled = Compiled(luac, lines)
    check_free(compiled, lines, "local, given by Redis, or given by a module that is included before")
    check_functions(compiled, lines)
