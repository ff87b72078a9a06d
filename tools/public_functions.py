"""The functions that the public headers declare: those marked SMQ_API."""
import pathlib
import re

DECLARED = re.compile(r"\bSMQ_API\b[^;{]*?\b(smq_\w+)\s*\(")
NOT_CODE = re.compile(r"/\*.*?\*/|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)


def declared(folder):
    names = set()
    for header in sorted(pathlib.Path(folder).glob("*.h")):
        names.update(DECLARED.findall(NOT_CODE.sub("", header.read_text())))
    return names
