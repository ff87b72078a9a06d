"""Single-line mutants of C and Lua, made from the text of the sources.

Only code of functions is changed: no comment, string, declaration, table, invariant or message.
What a mutant is called depends on its file, the text of its line and what was done to it, so that
it keeps its name while other lines change.
"""
import dataclasses
import hashlib
import pathlib
import re

FOLDERS = {"libsrc": ".c", "coord": ".c", "lua": ".lua"}

SWAPS = {
    ".c": [("<=", "<"), (">=", ">"), ("<", "<="), (">", ">="), ("==", "!="), ("!=", "=="),
           ("&&", "||"), ("||", "&&"), ("+", "-"), ("-", "+"), ("+=", "-="), ("-=", "+=")],
    ".lua": [("<=", "<"), (">=", ">"), ("<", "<="), (">", ">="), ("==", "~="), ("~=", "=="),
             ("and", "or"), ("or", "and"), ("+", "-"), ("-", "+")],
}
STEPS = {".c": [("++", "--"), ("--", "++")], ".lua": []}
WORDS = [("true", "false"), ("false", "true")]

# A line with one of these only says something to people, or states what always holds.
SILENT = {
    ".c": re.compile(r"\b(assert|CHECK|static_assert|events_log|events_emit|abort)\s*\(|"
                     r'"[^"]* [^"]*"'),
    ".lua": re.compile(r"^\s*--|redis\.error_reply|redis\.log|^#!"),
}
CHECK_FUNCTION = re.compile(r"\b\w+_check\(")
DECLARATION = re.compile(
    r"^\s*(static\s|const\s|struct\s|enum\s|union\s|unsigned\s|_Thread_local\s|typedef\s|"
    r"[a-z_0-9]+_t\s|"
    r"(int|char|bool|size_t|double|void|long|[a-z]\w*)\s+\**\w+\s*(=|;|,|\[))")
C_CALL = re.compile(r"^(\s*)[A-Za-z_][\w.>\[\]-]*\(.*\);$")
C_ASSIGNMENT = re.compile(r"^(\s*)[*A-Za-z_(][\w.>\[\]*()+ -]*? [-+|&]?= .*;$")
C_STEP = re.compile(r"^(\s*)[A-Za-z_][\w.>\[\]-]*(\+\+|--);$")
LUA_CALL = re.compile(r"^(\s*)[A-Za-z_][\w.]*\(.*\)$")
LUA_ASSIGNMENT = re.compile(r"^(\s*)(?!\s|local\b|return\b|if\b|for\b|while\b)"
                            r"[\w.\[\]#, +*()-]+? = .*[^,({]$")
NUMBER = re.compile(r"(?<![\w.'\"])(\d+)(?![\w.'\"x])")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`line`, counted from 1, of `file` becomes `after`; `nth`: of the equal lines before it."""
    file: str
    line: int
    before: str
    after: str
    operator: str
    nth: int

    @property
    def name(self):
        text = "\0".join((self.file, self.before.strip(), self.operator, str(self.nth)))
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def masked_c(lines):
    """The lines with blanks for comments, and for what is in strings."""
    text, out, state = "\n".join(lines), [], ""
    at = 0
    while at < len(text):
        two, one = text[at:at + 2], text[at]
        if state == "" and two == "/*":
            state, out, at = "*", [*out, "  "], at + 2
        elif state == "*" and two == "*/":
            state, out, at = "", [*out, "  "], at + 2
        elif state in ("'", '"') and one == "\\":
            out, at = [*out, "  "], at + 2
        elif one == state and one in "'\"":
            state, out, at = "", [*out, one], at + 1
        elif state == "" and one in "'\"":
            state, out, at = one, [*out, one], at + 1
        else:
            out.append(one if state == "" or one == "\n" else " ")
            at += 1
    return "".join(out).split("\n")


def masked_lua(lines):
    out = []
    for line in lines:
        masked, state, at = "", "", 0
        while at < len(line):
            if state == "" and line[at:at + 2] == "--":
                masked += " " * (len(line) - at)
                break
            if state and line[at] == "\\":
                masked, at = masked + "  ", at + 2
                continue
            if line[at] == state:
                state = ""
                masked += line[at]
            elif state == "" and line[at] in "'\"":
                state = line[at]
                masked += line[at]
            else:
                masked += " " if state else line[at]
            at += 1
        out.append(masked)
    return out


def bodies_c(lines):
    """By line: is it in the body of a function?  clang-format puts its braces into column 0."""
    inside, silent, head = False, False, ""
    for line in lines:
        if line == "}":
            inside = silent = False
        yield inside and not silent
        if line == "{":
            inside, silent = True, bool(CHECK_FUNCTION.search(head))
        if not inside and re.match(r"^[a-z].*\(", line):
            head = line


CONTINUED = re.compile(r"([,({=+*/.-]|\b(and|or|not|return))$")  # in Lua, at the end of a line
CONTINUES = re.compile(r"\s*(and\b|or\b|\.\.|\)|\})")             # at its begin


def begins(kind, masked, at):
    """Is the line the begin of a statement?"""
    before = next((line.rstrip() for line in reversed(masked[:at]) if line.strip()), ";")
    if kind == ".c":
        return before[-1] in ";{}:" or before.endswith("else")
    return not CONTINUED.search(before) and not CONTINUES.match(masked[at])


def closing(text, at):
    """Where the parenthesis at `at` is closed; None: not in this line."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return None


