#!/usr/bin/env python3
"""Write the record of a release: what chaos, models, fuzzing and mutants have shown.  ./dev record
runs this.

usage: track_record.py FOLDER

FOLDER has chaos.jsonl, model.jsonl, fuzz.jsonl and mutants.jsonl, as `--record` of these verbs and of
./dev nightly writes them: a line of JSON for each run.  A part without a file says so on the page.
Written is FOLDER/slotmq-VERSION-record.md; printed is the row of the version for the table of
docs/TRACK-RECORD.md.
"""
import collections
import json
import pathlib
import statistics
import sys
import textwrap

import version

ROOT = pathlib.Path(__file__).resolve().parents[1]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def number(value):
    return f"{value:,}"


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def table(head, rows, right=()):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---:" if index in right else "---" for index in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def paragraph(text):
    return textwrap.wrap(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False)


def commits(runs):
    found = sorted({run.get("commit", "") for run in runs} - {""})
    return ", ".join(f"`{commit}`" for commit in found) or "commits that are not known"


# === Parts ====================================================================

def sums(runs, field):
    """The counts of all runs together, by kind."""
    total = collections.Counter()
    for run in runs:
        total.update(run.get(field) or {})
    return total


def takeovers(runs):
    times = collections.defaultdict(list)
    for run in runs:
        for cause, found in (run.get("takeover_ms") or {}).items():
            times[cause] += found
    for cause, found in sorted(times.items()):
        yield cause, number(len(found)), f"{statistics.median(found):,.0f}", number(max(found))


def total(runs, field):
    return sum(run.get(field) or 0 for run in runs)


def chaos_counts(runs):
    verdicts = collections.Counter(run["verdict"] for run in runs)
    sends = sums(runs, "sends")
    events = sum(sends.values()) + total(runs, "handled") + total(runs, "scripts")
    yield "runs", number(len(runs)) + ": " + ", ".join(f"{count} {word}" for word, count in sorted(verdicts.items()))
    yield "time under faults", duration(total(runs, "fault_ms") / 1000)
    yield "faults", number(sum(sums(runs, "faults").values()))
    yield "messages sent", number(sum(sends.values()))
    yield "handlers begun", number(total(runs, "handled"))
    yield "events checked: sends, handlers, scripts in Redis", number(events)
    yield "events held against the model", number(total(runs, "traced_events"))
    yield "slots that moved", number(total(runs, "moves"))
    yield "calls of earlier owners that were refused", number(total(runs, "fenced"))
    yield "acknowledged messages lost", number(total(runs, "lost"))
    yield "lost with a Redis master or its keys, as permitted", number(
        total(runs, "lost_with_master") + total(runs, "lost_with_slot"))
    yield "two handlers for one key under one token", number(total(runs, "overlaps"))
    yield "handlers begun too late after a newer token", number(total(runs, "late"))
    yield "handlers begun after it within the bound", number(total(runs, "begun_beside"))
    yield "handlers begun while a failover had lost a newer takeover, as permitted", number(
        total(runs, "begun_after_lost_takeover"))
    owners = [run["owners"] for run in runs if run.get("owners")]
    if owners:
        yield "workers that had all slots among them", \
            f"{min(fewest for fewest, _ in owners)} to {max(most for _, most in owners)}"
    for server, count in sorted(collections.Counter(run["server"] for run in runs if run.get("server")).items()):
        yield f"runs with {server}", number(count)


def chaos(runs):
    if not runs:
        yield "No run is recorded."
        return
    yield from paragraph(f"Runs under random faults, of {commits(runs)}.")
    yield ""
    yield from table(("what", "count"), chaos_counts(runs), {1})
    faults = sums(runs, "faults")
    if faults:
        yield ""
        yield from table(("fault", "times"), ((name, number(count)) for name, count in sorted(faults.items())), {1})
    times = list(takeovers(runs))
    if times:
        yield ""
        yield from paragraph("Slots that were taken over, and after how many milliseconds:")
        yield ""
        yield from table(("cause", "slots", "median", "longest"), times, {1, 2, 3})
    yield from chaos_bad(runs)


def chaos_bad(runs):
    """The runs that were not good, and why."""
    bad = [run for run in runs if run["verdict"] != "good"]
    if not bad:
        return
    yield ""
    yield "Runs that were not good:"
    yield ""
    yield from table(("seed", "seconds", "commit", "verdict", "why"), (
        (run["seed"], run["seconds"], f"`{run.get('commit', '')}`", run["verdict"],
         "; ".join([*(f"{name}: {count}" for name, count in (run.get("violations") or {}).items()),
                    *(run.get("void") or []), *(run.get("failed") or [])]) or "not known")
        for run in bad), {0, 1})


