#!/usr/bin/env python3
"""Write tables of the fields of structs, by which JavaScript gets them as objects.

usage: fields.py SLOTMQ_JSON OUT

The offsets are left to the compiler.  Fields of other types, as nested structs, are left out.
"""
import json
import re
import sys

STRUCTS = ["event", "health", "message_info", "metrics", "schedule", "schedule_info", "stats"]
KINDS = {"int64_t": "I64", "uint64_t": "U64", "int32_t": "I32", "bool": "BOOL", "const char *": "TEXT",
         "smq_bytes": "BYTES"}


def camel(name):
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def kind(field, enums):
    if field["array"]:
        return {"char": "CHARS", "uint64_t": "U64S"}.get(field["type"])
    return "I32" if field["type"] in enums else KINDS.get(field["type"])


def table(struct, enums):
    yield f"static const struct field fields_{struct['name'].removeprefix('smq_')}[] = {{"
    for field in struct["fields"]:
        found = kind(field, enums)
        if found:
            yield (f'    {{"{camel(field["name"])}", FIELD_{found}, offsetof({struct["name"]}, {field["name"]}), '
                   f"{field['size']}}},")
    yield "    {NULL, FIELD_I32, 0, 0},\n};"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        described = json.load(file)
    structs = {struct["name"]: struct for struct in described["structs"]}
    enums = {enum["name"] for enum in described["enums"]}
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for name in STRUCTS:
            print("\n".join(table(structs[f"smq_{name}"], enums)), file=out)


main()
