#!/usr/bin/env python3
"""Check that functions carry the name of their module.  usage: names.py [ROOT]

A function of the library, of coord and of the command begins with the name of its file or a word
of it, with that of its folder, of a type that its file or a header of its folder defines, or as the functions that its own
header declares (of the store: call.h, which all its files share).  So a backtrace tells where a function is.
"""
import re

import findings

ROOMS = ["libsrc", "coord", "cli"]
FUNCTION = re.compile(r"^(?:SMQ_API )?(?:static )?(?:inline )?(?:const )?(?:struct |enum |unsigned )?\w+[ *]+"
                      r"(\w+)\([^;{]*\)\s*\{", re.MULTILINE)
DECLARED = re.compile(r"^(?!static|typedef| |/|#)[\w ]+[ *](\w+)\([^{}]*?\)[^;{]*;", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (\w+) \{", re.MULTILINE)


def forms(noun):
    yield noun
    yield noun + "s" if not noun.endswith("s") else noun[:-1]
    if noun.startswith("smq_"):
        yield from forms(noun.removeprefix("smq_"))


def prefixes(path, text):
    """The words with which a function of this file may begin."""
    nouns = {path.stem, *path.stem.split("_"), path.parent.name, *TYPE.findall(text)}
    for header in path.parent.glob("*.h"):
        declared = header.read_text()
        nouns.update(TYPE.findall(declared))
        nouns.add(header.stem)
        if header.stem.split("_")[0] == path.stem.split("_")[0] or header.stem == "call":
            nouns.update(name.split("_")[0] for name in DECLARED.findall(declared))
    nouns.add("smq")  # a public function
    return {form for noun in nouns for form in forms(noun)}


def strangers(root):
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.c")):
            text = path.read_text()
            words = prefixes(path, text)
            for name in FUNCTION.findall(text):
                if name != "main" and not any(name == word or name.startswith(word + "_") for word in words):
                    yield f"{path.relative_to(root)}: {name}() does not begin with the name of its module"


if __name__ == "__main__":
    findings.check_tree(strangers)
