#!/usr/bin/env python3
"""Write the manual pages of section 3 from the public headers: slotmq(3) from slotmq.h, and of each
other header a page slotmq_NAME(3).  Comments are plain text, in which columns, lists and indented
lines are kept.

usage: manual.py page HEADER DATED_PAGE    print the page; it gets the date of DATED_PAGE
       manual.py links FOLDER HEADER...    make in FOLDER, below DESTDIR, a link for each name that a
                                           page explains, as smq_send.3
       manual.py names HEADER...           print the file of each page and link
"""
import functools
import os
import pathlib
import re
import sys

SECTION = re.compile(r"^=+ (.*?) =+$")
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
# What is only for the preprocessor, or the same in all headers.
FRAME = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n|^#(?:ifndef|define|endif)[^\n]*SLOTMQ_\w+_H\b[^\n]*\n"
                   r"|^#include[^\n]*\n", re.DOTALL | re.MULTILINE)
PIECE = re.compile(r"(?P<comment>/\*.*?\*/)|(?P<macro>^#(?:[^\n]*\\\n)*[^\n]*$)|(?P<blank>\n[ \t]*\n)|(?P<brace>[{}])"
                   r"|(?P<end>;)", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^(?:SMQ_API |static inline )(?P<type>.*?)(?P<name>smq_\w+)\((?P<arguments>.*)\)$")
CALLBACK = re.compile(r"^typedef (?P<type>[^({]*?)(?P<name>smq_\w+_fn)\((?P<arguments>.*)\)$")
FIELD = re.compile(r"(?P<above>/\*(?:(?!\*/).)*\*/\s*)?(?P<code>[^;/{}]+;)[ \t]*(?P<behind>/\*(?:(?!\*/).)*\*/)?", re.DOTALL)
VALUE = re.compile(r"(?P<code>\bSMQ_\w+(?: = [^,/\s]+)?),?[ \t]*(?P<behind>/\*(?:(?!\*/).)*\*/)?", re.DOTALL)
ROW = re.compile(r"X\((\w+), (-?\w+), (\w+), \"(.*?)\"\)")


# === Text ====================================================================

def escape(text):
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w.])-(?=[\d-])|--", lambda match: match[0].replace("-", "\\-"), text)
    return "\\&" + text if text[:1] in (".", "'") else text


def argument(text):
    """One argument of a macro."""
    return '"' + escape(text).replace('"', '\\(dq') + '"'


