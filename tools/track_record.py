#!/usr/bin/env python3
"""Write docs/TRACK-RECORD.md from what tests have recorded, or check it.
usage: track_record.py [--write] [ROOT]

The inputs are below tests/: record/chaos.jsonl, record/model.jsonl and record/fuzz.jsonl have a line
of JSON for each run; mutants/score.json has the scores of mutants, and mutants/named.py those that
there are; record/bugs.txt lists bugs by hand, and record/runs.txt what runs that were not good have
shown.  A part without input says so on the page.  Without --write it is checked that the page is that
of its inputs, that each commit of a bug or a fix is in the history, that each named test exists, and
that each run of runs.txt is one that was not good.
"""
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import textwrap

import findings

PAGE = "docs/TRACK-RECORD.md"
HEAD = """# Track record

This page says how much slotmq has been tested beyond its suites of tests, and what that has found.
`./dev record` writes it from files in `tests/record` and `tests/mutants`; do not edit it. Each file
grows by one option:

    ./dev chaos --runs 20 --record tests/record/chaos.jsonl    # tests/chaos/README.md
    ./dev model --record tests/record/model.jsonl              # coord/model/README.md
    ./dev fuzz --seconds 600 --record tests/record/fuzz.jsonl

Runs of all commits count, and bad runs stay in the files. A commit with a `+` was changed when the
run was made.
"""


# === Inputs ===================================================================

def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def cells_of(path):
    """The cells of each line of a table by hand: (commit, found by, test, what) of a bug, (seed, commit,
    fix, what it was) of a run; a line that is none of these has another length."""
    text = path.read_text() if path.exists() else ""
    return [tuple(cell.strip() for cell in line.split("|"))
            for line in text.splitlines() if line.strip() and not line.startswith("#")]


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


def chaos(runs, explained):
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
    yield from chaos_bad(runs, explained)


def what_it_was(run, explained):
    for seed, commit, fix, text in explained:
        if (seed, commit) == (str(run["seed"]), run.get("commit", "")):
            return f"{text}; `{fix}`" if fix else text
    return "not known yet"


def chaos_bad(runs, explained):
    """The runs that were not good, why, and what it was."""
    bad = [run for run in runs if run["verdict"] != "good"]
    if not bad:
        return
    yield ""
    yield "Runs that were not good:"
    yield ""
    yield from table(("seed", "seconds", "commit", "verdict", "why", "what it was, and the commit that changed it"), (
        (run["seed"], run["seconds"], f"`{run.get('commit', '')}`", run["verdict"],
         "; ".join([*(f"{name}: {count}" for name, count in (run.get("violations") or {}).items()),
                    *(run.get("void") or []), *(run.get("failed") or [])]) or "not known", what_it_was(run, explained))
        for run in bad), {0, 1})


def mutants(score, made):
    """`made`: how many named ones there are."""
    if not score:
        yield "No score is recorded."
        return
    named, random = score.get("named"), score.get("random") or []
    rows = []
    if named:
        rows.append(("named", named["commit"], named["count"], named["killed"], "",
                     f"{100 * named['killed'] / named['count']:.1f} %"))
    rows += [(f"random, seed {run['seed']}", run["commit"], run["count"], run["killed"], run["equivalent"],
              f"{run['percent']} %") for run in random]
    yield from table(("mutants", "commit", "made", "killed", "equivalent", "killed of the others"), rows, {2, 3, 4, 5})
    if named and made:
        yield ""
        yield from paragraph(f"Today there are {made} named ones; {named['count']} of them were there when the score "
                             f"was made, on {named['date']}, at `{named['commit']}`.")
    survived = (named or {}).get("survived") or []
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


def bugs(found):
    yield from paragraph("Bugs of slotmq that tests found before a user did, with the commit that fixed each, and the "
                         "test below `tests/` that fails without it.")
    yield ""
    yield from table(("commit", "found by", "what a user saw", "test"),
                     ((f"`{commit}`", by, what, f"`{test}`") for commit, by, test, what in found))


def page(root):
    record = root / "tests" / "record"
    score = root / "tests" / "mutants" / "score.json"
    made = sum(len(re.findall(r"^    (?:Patch|Mistake)\(", named.read_text(), re.MULTILINE))
               for named in (root / "tests" / "mutants").glob("named*.py"))
    parts = {
        "Runs under random faults": chaos(lines_of(record / "chaos.jsonl"), cells_of(record / "runs.txt")),
        "Mutants": mutants(json.loads(score.read_text()) if score.exists() else None, made),
        "Models": models(lines_of(record / "model.jsonl")),
        "Fuzzing": fuzzing(lines_of(record / "fuzz.jsonl")),
        "Bugs that were found": bugs(cells_of(record / "bugs.txt")),
    }
    lines = [HEAD.strip()]
    for title, part in parts.items():
        lines += ["", f"## {title}", "", *part]
    return "\n".join(lines) + "\n"


# === Checks ===================================================================

def git(root, *arguments):
    """What git prints; None: it fails, or is not there."""
    try:
        found = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def has_history(root):
    """A release has none, and a shallow clone only a part."""
    return git(root, "rev-parse", "--is-shallow-repository") == "false" and (root / ".git").exists()


def wrong_bug(root, bug, history):
    if len(bug) != 4 or not all(bug):
        yield "is not COMMIT | found by | TEST | what"
        return
    commit, _, test, _ = bug
    name, _, function = test.partition(":")
    path = root / "tests" / name
    if not path.is_file():
        yield f"there is no tests/{name}"
    elif function and not re.search(rf"\b{re.escape(function)}\b", path.read_text()):
        yield f"tests/{name} has no {function}"
    if history and git(root, "merge-base", "--is-ancestor", commit, "HEAD") is None:
        yield f"no commit {commit} is in the history"


def wrong_run(root, run, history):
    if len(run) != 4 or not all(run[:2]) or not run[3]:
        yield "is not SEED | COMMIT | FIX | what it was"
        return
    seed, commit, fix, _ = run
    if not any((str(found["seed"]), found.get("commit", "")) == (seed, commit) and found["verdict"] != "good"
               for found in lines_of(root / "tests/record/chaos.jsonl")):
        yield "there is no such run that was not good"
    if fix and history and git(root, "merge-base", "--is-ancestor", fix, "HEAD") is None:
        yield f"no commit {fix} is in the history"


def wrong(root):
    history = has_history(root)
    found = [f"tests/record/{name}: {' | '.join(cells)}: {text}"
             for name, wrong_cells in (("bugs.txt", wrong_bug), ("runs.txt", wrong_run))
             for cells in cells_of(root / "tests/record" / name) for text in wrong_cells(root, cells, history)]
    if found:
        yield from found
        return
    path = root / PAGE
    if not path.exists() or path.read_text() != page(root):
        yield f"{PAGE} is not what its inputs say: ./dev record writes it"


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    root = pathlib.Path(next((word for word in arguments if word != "--write"), "."))
    if write:
        (root / PAGE).write_text(page(root))
    findings.end(wrong(root))


if __name__ == "__main__":
    main()
