"""./dev bench celery: its short form runs here, and its figures are judged by itself alone."""
import re
import sys

import turns


def test_the_short_form_prints_the_figures_of_each_row(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["turns.py", "--quick"])
    assert turns.main() in (0, 1)
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said] == [["slotmq", row.pool] for row in turns.QUICK]
    for row, line in zip(turns.QUICK, said):
        found = re.search(r"of the first 300 ((?: *\d+,?)+) *; for a task \d+\.\d\d scripts, \d\.\d{3} releases; ", line)
        assert found and sum(map(int, found[1].split(","))) == turns.EACH and found[1].count(",") + 1 == len(row.queues), line
