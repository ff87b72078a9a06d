#!/usr/bin/env python3
"""Embed files of text in a C source: the table that serve/page/page.h declares.

usage: embed_files.py OUT.c ADDRESS=FILE...

Each file becomes a string under the address at which it is asked for; its media type follows from
the end of its name.  The addresses are in the order of strcmp()."""
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


def quoted(data):
    """A line of a file as a C string.  Octal escapes have three digits, so that a digit may follow."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("?"): "\\?"}
    return '"' + "".join(plain.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
                         for byte in data) + '"'


def main():
    out, rows, texts = sys.argv[1], [], []
    for number, pair in enumerate(sorted(sys.argv[2:], key=lambda pair: pair.partition("=")[0].encode())):
        address, _, name = pair.partition("=")
        data = pathlib.Path(name).read_bytes()
        lines = "\n".join(f"    {quoted(line)}" for line in data.splitlines(keepends=True)) or '    ""'
        texts.append(f"static const char text_{number}[] =\n{lines};\n")
        rows.append(f'    {{"{address}", "{TYPES[pathlib.PurePath(name).suffix]}", text_{number}, {len(data)}}},')
    pathlib.Path(out).write_text("\n".join([
        "/* Made by tools/embed_files.py: do not edit. */", '#include "serve/page/page.h"', "",
        "/* ISO C promises 4095 characters in a literal; our compilers take more. */",
        '#pragma GCC diagnostic ignored "-Woverlength-strings"', "", *texts,
        "const struct page_file page_files[] = {", *rows, "};",
        f"const size_t page_count = {len(rows)};", ""]), encoding="ascii")


if __name__ == "__main__":
    main()
