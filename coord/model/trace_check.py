#!/usr/bin/env python3
"""Are recorded histories of coordination paths of the model?  usage: trace_check.py HISTORY... [--most N]

A HISTORY is a file of JSON lines; README.md says what each line is.  All files are one history, in the
order of their times.  Each slot is checked for itself: spin looks for a path of trace.pml with its
events.  --most: only the N slots with the most events.
"""
import argparse
import collections
import json
import pathlib
import re
import signal
import sys
import tempfile

import run

# The events by their names in a history, and in trace.pml.
EVENTS = {"granted": "GRANT", "taken": "TAKE", "revoked": "REVOKE", "released": "RELEASE", "refused": "REFUSE",
          "lost": "LOSE", "session_lost": "END", "cut": "CUT", "timed_out": "OUT"}
OF_SLOT = {"granted", "taken", "revoked", "released", "refused", "lost", "timed_out"}
WITH_TOKEN = {"granted", "taken"}
NO_STEP = {"session_lost", "cut", "timed_out"}  # they only say what may happen, or has
MEMBERS_MAX = 120
EVENTS_MAX = 30000


class BadHistory(Exception):
    pass


class Undecided(Exception):
    """The search did not come to an end."""


def read(paths):
    """The lines of all files by their times; equal ones stay in their order."""
    lines = []
    for path in paths:
        for number, text in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
            try:
                line = json.loads(text)
                good = isinstance(line["ts"], int) and line["what"] in EVENTS and isinstance(line["member"], str)
                good = good and (line["what"] not in OF_SLOT or isinstance(line["slot"], int))
                good = good and (line["what"] not in WITH_TOKEN or len(line["token"]) == 24)
            except (ValueError, KeyError, TypeError):
                good = False
            if not good:
                raise BadHistory(f"{path}:{number}: this is no event: {text}")
            lines.append(line)
    return sorted(lines, key=lambda line: line["ts"])


def who(line):
    return line["member"], line.get("incarnation", "")


def slots(lines):
    """Per topic and slot its lines, with those about the sessions of members that have a part in it."""
    members = collections.defaultdict(set)
    for line in lines:
        if line["what"] in OF_SLOT and line["what"] != "timed_out":
            members[line.get("topic", ""), line["slot"]].add(who(line))
    for (topic, slot), of_slot in sorted(members.items()):
        names = {name for name, _ in of_slot}
        yield topic, slot, [line for line in lines if
                            (line["what"] in OF_SLOT and (line.get("topic", ""), line["slot"]) == (topic, slot))
                            or (line["what"] == "session_lost" and who(line) in of_slot)
                            or (line["what"] == "cut" and line["member"] in names)]


def spread(lines, members):
    """Each line with the number of its member; the first cut of each incarnation of its name, if it is not over."""
    over = set()
    for line in lines:
        if line["what"] == "session_lost":
            over.add(who(line))
        if line["what"] == "cut":
            for number, member in enumerate(members):
                if member[0] == line["member"] and member not in over:
                    over.add(member)
                    yield line, number
        else:
            yield line, None if line["what"] == "timed_out" else members.index(who(line))


def array(name, kind, values):
    return f"{kind} {name}[{len(values)}] = {{ {', '.join(map(str, values))} }};"