class Line:
    """One line, and what can be done to it: (operator, new line)."""

    def __init__(self, kind, text, masked, begins_here):
        self.kind, self.text, self.begins = kind, text, begins_here
        self.masked = masked.rstrip()  # a comment may follow

    def put(self, begin, end, new):
        return self.text[:begin] + new + self.text[end:]

    def swaps(self):
        """`a < b` becomes `a <= b`.  Only operators between blanks: no casts, pointers or signs."""
        for old, new in SWAPS[self.kind]:
            operator = re.compile(rf"(?<= ){re.escape(old)}(?= |$)")
            for count, found in enumerate(operator.finditer(self.masked)):
                yield f"{old} to {new} {count}", self.put(found.start(), found.end(), new)
        for old, new in STEPS[self.kind]:
            for count, found in enumerate(re.finditer(re.escape(old), self.masked)):
                yield f"{old} to {new} {count}", self.put(found.start(), found.end(), new)
        for old, new in WORDS:
            for count, found in enumerate(re.finditer(rf"\b{old}\b", self.masked)):
                yield f"{old} to {new} {count}", self.put(found.start(), found.end(), new)

    def numbers(self):
        for count, found in enumerate(NUMBER.finditer(self.masked)):
            more = str(int(found.group(1)) + 1)
            yield f"{found.group(1)} to {more} {count}", self.put(found.start(), found.end(), more)

    def conditions(self):
        if self.kind == ".lua":
            found = re.match(r"^(\s*(?:else)?if )(.*)( then)$", self.masked)
            if found:
                begin, end = found.span(2)
                yield "negate", self.put(begin, end, f"not ({self.text[begin:end]})")
            return
        found = re.match(r"^\s*(?:\} else )?(?:if|while) \(", self.masked)
        end = found and closing(self.masked, found.end() - 1)
        if end:
            yield "negate", self.put(found.end(), end, f"!({self.text[found.end():end]})")

    def returns(self):
        found = re.match(r"^\s*return (.*);$" if self.kind == ".c" else r"^\s*return (.*[^{(,])$",
                         self.masked)
        if not found or not self.begins:
            return
        value, (begin, end) = found.group(1).strip(), found.span(1)
        for new in {".c": ("0", "1"), ".lua": ("nil",)}[self.kind]:
            if value not in (new, "true", "false", "NULL" if new == "0" else new):
                yield f"return {new}", self.put(begin, end, new)

    def drops(self):
        if not self.begins or self.masked.count("(") != self.masked.count(")"):
            return
        if self.kind == ".lua":
            if LUA_CALL.match(self.masked) or LUA_ASSIGNMENT.match(self.masked):
                yield "drop", re.match(r"\s*", self.text).group() + "do end"
        elif C_CALL.match(self.masked) or C_STEP.match(self.masked) or (
                C_ASSIGNMENT.match(self.masked) and not DECLARATION.match(self.masked)):
            yield "drop", re.match(r"\s*", self.text).group() + ";"

    def all(self):
        for make in (self.swaps, self.numbers, self.conditions, self.returns, self.drops):
            yield from make()


def of_text(file, text):
    """Every mutant of one file."""
    kind, lines = pathlib.PurePath(file).suffix, text.split("\n")
    masked = masked_c(lines) if kind == ".c" else masked_lua(lines)
    inside = list(bodies_c(lines)) if kind == ".c" else [True] * len(lines)
    seen = {}
    for at, line in enumerate(lines):
        nth = seen[line.strip()] = seen.get(line.strip(), -1) + 1
        if not inside[at] or SILENT[kind].search(line) or masked[at].lstrip().startswith("#"):
            continue
        for operator, after in Line(kind, line, masked[at], begins(kind, masked, at)).all():
            yield Mutant(file, at + 1, line, after, operator, nth)


def of_tree(root):
    """Every mutant of the tree, in a fixed order."""
    root = pathlib.Path(root)
    for folder, suffix in FOLDERS.items():
        for path in sorted((root / folder).rglob(f"*{suffix}")):
            yield from of_text(str(path.relative_to(root)), path.read_text(encoding="utf-8"))


def shuffled(mutants, seed):
    """Them in the order that the seed decides: a longer run begins with the shorter one, and while
    the code changes the others keep their order."""
    return sorted(mutants, key=lambda one: hashlib.sha256(f"{seed} {one.name}".encode()).digest())
