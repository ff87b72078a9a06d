"""Line charts over a rate, as SVG that can be read in light and in dark."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 76, 150, 50, 52
LABEL_APART = 17
SPACE = 1.3  # beyond the least and the most value, as a factor

STYLE = """<style>
text { font: 13px system-ui, "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 15px; } .soft { fill: #57606a; }
.back { fill: #ffffff; stroke: #d0d7de; } .grid { stroke: #d8dee4; }
.line { fill: none; stroke-width: 2.5; }
.line0 { stroke: #0550ae; } .line1 { stroke: #bc4c00; } .line2 { stroke: #1a7f37; }
.line3 { stroke: #57606a; stroke-dasharray: 6 4; }
.mark0 { fill: #0550ae; } .mark1 { fill: #bc4c00; } .mark2 { fill: #1a7f37; } .mark3 { fill: #57606a; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .soft { fill: #9da7b1; }
  .back { fill: #0d1117; stroke: #30363d; } .grid { stroke: #30363d; }
  .line0 { stroke: #79c0ff; } .line1 { stroke: #ffa657; } .line2 { stroke: #7ee787; }
  .line3 { stroke: #9da7b1; } .mark0 { fill: #79c0ff; } .mark1 { fill: #ffa657; } .mark2 { fill: #7ee787; }
  .mark3 { fill: #9da7b1; } }
</style>"""


def plain(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


class Axis:
    """A logarithmic axis: values to places between two ends."""

    def __init__(self, least, most, start, end):
        self.least, self.most = math.log10(least), math.log10(most)
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log10(value) - self.least) / (self.most - self.least)
        return self.start + part * (self.end - self.start)

    def marks(self):
        """1, 2 and 5 times the powers of ten, or the powers alone where there are many."""
        powers = range(math.floor(self.least), math.ceil(self.most) + 1)
        steps = (1, 2, 5) if self.most - self.least < 2.2 else (1,)
        values = (step * 10.0 ** power for power in powers for step in steps)
        return [value for value in values if self.least <= math.log10(value) <= self.most]


def apart(places):
    """The same places in the same order, moved so that labels do not lie upon each other."""
    moved = dict(places)
    names = sorted(moved, key=moved.get)
    for before, name in zip(names, names[1:]):
        moved[name] = max(moved[name], moved[before] + LABEL_APART)
    return moved


def frame(title, note, across, down, rates):
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
    yield STYLE
    yield f'<rect class="back" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6"/>'
    yield f'<text class="title" x="20" y="28">{escape(title)}</text>'
    for value in down.marks():
        y = down.at(value)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{plain(value)}</text>'
    for rate in rates:
        x = across.at(rate)
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{rate:,}</text>'
    yield (f'<text class="soft" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 12}" '
           'text-anchor="middle">messages a second</text>')
    yield f'<text class="soft" x="{WIDTH - 16}" y="{HEIGHT - 12}" text-anchor="end">{escape(note)}</text>'


def lines_of(series, across, down):
    ends = {}
    for i, (name, points) in enumerate(series.items()):
        places = [(across.at(rate), down.at(value)) for rate, value in sorted(points.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline class="line line{i}" points="{path}"/>'
        yield from (f'<circle class="mark{i}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in places)
        ends[name] = places[-1][1]
    for name, y in apart(ends).items():
        yield f'<text x="{WIDTH - RIGHT + 14}" y="{y + 4:.1f}">{escape(name)}</text>'


def chart(title, note, series):
    """SVG of {name: {rate: value}}, at most four names; all values are above 0.  `note`: a few words."""
    rates = sorted({rate for points in series.values() for rate in points})
    values = [value for points in series.values() for value in points.values()]
    across = Axis(rates[0], rates[-1], LEFT, WIDTH - RIGHT)
    down = Axis(min(values) / SPACE, max(values) * SPACE, HEIGHT - BOTTOM, TOP)
    return "\n".join([*frame(title, note, across, down, rates), *lines_of(series, across, down), "</svg>"]) + "\n"
