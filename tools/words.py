#!/usr/bin/env python3
"""Check that pages, comments and code use the words of the glossary, and that prose is not too wide.
usage: words.py [ROOT]

Lines of prose in *.md have at most 100 columns; tables, code and lines with a URL may be wider.
"""
import pathlib
import re
import sys

import findings

WIDEST = 100

# Words that were given up, and what to write instead.
OLD_WORDS = {
    r"in[ _]hand": "in flight",
    r"hub": "core",
    r"strands?": "owned slot, or lane",
    r"(hub|hand|strand|worker_io|worker_rate|cluster)\.[ch]": "the present name of the file",
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
        "bench/*.[ch]", "demo/*.[ch]", "examples/*.c", "dev"]
PAGES = ["*.md", "docs/**/*.md", "docs/slotmq.1", "lua/*.md", "bench/*.md", "tests/**/*.md"]


def files(root, patterns):
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


def old_words(root, paths, words):
    found = [(re.compile(rf"\b({word})\b", re.IGNORECASE), instead) for word, instead in words.items()]
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
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
    found = [*old_words(root, [*pages, *code], OLD_WORDS),
             *wide_lines(root, [path for path in pages if path.suffix == ".md"])]
    findings.end(found)


if __name__ == "__main__":
    main()
