#!/usr/bin/env python3
"""Run a command in a terminal and draw what stands there at its end, as SVG.

usage: terminal_picture.py FILE.svg COMMAND...
       tools/terminal_picture.py docs/pictures/demo.svg build/demo/slotmq-demo

Programs that go back over the lines they drew last (ESC [ n A, ESC [ J) are understood, and no other
sequence.  The exit status is that of the command; without success nothing is drawn."""
import html
import os
import pty
import re
import sys

SIZE, LEADING, MARGIN = 13, 18, 16
WIDTH_OF_A_LETTER = 0.6
STYLE = """
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #24292f; }
rect { fill: #f6f8fa; stroke: #d0d7de; } .good { fill: #1a7f37; } .bad { fill: #cf222e; } .soft { fill: #6e7781; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } rect { fill: #161b22; stroke: #30363d; }
  .good { fill: #3fb950; } .bad { fill: #ff7b72; } .soft { fill: #8b949e; } }
"""
# Of a line that matches, the part in the group has the class.
COLOURS = [("good", r"^  (yes) "), ("bad", r"^  (no) "), ("soft", r"^( *\d+\.\d s) "), ("good", r"^(.* kept its promises\.)$")]


def run(command):
    """(what it wrote, its exit status); it has a terminal of 100 columns."""
    written = bytearray()

    def read(descriptor):
        data = os.read(descriptor, 65536)
        written.extend(data)
        return data

    os.environ["COLUMNS"] = "100"
    status = pty.spawn(command, read)
    return written.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def screen(text):
    """The lines that stand there at the end."""
    lines = [""]
    for token in re.findall(r"\x1b\[\d*[A-Za-z]|\n|[^\n\x1b]+", text.replace("\r", "")):
        if token == "\n":
            lines.append("")
        elif token.endswith("A") and token.startswith("\x1b["):
            del lines[max(0, len(lines) - 1 - int(token[2:-1] or 1)):]
            lines.append("")
        elif not token.startswith("\x1b"):
            lines[-1] += token
    return "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")


def coloured(line):
    for name, pattern in COLOURS:
        found = re.search(pattern, line)
        if found:
            start, end = found.span(1)
            before, inner, after = (html.escape(part) for part in (line[:start], line[start:end], line[end:]))
            return f'{before}<tspan class="{name}">{inner}</tspan>{after}'
    return html.escape(line)


def drawn(lines):
    width = round(max(len(line) for line in lines) * SIZE * WIDTH_OF_A_LETTER) + 2 * MARGIN
    height = len(lines) * LEADING + 2 * MARGIN
    rows = [f'<text xml:space="preserve" x="{MARGIN}" y="{MARGIN + SIZE + number * LEADING}">{coloured(line)}</text>'
            for number, line in enumerate(lines) if line]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      f'viewBox="0 0 {width} {height}">', f"<style>{STYLE}</style>",
                      f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>', *rows, "</svg>", ""])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text, status = run(sys.argv[2:])
    if status == 0:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(drawn(screen(text)))
    sys.exit(status)


if __name__ == "__main__":
    main()
