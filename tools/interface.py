#!/usr/bin/env python3
"""Print the source of a C program that prints slotmq.json: functions, callbacks, structs, enumerations and
constants of the public headers, for those who write bindings.  Names and texts are from the headers;
offsets, sizes and values are from the compiler.

usage: interface.py HEADER... > interface.c
"""
import json
import re
import sys

import manual

TYPE = re.compile(r"typedef (struct|enum) (smq_\w+)(?: \{(.*)\})? ?\w*$", re.DOTALL)
POINTER = re.compile(r"(.*?) ?\(\*(\w+)\)(\(.*\))$")
DECLARATOR = re.compile(r"(?P<stars>\**)\s*(?P<name>\w+)\s*(?P<array>\[[^\]]+\])?$")
CONSTANT = re.compile(r"#define (SMQ_\w+) +\(?-?\d+\)?\s*(?:/\*(.*?)\*/)?", re.DOTALL)
ROWS = re.compile(r"\bX\((SMQ_\w+), -?\d+,")


def flat(text):
    return " ".join(text.split())


def inner(comment):
    return flat(manual.bare(comment.strip()[2:-2])) if comment else ""


def parameters(arguments):
    """[{name, type}]; `void` is none."""
    for argument in arguments:
        match = re.match(r"(.*?)(\w+)$", argument.strip())
        if argument.strip() != "void":
            yield {"name": match[2], "type": flat(match[1])}


def callable_of(call, text, header):
    kind, name, arguments = call
    return {"name": name, "header": header, "returns": flat(kind), "parameters": list(parameters(arguments)),
            "text": text}


def members(body):
    """(type, name, is an array, text) of each field; one declaration may have several."""
    for part in re.split(r"\n\s*\n", body):
        for match in manual.FIELD.finditer(part):
            code = manual.one_line(match["code"])[:-1]
            text = inner(match["behind"] or match["above"])
            pointer = POINTER.match(code)
            if pointer:
                yield f"{pointer[1]} (*){pointer[3]}", pointer[2], False, text
                continue
            first, *others = code.split(",")
            base, _, declared = first.rpartition(" ")
            stars = len(declared) - len(declared.lstrip("*"))
            for one in [declared, *others]:
                found = DECLARATOR.match(one.strip()) or sys.exit(f"not a field: {code}")
                yield (flat(base + " " + "*" * (stars if one is declared else len(found["stars"]))), found["name"],
                       bool(found["array"]), text)


class Program:
    """The lines of the program; a %-directive stands where the compiler gives the number."""

    def __init__(self):
        self.lines = []

    def text(self, data):
        self.lines.append(f"    fputs({json.dumps(data, ensure_ascii=True)}, stdout);")

    def number(self, expression):
        self.lines.append(f'    printf("%lld", (long long) ({expression}));')

    def item(self, first, data, numbers, last="}"):
        """An object: what is known, then the numbers."""
        self.text(("" if first else ",") + "\n" + json.dumps(data)[:-1])
        for name, expression in numbers.items():
            self.text(f", {json.dumps(name)}: ")
            self.number(expression)
        self.text(last)

    def listed(self, name, items, last=","):
        self.text(f"\n{json.dumps(name)}: [")
        for index, (data, numbers) in enumerate(items):
            self.item(index == 0, data, numbers)
        self.text("]" + last)


def enumerators(body, header_text):
    mapped = re.search(r"(SMQ_\w+_MAP)\(SMQ_X\)", body)
    if mapped:
        rows = header_text[header_text.index("#define " + mapped[1]):].split("\n\n")[0]
        return [(name, "") for name in ROWS.findall(rows)]
    return [(match["code"].split(" ")[0], inner(match["behind"])) for match in manual.VALUE.finditer(body)]


def collect(pages):
    found = {"functions": [], "callbacks": [], "structs": [], "enums": [], "constants": []}
    for page in pages:
        header = page.path.name
        for block in page.blocks:
            text = flat(block.text)
            found["functions"] += [callable_of(call, text, header)
                                   for call in manual.calls(block.declared, manual.FUNCTION)]
            found["callbacks"] += [callable_of(call, text, header)
                                   for call in manual.calls(block.declared, manual.CALLBACK)]
            for macro in block.macros:
                match = CONSTANT.match(macro)
                if match:
                    found["constants"].append(({"name": match[1], "text": flat(match[2] or "")}, {"value": match[1]}))
            for code in block.declared:
                match = TYPE.match(code)
                if match and match[3] is not None:
                    found["structs" if match[1] == "struct" else "enums"].append(
                        (match[2], header, text, match[3], page.code))
                elif match and match[1] == "struct":
                    found["structs"].append((match[2], header, text, None, ""))
    return found


def print_types(program, found):
    """Structs and enumerations, whose members are lists of their own."""
    program.text('\n"structs": [')
    for index, (name, header, text, body, _) in enumerate(found["structs"]):
        data = {"name": name, "header": header, "text": text, "opaque": body is None}
        program.item(index == 0, data, {} if body is None else {"size": f"sizeof({name})"}, ",")
        program.listed("fields", [({"name": field, "type": kind, "array": array, "text": said},
                                   {"offset": f"offsetof({name}, {field})", "size": f"sizeof((({name} *) 0)->{field})"})
                                  for kind, field, array, said in (members(body) if body else [])], "}")
    program.text('],\n"enums": [')
    for index, (name, header, text, body, whole) in enumerate(found["enums"]):
        program.item(index == 0, {"name": name, "header": header, "text": text}, {"size": f"sizeof({name})"}, ",")
        program.listed("values", [({"name": value, "text": said}, {"value": value})
                                  for value, said in enumerators(body, whole)], "}")
    program.text("],")


def main():
    pages = [manual.Page(path) for path in sys.argv[1:]]
    found = collect(pages)
    program = Program()
    program.text('{"library": "slotmq", "version": ')
    program.lines.append('    printf("\\"%d.%d.%d\\",", SMQ_VERSION_MAJOR, SMQ_VERSION_MINOR, SMQ_VERSION_PATCH);')
    program.listed("constants", found["constants"])
    print_types(program, found)
    program.listed("callbacks", [(one, {}) for one in found["callbacks"]])
    program.listed("functions", [(one, {}) for one in found["functions"]], "}\n")
    print("/* Made by tools/interface.py. */", "#include <stddef.h>", "#include <stdio.h>", "",
          *[f"#include <slotmq/{page.path.name}>" for page in pages], "", "int main(void)", "{", *program.lines,
          "    return 0;", "}", sep="\n")


if __name__ == "__main__":
    main()
