#!/usr/bin/env python3
"""Check that docs/METRICS.md, the schema of the HTTP interface and the records of Python have the numbers that
the library has, or write them there.

usage: statistic_table.py [--write] BUILD_FOLDER [ROOT]
"""
import pathlib
import re
import subprocess
import sys
from typing import List, NamedTuple


class Number(NamedTuple):
    record: str
    offset: int
    field: str
    kind: str
    unit: str
    metric: str
    label: str
    value: str
    help: str


def numbers_of(program: pathlib.Path) -> List[Number]:
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in text.splitlines())
    return [Number(row[0], int(row[1]), *row[2:]) for row in rows]


def replaced(text: str, pattern: str, lines: List[str], count: int) -> str:
    """The group `lines` of each match becomes these lines."""
    def one(match: "re.Match[str]") -> str:
        start, end = match.start("lines") - match.start(), match.end("lines") - match.start()
        return match[0][:start] + "".join(lines) + match[0][end:]

    text, found = re.subn(pattern, one, text, flags=re.DOTALL)
    if found != count:
        sys.exit(f"{pattern!r} is there {found} times, not {count}")
    return text


def page(text: str, numbers: List[Number]) -> str:
    """The tables of docs/METRICS.md begin with these rows."""
    for record, last in (("Metrics", "slotmq_sends_full_total"), ("Stats", "slotmq_topic_owners")):
        rows = {number.metric: f"| `{number.metric}` | {number.kind} | {number.help} |\n"
                for number in numbers if number.record == record and number.metric}
        first = next(iter(rows))
        text = replaced(text, rf"\n(?P<lines>\| `{first}` \|.*?)\| `{last}` \|", list(rows.values()), 1)
    return text


def joined(lines: List[str]) -> List[str]:
    """Members of JSON, a line each, with which an object or array ends."""
    return [",\n".join(lines) + "\n"]


def schema(text: str, numbers: List[Number]) -> str:
    """What a topic and a slot have, behind "paused"; and why messages died."""
    shown = [number for number in numbers if number.record == "Stats" and number.unit in ("messages", "ms")]
    causes = [number.value for number in numbers if number.label == "cause"]
    age = '{{"type": ["integer", "null"], "description": "{} null: not known."}}'
    names = [f'     "{number.field}"' for number in shown]
    fields = [f'     "{number.field}": ' + (age.format(number.help) if number.unit == "ms" else '{"type": "integer"}')
              for number in shown]
    for before, lines in ((r'"paused",\n', names), (r'"paused": \{"type": "boolean"\},\n', fields)):
        text = replaced(text, rf'{before}(?P<lines>{names[0]}(?:[^\n]*\n     ")*?[^\n]*\n)(?=    [\]}}])', joined(lines), 1)
    place = r'"causes": \{\n[^}]*?"required": \['
    text = replaced(text, place + r"(?P<lines>[^\]]*)", [", ".join(f'"{cause}"' for cause in causes)], 1)
    return replaced(text, place + r'[^\]]*\],\n +"properties": \{\n(?P<lines>(?:       "[^\n]*\n)+)',
                    joined([f'       "{cause}": {{"type": "integer"}}' for cause in causes]), 1)


def records(text: str, numbers: List[Number]) -> str:
    """The fields of the classes, in the order of the structs."""
    for record in ("Stats", "Metrics"):
        fields = sorted((number for number in numbers if number.record == record), key=lambda number: number.offset)
        text = replaced(text, rf'class {record}:\n    """.*?"""\n\n(?P<lines>(?:    \w+: [^\n]*\n)+)',
                        [f"    {number.field}: {'Tuple[int, ...]' if number.kind == 'histogram' else 'int'}\n"
                         for number in fields], 1)
    return text


MADE = {"docs/METRICS.md": page, "serve/openapi.json": schema, "python/src/slotmq/records.py": records}


def main() -> None:
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    build, root = (arguments[1 if write else 0:] + ["."])[:2]
    numbers = numbers_of(pathlib.Path(build) / "tools/statistic_table")
    stale = False
    for name, make in MADE.items():
        path = pathlib.Path(root) / name
        text = path.read_text(encoding="utf-8")
        made = make(text, numbers)
        if made != text and write:
            path.write_text(made, encoding="utf-8")
        elif made != text:
            print(f"{path} is out of date: tools/statistic_table.py --write {build}", file=sys.stderr)
            stale = True
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
