#!/usr/bin/env python3
"""Check that pages, comments and code use the words of the glossary, and that prose is not too wide.
usage: words.py [ROOT]

Lines of prose in *.md have at most 100 columns; tables, code and lines with a URL may be wider.  Of
tests/ and tools/ only the comments are checked, because test data may be any words.
"""
import io
import pathlib
import re
import sys
import tokenize

import findings

WIDEST = 100

# Words that were given up, and what to write instead.
OLD_WORDS = {
    r"in[ _]hand": "in flight",
    r"hub": "core",
    r"strands?": "owned slot, or lane",
    r"(hub|hand|strand|worker_io|worker_rate)\.[ch]": "the present name of the file",
    r"dies (when|on return|once)|everything dies": "is freed, or valid until",
    r"come home": "has completed",
    r"on the wire": "sent, in flight",
    r"forsake|forgive": "what is done",
    r"told(?! apart)": "reported",
    r"(is|was) said": "who says it",
    r"somebody|whoever": "who it is: the caller, the owner, another process",
    r"meanwhile": "in the meantime, or the event",
    r"go(es)? on": "continue",
    r"(is|are|was) over(?! \d)": "has ended",
    r"(come|comes|came) back": "is returned, is delivered again",
    r"stands? (in|at|there|beside|behind|before)": "is stored in, is",
    r"so many|for so long": "this many, for this long",
    r"one an? (topic|slot|message|call|process|client|commit)|once a (topic|second)": "per",
    r"(messages|commands|bytes) a (second|message)": "per",
    r"mend(s|ed)?": "fix",
    r"doubt(s|ed)?": "unconfirmed, invalidated",
    r"nobody (knows|is|has|answers|owns|waits|listens|polls|wants)": "no process, no thread; of an outcome: it is not known",
    r"in step": "in sync",
    r"fixed for life": "cannot be changed",
    r"on (its|their) way(?! to|,? from)": "in progress, in flight, posted",
    r"at rest": "suspended",
    r"of its own accord": "periodically, by itself",
}
CODE = ["include/**/*.h", "libsrc/**/*.[ch]", "coord/*.[ch]", "cli/*.[ch]", "lua/**/*.lua",
        "bench/*.[ch]", "demo/*.[ch]", "examples/*.c", "examples/*.cpp", "examples/*.py", "dev"]
COMMENTED = ["tests/**/*.[ch]", "tests/**/*.cpp", "tests/**/*.py", "tests/**/*.lua", "tools/*.c", "tools/*.py"]
PAGES = ["*.md", "docs/**/*.md", "docs/slotmq.1", "lua/*.md", "bench/*.md", "deploy/*.md", "tests/**/*.md"]
# Strings come first, because what looks like a comment in one is none.
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(?P<comment>/\*.*?\*/|//[^\n]*)', re.DOTALL)
LUA_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(?P<comment>--[^\n]*)')
BEFORE_STATEMENT = (tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def files(root, patterns):
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


def is_comment(token, before):
    """Is this Python token a comment, or a string that is a statement of its own?"""
    return token.type == tokenize.COMMENT or (token.type == tokenize.STRING and before in BEFORE_STATEMENT)


def python_comments(text):
    before = tokenize.ENCODING
    for token in tokenize.tokenize(io.BytesIO(text.encode()).readline):
        if is_comment(token, before):
            yield token.start[0], token.string
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def comments(path):
    """The lines of the comments of a source file, with their numbers."""
    text = path.read_text()
    if path.suffix == ".py":
        found = python_comments(text)
    else:
        pattern = LUA_COMMENT if path.suffix == ".lua" else C_COMMENT
        found = ((text.count("\n", 0, match.start()) + 1, match["comment"])
                 for match in pattern.finditer(text) if match["comment"])
    for first, comment in found:
        yield from enumerate(comment.splitlines(), first)


def lines(path):
    yield from enumerate(path.read_text().splitlines(), 1)


def old_words(root, paths, read, words):
    found = [(re.compile(rf"\b({word})\b", re.IGNORECASE), instead) for word, instead in words.items()]
    for path in paths:
        for number, line in read(path):
            for word, instead in found:
                if word.search(line):
                    yield f"{path.relative_to(root)}:{number}: an old word; write {instead}: {line.strip()}"


def wide_lines(root, paths):
    for path in paths:
        fenced = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            fenced ^= line.startswith("```")
            if len(line) > WIDEST and not fenced and not re.match(r" {4}| *\|", line) and "://" not in line:
                yield f"{path.relative_to(root)}:{number}: {len(line)} columns; wrap it at {WIDEST}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    pages, code = files(root, PAGES), files(root, CODE)
    if not pages:
        sys.exit(f"{root}: there are no pages to check")
    found = [*old_words(root, [*pages, *code], lines, OLD_WORDS),
             *old_words(root, files(root, COMMENTED), comments, OLD_WORDS),
             *wide_lines(root, [path for path in pages if path.suffix == ".md"])]
    findings.end(found)


if __name__ == "__main__":
    main()