def history(lines):
    """history.pml, and the line of each of its events."""
    members = list(dict.fromkeys(who(line) for line in lines if line["what"] not in NO_STEP))
    events = list(spread(lines, members))
    if len(members) > MEMBERS_MAX or len(events) > EVENTS_MAX:
        raise BadHistory(f"more than {MEMBERS_MAX} members or {EVENTS_MAX} events of one slot")
    tokens = sorted({line["token"] for line in lines if line["what"] in WITH_TOKEN})
    ranks, outs = [], 0
    for line, _ in events:
        outs += line["what"] == "timed_out"
        ranks.append(outs if line["what"] == "timed_out" else
                     1 + tokens.index(line["token"]) if line["what"] in WITH_TOKEN else 0)
    cut = {member for line, member in events if line["what"] == "cut"}
    ends = [member not in cut and any(line["what"] == "session_lost" and who(line) == name for line in lines)
            for member, name in enumerate(members)]
    following, to_come = [len(events)] * len(events), [len(events)] * len(members)
    for index in reversed(range(len(events))):
        line, member = events[index]
        if line["what"] not in NO_STEP:
            following[index], to_come[member] = to_come[member], index
    numbers = range(len(members))
    text = [f"#define MEMBERS {max(2, len(members))}", f"#define EVENTS {len(events)}", f"#define TIMED_OUT {outs}",
            *(f"#define {name} {value}" for value, name in enumerate(EVENTS.values(), 1)),
            "#define MORE_MEMBERS " + " ".join(
                f":: next == NONE && MAY_GRANT({m}) -> next = GRANTED({m})" for m in numbers[2:]),
            "#define ALL_MEMBERS " + " ".join(f"MEMBER_STEPS({m})" for m in numbers),
            array("what", "hidden byte", [*(1 + list(EVENTS).index(line["what"]) for line, _ in events), 0]),
            array("who", "hidden byte", [*(member or 0 for _, member in events), 0]),
            array("rank", "hidden short", [*ranks, 0]),
            array("following", "hidden short", [*following, len(events)]),
            array("may_end", "bool", [*map(int, ends), *[0] * (2 - len(members))]),
            array("to_come", "short", to_come + [len(events)] * (2 - len(members)))]
    return "\n".join(text) + "\n", [line for line, _ in events]


def check(lines, children):
    """None: the lines are a path.  Else why not, as text."""
    text, events = history(lines)
    with tempfile.TemporaryDirectory(prefix="slotmq-trace-") as folder:
        (pathlib.Path(folder) / "history.pml").write_text(text)
        for part in ("trace", "fleet", "redis", "assigner"):
            (pathlib.Path(folder) / f"{part}.pml").write_text((run.HERE / f"{part}.pml").read_text())
        for command in (["spin", "-a", "trace.pml"],
                        ["cc", "-O0", "-w", "-DSAFETY", "-DNOCLAIM", "-DCOLLAPSE", f"-DMEMLIM={run.MEMORY_MB}",
                         "-o", "pan", "pan.c"]):
            code, output = children.call(command, folder, run.SECONDS)
            if code != 0:
                raise Undecided(output or f"{command[0]} took too long")
        output = children.call(["./pan", f"-m{run.DEPTH}", "-n", "-E"], folder, run.SECONDS)[1]
    errors = run.number(r"errors: (\d+)$", output)
    if errors is None or (errors == 0 and re.search("max search depth too small|Search not completed", output)):
        raise Undecided(f"the search did not end well\n{output}")
    if errors > 0:
        return None
    passed = max([0, *map(int, re.findall(r"^passed (\d+)$", output, re.MULTILINE))])
    return (f"this is no path of the model: line {passed + 1} of {len(events)} cannot follow\n    " +
            "\n    ".join(json.dumps(line) for line in events[max(0, passed - 8):passed + 1]))


def check_all(lines, most):
    """How many slots were checked, and how many of them are no paths; these are printed."""
    children = run.Children()
    of_slots = sorted(slots(lines), key=lambda found: -len(found[2]))[:most]
    bad = 0
    try:
        for topic, slot, found in of_slots:
            try:
                why = check(found, children)
            except Undecided as error:
                why = str(error)
            print(f"{'ok    ' if why is None else 'FAILED'}  topic {topic or '-'} slot {slot}: {len(found)} lines",
                  flush=True)
            if why is not None:
                bad += 1
                print(f"    {why}", flush=True)
    finally:
        children.end_all()
    return len(of_slots), bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", metavar="HISTORY")
    parser.add_argument("--most", type=int, metavar="N", help="only the N slots with the most events")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, run.interrupted)
    try:
        count, bad = check_all(read(arguments.files), arguments.most)
    except BadHistory as error:
        sys.exit(f"trace_check: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"{count} slots checked, {bad} of them are no paths of the model")
    sys.exit(1 if bad or count == 0 else 0)


if __name__ == "__main__":
    main()
