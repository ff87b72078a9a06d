#!/usr/bin/env python3
"""The page of benchmarks is written from what was kept: goals, sections, what does not count."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run_of(**counts):
    tally = {"sent": 10, "handled": 10, "lost": 0, "duplicated": 0, "out_of_order": 0}
    return {"bench": "drain", "run": 1, "who": "slotmq", **tally, **counts}


def figure(name, value, **more):
    line = {"bench": "drain", "figure": name, "value": value, "unit": "ratio", "runs": 5}
    return {**line, **({} if value is None else {"min": value, "max": value}), **more}


def steady(**values):
    """Lines of steady flow: values by WAY_RATEk_WORD."""
    return [{"bench": "steady", "figure": name.replace("_", "-"), "value": value, "min": value, "max": value,
             "unit": "ms", "runs": 1} for name, value in values.items()]


HEAD = {"bench": "drain", "about": "consume a backlog", "day": "2026-01-02", "slotmq": "0.1.0"}
AIMED_AT = {"goal": 0.95, "limit": 0.8, "verdict": "accepted"}


class Page(unittest.TestCase):
    def written(self, before="", pictures=None, **benches):
        """`before`: the page as it was.  `pictures` gets the text of each."""
        with tempfile.TemporaryDirectory() as folder:
            if before:
                (pathlib.Path(folder) / "page.md").write_text(before)
            for name, lines in benches.items():
                text = "".join(json.dumps(line) + "\n" for line in lines)
                (pathlib.Path(folder) / f"{name}.json").write_text(text)
            page = pathlib.Path(folder) / "page.md"
            result = subprocess.run([sys.executable, ROOT / "bench/figures.py", folder, page],
                                    capture_output=True, text=True, check=False)
            if pictures is not None:
                pictures.update({path.name: path.read_text() for path in pathlib.Path(folder).glob("pictures/*")})
            return result, page.read_text().splitlines() if page.exists() else []

    def page(self, *lines):
        result, page = self.written(drain=[HEAD, *lines])
        self.assertEqual(result.returncode, 0, result.stderr)
        return page

    def row(self, name, *lines):
        return next(line for line in self.page(*lines) if line.startswith(f"| {name} |"))

    def test_figure_that_is_aimed_at(self):
        row = self.row("drain-inline/raw", figure("drain-inline/raw", 0.93, **AIMED_AT))
        self.assertTrue(row.endswith("| 0.93 | 0.95 | 0.8 | accepted |"), row)

    def test_figure_that_nobody_measured(self):
        self.assertTrue(self.row("send-inline/raw", figure("drain-inline/raw", 0.93, **AIMED_AT))
                        .endswith("| not measured | | | |"))

    def test_runs_that_do_not_count(self):
        why = {"uncounted": 2, "why": "raw loop too slow", **AIMED_AT}
        self.assertIn("| 0.93 (raw loop too slow in 2 runs) |",
                      self.row("drain-inline/raw", figure("drain-inline/raw", 0.93, **why)))
        self.assertIn("| raw loop too slow in 2 runs |",
                      self.row("drain-inline/raw", figure("drain-inline/raw", None, **why)))

    def test_section_tells_what_when_and_how_much(self):
        page = self.page(run_of(), run_of(handled=9, lost=1), figure("rate", 286304.4),
                         figure("others", 12.34), {"bench": "drain", "took_s": 61.2, "voids": 0})
        start = page.index("## drain")
        self.assertEqual(page[start + 2], "Consume a backlog.")
        self.assertEqual(page[start + 4],
                         "2026-01-02, slotmq 0.1.0, in 61 s; others took 12.34 % of a core.")
        self.assertEqual(page[start + 5], "All runs together: sent 20, handled 19, lost 1, "
                                          "duplicated 0, out of order 0.")
        self.assertEqual(page[-1], "| rate | 286,304 | ratio | 286,304 | 286,304 | 5 |")

    def test_what_a_benchmark_does_is_wrapped(self):
        words = "one by one, " * 20
        _, page = self.written(drain=[{**HEAD, "about": words}, figure("rate", 1)])
        start = page.index("## drain")
        self.assertLessEqual(max(map(len, page[start:page.index("", start + 2)])), 100)

    def test_notes_stand_above_the_figures(self):
        page = self.page({"bench": "drain", "note": "bullmq is left out"}, figure("rate", 1))
        self.assertLess(page.index("- bullmq is left out"),
                        page.index("| figure | median | unit | least | most | runs |"))

    def test_each_benchmark_has_a_section(self):
        _, page = self.written(drain=[HEAD, figure("a", 1)], send=[HEAD, figure("b", 1)])
        self.assertTrue({"## drain", "## send"} <= set(page))

    def test_what_was_not_measured_stays(self):
        before = "\n".join(self.page(figure("drain-inline/raw", 0.93, **AIMED_AT)))
        head = {**HEAD, "bench": "send"}
        _, page = self.written(before, send=[head, figure("send-inline/raw", 1.1, **AIMED_AT)])
        rows = [line for line in page if line.startswith(("| drain-inline/raw |", "| send-inline/raw |"))]
        self.assertTrue(any(row.endswith("| 0.93 | 0.95 | 0.8 | accepted |") for row in rows), rows)
        self.assertTrue(any(row.endswith("| 1.1 | 0.95 | 0.8 | accepted |") for row in rows), rows)
        self.assertLess(page.index("## drain"), page.index("## send"))
        self.assertEqual(before.splitlines()[before.splitlines().index("## drain"):],
                         page[page.index("## drain"):page.index("## send") - 1])

    def test_charts_have_a_line_of_each_way(self):
        ways = ("steady", "steady_keys", "steady_inline", "streams")
        values = {f"{way}_{rate}k_{word}": rate + i for i, way in enumerate(ways) for rate in (2, 20, 200)
                  for word in ("p50", "redis_cpu")}
        pictures = {}
        _, page = self.written(pictures=pictures, steady=[{**HEAD, "bench": "steady"}, *steady(**values)])
        self.assertEqual(set(pictures), {"steady-latency.svg", "steady-redis-cpu.svg"})
        for name, picture in pictures.items():
            shape = ElementTree.fromstring(picture)
            lines = shape.findall("{*}polyline")
            self.assertEqual(len(lines), 4)
            self.assertTrue(all(len(line.get("points").split()) == 3 for line in lines))
            self.assertIn("prefers-color-scheme: dark", picture)
            self.assertTrue(any(f"(pictures/{name})" in line for line in page))
        highest = [float(line.get("points").split()[-1].split(",")[1]) for line in lines]
        self.assertEqual(highest, sorted(highest, reverse=True))  # larger values stand higher

    def test_without_all_ways_there_is_no_chart(self):
        pictures = {}
        self.written(pictures=pictures, steady=[{**HEAD, "bench": "steady"}, *steady(steady_1k_p50=1)])
        self.assertEqual(pictures, {})

    def test_every_goal_has_words(self):
        goals = (ROOT / "bench/goals.c").read_text()
        page = "\n".join(self.page(figure("rate", 1)))
        for part in goals.split('{"')[1:]:
            self.assertIn(f"| {part.split(chr(34))[0]} |", page)

    def test_nothing_kept_is_no_success(self):
        result, page = self.written()
        self.assertEqual((result.returncode, page), (1, []))


if __name__ == "__main__":
    unittest.main()
