#!/usr/bin/env python3
"""Draw the spans of one trace, lines of JSON as examples/trace prints them, as SVG.

usage: build/examples/trace REDIS | tools/trace_picture.py > docs/pictures/trace.svg

Each span has a row, in the order of their begins, and a bar over its time; dashed lines are links."""
import html
import json
import sys

ROW, LEFT, RIGHT, WIDTH, TOP = 34, 150, 190, 760, 44
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #24292f; } .soft { fill: #57606a; font-size: 12px; }
.frame { fill: #f6f8fa; stroke: #d0d7de; } .PRODUCER { fill: #0969da; } .CONSUMER { fill: #1a7f37; } .CLIENT { fill: #9a6700; }
path { fill: none; stroke: #8c959f; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .soft { fill: #8b949e; } .frame { fill: #161b22; stroke: #30363d; }
  .PRODUCER { fill: #4493f8; } .CONSUMER { fill: #3fb950; } .CLIENT { fill: #d29922; } path { stroke: #6e7681; } }
"""


def note(span):
    facts = span["attributes"]
    what = facts["slotmq.status"]
    tries = f", try {facts['slotmq.attempt']}" if span["kind"] == "CONSUMER" else ""
    return {"SMQ_OK": "stored"}.get(what, what) + tries


def main():
    spans = sorted((json.loads(line) for line in sys.stdin), key=lambda span: span["start_us"])
    begin, end = spans[0]["start_us"], max(span["end_us"] for span in spans)
    rows = {span["spanId"]: TOP + ROW * index for index, span in enumerate(spans)}

    def x(time_us):
        return LEFT + (WIDTH - LEFT - RIGHT) * (time_us - begin) / (end - begin)

    height = TOP + ROW * len(spans)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
             f"<title>Trace {spans[0]['traceId']}: {len(spans)} spans</title>", f"<style>{STYLE}</style>",
             f'<rect class="frame" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
             f'<text class="soft" x="16" y="26">trace {spans[0]["traceId"]}, {(end - begin) / 1000:.1f} ms</text>']
    for span in spans:
        y, start = rows[span["spanId"]], x(span["start_us"])
        width = max(x(span["end_us"]) - start, 3)
        for link in span["links"]:
            lines.append(f'<path d="M {LEFT + 1.5:.1f} {rows[link] + 17} V {y + 10} H {start:.1f}"/>')
        lines += [f'<text x="16" y="{y + 14}">{html.escape(span["name"])}</text>',
                  f'<rect class="{span["kind"]}" x="{start:.1f}" y="{y + 3}" width="{width:.1f}" height="14" rx="2"/>',
                  f'<text class="soft" x="{start + width + 8:.1f}" y="{y + 14}">{span["kind"].lower()}: {html.escape(note(span))}</text>']
    print("\n".join(lines + ["</svg>"]))


if __name__ == "__main__":
    main()
