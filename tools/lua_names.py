"""Which names of a Lua 5.1 text are local where they are used, and which are not.

Follows the scopes of the language; whether the text makes sense otherwise is left to Lua.  A comment
line `-- USES a, b` demands that these names are local there.
"""

import re

# What Redis gives to every script.
GLOBALS = frozenset(
    "ARGV KEYS assert bit cjson cmsgpack error getmetatable ipairs math next pairs pcall rawequal "
    "rawget rawset redis select setmetatable string struct table tonumber tostring type unpack "
    "xpcall".split()
)

KEYWORDS = frozenset(
    "and break do else elseif end false for function if in local nil not or repeat return then "
    "true until while".split()
)
BINARY = frozenset("and or + - * / % ^ .. == ~= < > <= >=".split())
UNARY = frozenset(("not", "-", "#"))
CONSTANTS = frozenset(("nil", "true", "false", "..."))
END = "the end of the text"

TOKEN = re.compile(
    r"""(?P<skip>\s+|--(?!\ USES\ ).*)
      | --\ USES\ (?P<uses>.*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<value>0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
      | (?P<sign>\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^\#<>=(){}\[\];:,.])""",
    re.VERBOSE,
)


class NamesError(Exception):
    """The text is not Lua, or a name is not local where it must be; the text says where."""


def read_tokens(lines):
    """(where, kind, text)... of lines (where, text)."""
    where = END
    for where, line in lines:
        at = 0
        while at < len(line):
            match = TOKEN.match(line, at)
            if not match:
                raise NamesError(f"{where}: not Lua: {line[at:]}")
            at = match.end()
            kind, text = match.lastgroup, match.group(match.lastgroup)
            if kind != "skip":
                yield where, "sign" if text in KEYWORDS else kind, text
    yield where, "sign", END


def listed(text):
    return [name for name in re.split(r"[,\s]+", text) if name]


class Names:
    """free: (where, name) of each use of a name that is not local.  used: those of `given` that are
    used.  given: names that are local to begin with.  main: how many names are made local outside
    of functions, in whichever block."""

    def __init__(self, lines, given=()):
        self.tokens = list(read_tokens(lines))
        self.at = 0
        self.given, self.used, self.free = frozenset(given), set(), []
        self.scopes, self.main, self.depth = [], 0, 0
        self.block((END,))

    # --- tokens ---

    def peek(self, *texts):
        _, kind, text = self.tokens[self.at]
        return kind == "sign" and text in texts

    def accept(self, *texts):
        if self.peek(*texts):
            self.at += 1
            return True
        return False

    def expect(self, *texts):
        if not self.accept(*texts):
            where, _, text = self.tokens[self.at]
            raise NamesError(f"{where}: {text} stands where {' or '.join(texts)} is expected")

    def name(self):
        where, kind, text = self.tokens[self.at]
        if kind != "name":
            raise NamesError(f"{where}: {text} stands where a name is expected")
        self.at += 1
        return where, text

    # --- scopes ---

    def is_local(self, name):
        if any(name in scope for scope in self.scopes):
            return True
        if name in self.given:
            self.used.add(name)
            return True
        return False

    def use(self):
        where, name = self.name()
        if not self.is_local(name):
            self.free.append((where, name))

    def declare(self, names):
        self.scopes[-1].update(names)
        self.main += 0 if self.depth else len(names)

    def uses(self):
        where, _, text = self.tokens[self.at]
        self.at += 1
        for name in listed(text):
            if not self.is_local(name):
                raise NamesError(f"{where}: {name} is not defined where this file is included")

    # --- statements ---

    def block(self, closers, names=()):
        """Up to the closer, which is taken, too."""
        self.scopes.append(set())
        self.declare(names)
        while not self.accept(*closers):
            self.statement()
        self.scopes.pop()
        return self.tokens[self.at - 1][2]

    def statement(self):
        if self.tokens[self.at][1] == "uses":
            self.uses()
        elif self.accept("if"):
            self.condition()
        elif self.accept("while"):
            self.expression()
            self.expect("do")
            self.block(("end",))
        elif self.accept("do"):
            self.block(("end",))
        elif self.accept("for"):
            self.loop()
        elif self.accept("repeat"):
            self.block(("until",))
            self.expression()
        elif self.accept("function"):
            self.named_function()
        elif self.accept("local"):
            self.local()
        elif self.accept("return"):
            if not self.peek("end", "else", "elseif", "until", ";", END):
                self.expressions()
        elif not self.accept("break", ";"):
            self.assignment()

    def condition(self):
        closer = "elseif"
        while closer == "elseif":
            self.expression()
            self.expect("then")
            closer = self.block(("elseif", "else", "end"))
        if closer == "else":
            self.block(("end",))

    def loop(self):
        names = self.names()
        self.expect("=", "in")
        self.expressions()
        self.expect("do")
        self.block(("end",), names)

    def names(self):
        names = [self.name()[1]]
        while self.accept(","):
            names.append(self.name()[1])
        return names

    def named_function(self):
        self.use()
        while self.accept(".", ":"):
            self.name()
        self.function()

    def local(self):
        if self.accept("function"):
            self.declare([self.name()[1]])
            self.function()
            return
        names = self.names()
        if self.accept("="):
            self.expressions()
        self.declare(names)

    def assignment(self):
        self.suffixed()
        while self.accept(","):
            self.suffixed()
        if self.accept("="):
            self.expressions()

    # --- expressions ---

    def function(self):
        names = []
        self.expect("(")
        while not self.accept(")"):
            if not self.accept("...", ","):
                names.append(self.name()[1])
        self.depth += 1
        self.block(("end",), names)
        self.depth -= 1

    def expressions(self):
        self.expression()
        while self.accept(","):
            self.expression()

    def expression(self):
        self.operand()
        while self.accept(*BINARY):
            self.operand()

    def operand(self):
        while self.accept(*UNARY):
            pass
        if self.tokens[self.at][1] == "value":
            self.at += 1
        elif self.accept("function"):
            self.function()
        elif self.accept("{"):
            self.table()
        elif not self.accept(*CONSTANTS):
            self.suffixed()

    def suffixed(self):
        if self.accept("("):
            self.expression()
            self.expect(")")
        else:
            self.use()
        while self.suffix():
            pass

    def suffix(self):
        if self.accept(".", ":"):
            self.name()
        elif self.accept("["):
            self.expression()
            self.expect("]")
        elif self.accept("("):
            if not self.accept(")"):
                self.expressions()
                self.expect(")")
        elif self.accept("{"):
            self.table()
        elif self.tokens[self.at][1] == "value":
            self.at += 1
        else:
            return False
        return True

    def table(self):
        while not self.accept("}"):
            if self.accept("["):
                self.expression()
                self.expect("]")
                self.expect("=")
            elif self.tokens[self.at][1] == "name" and self.tokens[self.at + 1][2] == "=":
                self.at += 2
            self.expression()
            if not self.accept(",", ";"):
                self.expect("}")
                return