def bare(comment):
    """The lines of a comment without its frame."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.split("\n")]
    return "\n".join([lines[0].strip(), *map(str.rstrip, lines[1:])]).strip("\n")


def sentences(text):
    """mdoc wants each sentence on a line of its own."""
    text = " ".join(text.split())
    for sentence in re.split(r"(?<=[^.][.!?]) +(?=[A-Z0-9`\"(_])", text.replace(".) ", "\0 ")):
        for part in re.split(r"(?<=\0) ", sentence):
            part = part.replace("\0", ".)")
            if re.match(r"(Blocks|Fails|Thread):", part):
                yield ".Pp"
            if part:
                yield re.sub(r"`([^`]+)`", r"\\fI\1\\fP", escape(part))


def indent(line):
    return len(line) - len(line.lstrip())


def columns(lines):
    """[(left, right)] if the lines are a table of two columns, else None"""
    first = re.match(r"( *)(\S.*?\S|\S) {2,}(?=\S)", lines[0])
    if not first or re.match(r" *(\d+\.|-) ", lines[0]) or any("+--" in line for line in lines):
        return None
    margin, middle, rows = len(first[1]), first.end(), []
    for line in lines:
        if indent(line) == margin and line[middle - 2:middle] == "  " and line[middle:middle + 1].strip():
            rows.append((line[:middle].strip(), [line[middle:]]))
        elif rows and not line[:middle].strip():
            rows[-1][1].append(line[middle:])
        else:
            return None
    return rows


def tagged(rows):
    yield ".Bl -tag -width Ds"
    for tag, lines in rows:
        yield ".It " + argument(tag)
        yield from sentences(" ".join(lines))
    yield ".El"


def items(lines):
    """[the lines of each] if the lines are a list with numbers or hyphens, else None"""
    first = re.match(r" *(?:\d+\.|-) +", lines[0])
    if not first:
        return None
    found = []
    for line in lines:
        mark = re.match(r" *(?:\d+\.|-) +", line)
        if mark and len(mark[0]) == len(first[0]):
            found.append([line[len(mark[0]):]])
        elif found:
            found[-1].append(line[len(first[0]):] if not line[:len(first[0])].strip() else line.strip())
    return found


def literal(lines):
    least = min(indent(line) for line in lines if line.strip())
    yield ".Bd -literal"
    yield from (escape(line[least:]) for line in lines)
    yield ".Ed"


def indented(lines):
    rows = columns(lines)
    if rows:
        yield from tagged(rows)
        return
    found = items(lines)
    if not found:
        yield from literal(lines)
        return
    yield ".Bl -enum" if re.match(r" *\d", lines[0]) else ".Bl -dash"
    for item in found:
        yield ".It"
        yield from described("\n".join(item))
    yield ".El"


def chunks(text):
    """The paragraphs of a comment as lists of lines: plain ones, and such that are indented.  A blank
    line does not end what is indented, unless the next line has another indentation."""
    chunk, inside = [], False
    for line in text.split("\n") + [""]:
        deep = line.startswith("  ") or bool(re.match(r" (?:\d+\.|-) ", line))
        other = deep != inside or (deep and chunk and not chunk[-1].strip() and indent(line) != indent(chunk[0]))
        if chunk and line.strip() and other:
            yield inside, chunk
            chunk = []
        if not line.strip() and chunk and not inside:
            yield inside, chunk
            chunk = []
        elif line.strip() or chunk:
            chunk.append(line)
        if line.strip():
            inside = deep
    if any(line.strip() for line in chunk):
        yield inside, chunk


def described(text):
    """The lines of mdoc for the text of a comment."""
    made = []
    for deep, lines in chunks(text):
        while lines and not lines[-1].strip():
            lines.pop()
        block = list(indented([line for line in lines if line.strip() or not columns([lines[0]])]) if deep
                     else sentences(" ".join(lines)))
        if made and not deep and block[:1] != [".Pp"]:
            made.append(".Pp")
        made += block if made or block[:1] != [".Pp"] else block[1:]
    return made


# === Declarations ============================================================

class Block:
    """What no blank line parts: a comment, and what it is about."""

    def __init__(self):
        self.text, self.declared, self.macros = "", [], []


def blocks(code):
    block, begin, depth = Block(), 0, 0
    for piece in PIECE.finditer(code):
        before = code[begin:piece.start()].strip()
        if piece["brace"]:
            depth += 1 if piece["brace"] == "{" else -1
            if depth == 0 and before.startswith("static inline"):
                block.declared.append(before + "}")
                begin = piece.end()
        elif depth > 0:
            continue
        elif piece["comment"] and not before:
            block.text += bare(piece["comment"][2:-2]) if not block.macros + block.declared else ""
            begin = piece.end()
        elif piece["macro"] and not before:
            block.macros.append(piece["macro"])
            begin = piece.end()
        elif piece["end"]:
            block.declared.append(before)
            begin = piece.end()
        elif piece["blank"] and not before:
            yield block
            block, begin = Block(), piece.end()
    yield block


def one_line(code):
    return re.sub(r"\s+", " ", COMMENT.sub("", code)).strip()


def calls(declared, pattern):
    """[(type, name, [arguments])] of the declarations that are functions, or callbacks"""
    for code in declared:
        match = pattern.match(one_line(code.split("{")[0]))
        if match:
            yield (match["type"].strip(), match["name"], re.split(r", (?![^(]*\))", match["arguments"]))


def fn(name, arguments):
    return " ".join(["Fn", name, *map(argument, arguments)])


def behind(match):
    """The comment behind a field or value; its indentation says nothing."""
    return described(" ".join(re.sub(r"^\s*\* ", "", line) for line in (match["behind"] or "")[2:-2].split("\n")))


def apart(text):
    """A text between the items of a list."""
    return [".El", ".Pp", *described(text), ".Bl -tag -width Ds"]


def fields(body):
    """The members of a struct.  A comment that a blank line follows is about all after it, and so is
    one before a field that has another behind it."""
    yield ".Bl -tag -width Ds"
    for part in re.split(r"\n\s*\n", body):
        alone = re.fullmatch(r"\s*/\*((?:(?!\*/).)*)\*/\s*", part, re.DOTALL)
        if alone:
            yield from apart(bare(alone[1]))
            continue
        for match in FIELD.finditer(part):
            above = bare((match["above"] or "").strip()[2:-2])
            if above and match["behind"]:
                yield from apart(above)
            yield ".It Va " + argument(one_line(match["code"])[:-1])
            yield from behind(match) if match["behind"] else described(above)
    yield ".El"


def values(body):
    yield ".Bl -tag -width Ds"
    for match in VALUE.finditer(body):
        yield ".It Dv " + argument(match["code"])
        yield from behind(match)
    yield ".El"


def mapped(macro):
    """The rows of an X macro."""
    yield ".Bl -tag -width Ds"
    for name, number, group, text in ROW.findall(macro):
        yield f".It Dv {name} Pq {escape(number)} , {group}"
        yield escape(text)
    yield ".El"


def types(block):
    """The lines of each type that the block declares."""
    for code in block.declared:
        match = re.match(r"typedef (struct|enum) (smq_\w+)(?: \{(.*)\})? ?\w*$", code, re.DOTALL)
        if not match:
            continue
        kind, name, body = match.groups()
        yield f".It Vt {'struct ' if kind == 'struct' and body else ''}{name}"
        yield from described(block.text)
        if kind == "struct" and body:
            yield from fields(body)
        elif body and "SMQ_X" not in body:
            yield from values(body)


def constants(block):
    """Macros with a comment behind them; initializers; the rows of X macros."""
    made, names = [], []
    for macro in block.macros:
        match = re.match(r"#define (SMQ_\w+)(\([^)]*\))?(?: +(\(?-?\d+\)?))?\s*(?:/\*(.*?)\*/)?", macro, re.DOTALL)
        if match and ROW.search(macro):
            made += [".It Dv " + match[1], *described(block.text), *mapped(macro)]
        elif match and match[3]:
            made += [f".It Dv {match[1]} No = " + escape(match[3].strip("()")), *described(bare(match[4] or ""))]
        elif match and not block.declared and match[1] != "SMQ_API":
            names.append((match[1], match[2] or ""))
    for index, (name, arguments) in enumerate(names):
        if not re.search(rf"\b{name}\b", block.text) and not block.text:
            continue
        made += [".It Dv " + name + (f" Ns Pq {escape(arguments[1:-1])}" if arguments else "")]
        made += described(block.text) if index == len(names) - 1 else []
    return made


class Page:
    """What one header declares, as mdoc."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        text = self.path.read_text()
        head = COMMENT.search(text)[1]
        self.title, _, self.rest = bare(head).partition("\n")
        self.title = self.title.partition(" - ")[2]
        self.rest = re.sub(r"Copyright \(c\).*?SPDX-License-Identifier: \S+[ \n]*?(?=\n|$)", "", self.rest, flags=re.DOTALL)
        self.title, more = re.split(r"(?<=\.)(?: |$)", self.title + " ", maxsplit=1)
        self.title, self.rest = self.title.rstrip(". "), more + self.rest
        self.code = text[text.index("*/") + 2:]
        self.name = "slotmq" if self.path.stem == "slotmq" else "slotmq_" + self.path.stem

    @functools.cached_property
    def blocks(self):
        return list(blocks(FRAME.sub("", self.code)))

    def functions(self):
        return [call for block in self.blocks for call in calls(block.declared, FUNCTION)]

    def names(self):
        """What the page explains and people look for: functions and types, but no callbacks."""
        found = [name for _, name, _ in self.functions()]
        for block in self.blocks:
            for code in block.declared:
                match = re.match(r"typedef (?:struct|enum) (smq_\w+)", code)
                if match and match[1] not in found:
                    found.append(match[1])
        return found

    def synopsis(self):
        yield f".In slotmq/{self.path.name}"
        for kind, name, arguments in self.functions():
            yield ".Ft " + argument(kind)
            yield ".Fo " + name
            yield from (".Fa " + argument(one) for one in arguments)
            yield ".Fc"

    def block(self, block):
        made = [*types(block), *constants(block)]
        for kind, name, arguments in calls(block.declared, CALLBACK):
            made += [f".It Vt {argument(kind)} {fn(name, arguments)}", *described(block.text)]
        functions = [".It " + fn(name, arguments) for _, name, arguments in calls(block.declared, FUNCTION)]
        return made + functions + (described(block.text) if functions else [])

    def description(self):
        """Sections, and in each a list of what it declares."""
        yield from described(self.rest.strip("\n"))
        listed = False
        for block in self.blocks:
            section = SECTION.match(block.text)
            made = [".Ss " + section[1]] if section else self.block(block)
            is_list = made[:1] and made[0].startswith(".It")
            if not made and block.text:
                made = [".Pp", *described(block.text)]
            if made and listed and not is_list:
                yield ".El"
            elif made and is_list and not listed:
                yield ".Bl -tag -width Ds"
            listed = is_list if made else listed
            yield from made
        if listed:
            yield ".El"

    def text(self, date, others):
        lines = [f".\\\" Made from include/slotmq/{self.path.name} by tools/manual.py.", date,
                 f".Dt {self.name.upper()} 3", ".Os", ".Sh NAME"]
        names = self.names() or [self.name]
        lines += [f".Nm {name} ," for name in names[:-1]] + [".Nm " + names[-1], ".Nd " + escape(self.title)]
        lines += [".Sh SYNOPSIS", *self.synopsis(), ".Sh DESCRIPTION", *self.description()]
        if self.name == "slotmq":
            lines += linking(others)
        lines += [".Sh SEE ALSO", ".Xr slotmq 1 ,"]
        known = [other.name for other in others if other.name != self.name]
        lines += [f".Xr {name} 3 ," for name in known[:-1]] + [f".Xr {known[-1]} 3"]
        return "\n".join(without_empty_lists(lines)) + "\n"