def killed(run):
    """How many of those that are not equivalent, as a part of 100."""
    judged = run["count"] - run.get("equivalent", 0)
    return f"{100 * run['killed'] / judged:.1f} %" if judged else "none"


def mutants(runs):
    if not runs:
        yield "No run is recorded."
        return
    yield from table(("mutants", "commit", "made", "killed", "equivalent", "killed of the others"), (
        (f"random, seed {run['seed']}" if "seed" in run else "named", f"`{run['commit']}`", run["count"], run["killed"],
         run.get("equivalent", ""), killed(run)) for run in runs), {2, 3, 4, 5})
    survived = [name for run in runs if "seed" not in run for name in run["survived"]]
    if survived:
        yield ""
        yield from paragraph("Named ones that survived: " + ", ".join(survived) + ".")


def last_of(runs, *fields):
    """The last line for each value of the fields."""
    return list({tuple(run[field] for field in fields): run for run in runs}.values())


def models(runs):
    runs = last_of(runs, "model", "what", "mutation")
    if not runs:
        yield "No run is recorded."
        return
    yield from paragraph(f"The last run of each property and of each mutation, of {commits(runs)}. A property must "
                         "hold, and a mutation must fail.")
    yield ""
    rows = []
    for model in sorted({run["model"] for run in runs}):
        own = [run for run in runs if run["model"] == model]
        properties = [run for run in own if not run["mutation"]]
        rows.append((model, *(f"{sum(run['good'] for run in part)} of {len(part)}"
                              for part in (properties, [run for run in own if run["mutation"]])),
                     number(int(max(run["states"] for run in own))), number(int(max(run["memory_mb"] for run in own))),
                     duration(sum(run["seconds"] for run in own))))
    yield from table(("model", "properties hold", "mutations fail", "most states", "most MB", "time"), rows,
                     {1, 2, 3, 4, 5})


def fuzzing(runs):
    if not runs:
        yield "No run is recorded."
        return
    yield from paragraph(f"All runs together: {duration(total(runs, 'seconds'))}, of {commits(runs)}.")
    yield ""
    rows = []
    for target in sorted({run["target"] for run in runs}):
        own = [run for run in runs if run["target"] == target]
        rows.append((target, duration(total(own, "seconds")), number(total(own, "inputs")),
                     sum(run["verdict"] != "ok" for run in own)))
    yield from table(("target", "time", "inputs", "runs that failed"), rows, {1, 2, 3})


# === Page and row =============================================================

class Record:
    def __init__(self, folder):
        self.chaos, self.models, self.fuzz, self.mutants = (
            lines_of(folder / f"{name}.jsonl") for name in ("chaos", "model", "fuzz", "mutants"))
        self.version = version.read(ROOT / "include/slotmq/core.h")

    def page(self):
        lines = [f"# Record of slotmq {self.version}"]
        for title, part in [("Runs under random faults", chaos(self.chaos)), ("Models", models(self.models)),
                            ("Fuzzing", fuzzing(self.fuzz)), ("Mutants", mutants(self.mutants))]:
            lines += ["", f"## {title}", "", *part]
        return "\n".join(lines) + "\n"

    def row(self):
        """The cells of the table of docs/TRACK-RECORD.md."""
        good = sum(run["verdict"] == "good" for run in self.chaos)
        of_models = last_of(self.models, "model", "what", "mutation")
        named = [run for run in self.mutants if "seed" not in run][-1:]
        random = [run for run in self.mutants if "seed" in run][-1:]
        cells = [self.version, f"{good} of {len(self.chaos)}", duration(total(self.chaos, "fault_ms") / 1000),
                 number(sum(sums(self.chaos, "faults").values())), number(total(self.chaos, "handled")),
                 number(total(self.chaos, "lost")),
                 f"{sum(run['good'] for run in of_models)} of {len(of_models)}",
                 duration(total(self.fuzz, "seconds")), *(killed(run[0]) if run else "-" for run in (named, random))]
        return "| " + " | ".join(cells) + " |"


def main():
    folder = pathlib.Path(sys.argv[1])
    record = Record(folder)
    if not (record.chaos or record.models or record.fuzz or record.mutants):
        sys.exit(f"track_record.py: {folder} has no runs: --record of chaos, model, fuzz, mutants and nightly keeps some")
    path = folder / f"slotmq-{record.version}-record.md"
    path.write_text(record.page())
    print(f"written: {path}\nthe row for docs/TRACK-RECORD.md:\n{record.row()}")


if __name__ == "__main__":
    main()
