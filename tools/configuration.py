#!/usr/bin/env python3
"""Check that docs/CONFIGURATION.md, the flags of `topic create` and the definition of a topic in the
HTTP interface are what the library says, that the library knows each field of the structs of options
in the public headers, and that the comments of these fields name the ranges and defaults which the
library has.  --write writes the page and these parts of the files.

usage: configuration.py [--write] BUILD_FOLDER [ROOT]
"""
import pathlib
import re
import subprocess
import sys

STRUCT = re.compile(r"typedef struct (smq_\w+_options) \{(.*?)\}", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FIELD = re.compile(r"^\s*([^;]+?)\s*(\w+)\s*;", re.MULTILINE)
SECTION = re.compile(r"^## \w+: `(\w+)`$(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
# A struct with the comment before it; a field with its comment, which comes before or behind it.
COMMENTED = re.compile(r"((?:/\*(?:(?!\*/).)*\*/\s*)?)typedef struct (smq_\w+) \{(.*?)\n\}", re.DOTALL)
ENTRY = re.compile(r"(/\*(?:(?!\*/).)*\*/)?\s*^ +[\w ]+?[ *]+(\w+)(?:, \w+)*;[ \t]*(/\*(?:(?!\*/).)*\*/)?",
                   re.DOTALL | re.MULTILINE)
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000}
NUMBER = r"(\d+)(?:\^(\d+))?(?: ?(KiB|MiB|ms|s|m|h|d)\b)?"
RANGE = re.compile(rf"-?{NUMBER} \.\. {NUMBER}")
DEFAULT = re.compile(rf"\b[Dd]efault:? (?:{NUMBER}|([A-Z_]{{3,}}|none|no limit)\b)")
# Callbacks, what is passed to them, structs of them and handles have no text; a topic's name is no option, and
# only programs make surveys.
UNNAMED = re.compile(r"smq_\w+_fn|\bsmq_limit\b|\bvoid\b|\bsize_t\b|\bstruct\b")
NOT_OPTIONS = {("smq_topic_options", "name"), ("smq_survey_options", "calls_per_s")}


def declared(folder):
    for header in sorted(folder.glob("*.h")):
        for struct, body in STRUCT.findall(header.read_text()):
            for kind, field in FIELD.findall(COMMENT.sub("", body)):
                if not UNNAMED.search(kind) and (struct, field) not in NOT_OPTIONS:
                    yield struct, field


def described(text):
    """{(struct, field): the cells type, default, range and text}"""
    found = {}
    for struct, body in SECTION.findall(text):
        for field, cells in re.findall(r"^\| `(\w+)` \|(.*)\|$", body, re.MULTILINE):
            found[struct, field] = [cell.strip() for cell in re.split(r"(?<!\\)\|", cells)]
    return found


# === Comments ================================================================

def number(digits, power, unit):
    return (int(digits) ** int(power) if power else int(digits)) * UNITS[unit or ""]


def numbers(text):
    return {number(*parts) for parts in re.findall(NUMBER, text)}


def is_among(value, known):
    """0 is the default of each field; the table writes long durations in whole days."""
    return value in known | {0} or (value > UNITS["d"] and value - value % UNITS["d"] in known)


def is_default(word, default):
    if word in ("none", "no limit"):
        return default == "none"
    return any(word.lower() == known or word.lower().endswith("_" + known) for known in re.findall(r"\w+", default))


def doubts(comment, row):
    """What a comment says of an option that its row in the table does not."""
    _, default, limits, _ = row
    # where 0 is the default, a range that begins with 0 begins with 1 in C
    ends = numbers(limits) | ({1} if numbers(limits) and min(numbers(limits)) == 0 else set())
    known = set().union(*(numbers(cell) for cell in row)) | ends
    for parts in RANGE.findall(comment):
        if limits and not (is_among(number(*parts[:3]), ends) and is_among(number(*parts[3:]), ends)):
            yield "a range that is not " + limits
    for *parts, word in DEFAULT.findall(comment):
        if not (is_default(word, default) if word else is_among(number(*parts), numbers(default))):
            yield f"a default that is not {default or 'named there'}"
    for value in numbers(comment):
        if not is_among(value, known):
            yield f"{value}, which is not in it"


def row_of(rows, struct, field):
    """A message has fields that stand for options of its topic."""
    return rows.get(("smq_topic_options" if struct == "smq_message" else struct, field))


def comments(folder):
    """(struct, field, its comment); field None: the comment of the struct"""
    for header in sorted(folder.glob("*.h")):
        for before, struct, body in COMMENTED.findall(header.read_text()):
            yield struct, None, re.sub(r"\n\s*\*? ", " ", before)
            for above, field, behind in ENTRY.findall(body):
                yield struct, field, re.sub(r"\n\s*\*? ", " ", f"{above} {behind}")


def misleading(folder, rows):
    for struct, field, comment in comments(folder):
        row = row_of(rows, struct, field)
        if field is None and any(name == struct for name, _ in rows):
            row = ["", "", "", " ".join(" ".join(cells) for (name, _), cells in rows.items() if name == struct)]
        if row is not None:
            name = struct if field is None else f"{struct}.{field}"
            yield from (f"{name}: its comment names {doubt}; see its row in libsrc/model"
                        for doubt in doubts(comment, row))


# === Files ===================================================================

PAGE, FLAGS, SCHEMA = "docs/CONFIGURATION.md", "cli/topic/topic_flags.h", "serve/openapi.json"
FLAGS_HEAD = """/* topic_flags.h - a flag for each option of a topic; what TOPIC_FLAG() is says who includes it.
 *
 * Made from libsrc/model/topic_rows.h: tools/configuration.py --write build */

"""
JSON_TYPES = {"integer": '{"type": "integer"}', "duration": '{"type": "integer"}', "size": '{"type": "integer"}',
              "false|true": '{"type": "boolean"}', "list": '{"type": "array", "items": {"type": "string"}}'}


def flag(name, _type, _default, _limits, operand, _place):
    shown = re.sub("(_ms|_per_s)$", "", name).replace("_", "-")
    return f'TOPIC_FLAG("{shown}", "{name}", {chr(34) + operand + chr(34) if operand else "NULL"})\n'


def json_type(kind, default, limits):
    """None is 0, but where 0 is something else."""
    if default == "none" and limits.startswith("0 "):
        return '{"type": ["integer", "null"]}'
    return JSON_TYPES.get(kind, '{"type": "string"}')


def schema(text, rows):
    """The text of openapi.json with these options between the name of a topic and whether it is paused."""
    shown = sorted(rows, key=lambda row: int(row[5]))
    required = "".join(f'     "{row[0]}",\n' for row in shown)
    properties = "".join(f'     "{row[0]}": {json_type(*row[1:4])},\n' for row in shown)
    return re.sub(r'(?s)(   "Definition": \{.*?     "name",\n).*?(     "paused",\n.*?     "name": [^\n]*\n)'
                  r'.*?(     "paused":)',
                  lambda found: found[1] + required + found[2] + properties + found[3], text, count=1)


def made(build, root):
    """{file: its text} as it is made from the options."""
    def printed(*which):
        return subprocess.run([pathlib.Path(build) / "tools/configuration", *which], check=True, capture_output=True,
                              text=True).stdout
    rows = [line.split("\t") for line in printed("topic").splitlines()]
    return {PAGE: printed(), FLAGS: FLAGS_HEAD + "".join(flag(*row) for row in rows),
            SCHEMA: schema((root / SCHEMA).read_text(), rows)}


# =============================================================================


def main():
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    build, root = (arguments[1 if write else 0:] + ["."])[:2]
    root = pathlib.Path(root)
    files = made(build, root)
    if write:
        for name, text in files.items():
            (root / name).write_text(text)
    headers = root / "include/slotmq"
    fields, rows = set(declared(headers)), described(files[PAGE])
    found = [f"{struct}.{field} has no row in libsrc/model/option_table.c or topic_rows.h"
             for struct, field in sorted(fields - rows.keys())]
    found.extend(misleading(headers, rows))
    if not fields:
        found.append(f"{root}/include/slotmq: no struct of options found")
    found.extend(f"{root / name} is out of date: tools/configuration.py --write {build}"
                 for name, text in files.items()
                 if not (root / name).exists() or (root / name).read_text() != text)
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)


main()