def linking(pages):
    """Which header has what, and how a program is linked."""
    yield ".Ss Pages"
    yield ".Bl -tag -width Ds"
    for page in pages:
        if page.name != "slotmq":
            yield from [f".It Xr {page.name} 3", escape(page.title[:1].upper() + page.title[1:]) + "."]
    yield from [".El", ".Ss Linking", ".Bd -literal",
                "cc program.c $(pkg-config \\-\\-cflags \\-\\-libs slotmq)", ".Ed", ".Pp",
                "In CMake, after", ".Li find_package(slotmq) ,", "the targets are",
                ".Li slotmq::slotmq", "and", ".Li slotmq::slotmq_static ."]


def without_empty_lists(lines):
    kept = []
    for line in lines:
        if line == ".El" and kept and kept[-1].startswith(".Bl"):
            kept.pop()
        elif not (line == ".Pp" and kept and re.match(r"\.(Pp|Ss|Sh|It|Bl|Bd)\b", kept[-1])):
            if line.startswith((".Bl", ".Bd", ".Ss", ".Sh", ".It", ".El")) and kept and kept[-1] == ".Pp":
                kept.pop()
            kept.append(line)
    return kept


# =============================================================================

def links(pages):
    return [(name, page.name) for page in pages for name in page.names()]


def make_links(folder, pages):
    folder = pathlib.Path(os.environ.get("DESTDIR", "") + folder)
    for name, page in links(pages):
        link = folder / f"{name}.3"
        link.unlink(missing_ok=True)
        link.symlink_to(f"{page}.3")


def main():
    verb, *arguments = sys.argv[1:]
    if verb == "page":
        header, dated = arguments
        date = re.search(r"^\.Dd .*$", pathlib.Path(dated).read_text(), re.MULTILINE)[0]
        others = sorted(map(Page, pathlib.Path(header).parent.glob("*.h")), key=lambda page: page.name)
        sys.stdout.write(Page(header).text(date, others))
    elif verb == "links":
        make_links(arguments[0], [Page(path) for path in arguments[1:]])
    elif verb == "names":
        pages = [Page(path) for path in arguments]
        print("\n".join(sorted([page.name + ".3" for page in pages] + [name + ".3" for name, _ in links(pages)])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
