#!/usr/bin/env python3
"""Print how many lines of code each feature has, most first.  usage: feature_lines.py [ROOT]

A file belongs to the first feature with a pattern that matches it; blank lines and comments are not
counted.  A file of no feature, a pattern that matches nothing, and a feature of more than 400 lines
that does not say why are errors.  What is a few lines in many files, such as a time to live, is
counted where it stands."""
import pathlib
import re
import sys

import findings

COUNTED = ["libsrc/**/*.[ch]", "coord/**/*.[ch]", "cli/**/*.[ch]", "serve/**/*.[ch]", "lua/**/*.lua", "include/slotmq/*.h*"]
MOST = 400
# feature, patterns, why it costs more than MOST
FEATURES = [
    ("slotmq serve", ["serve/*", "serve/*/*", "cli/http/*"], "HTTP in bounds of time and memory, roles, a stream of events, and jobs of hours"),
    ("slotmq doctor, check", ["cli/doctor/*"], "each finding has its facts, its words and its advice"),
    ("slotmq topic", ["cli/topic/*"], "seven verbs"),
    ("slotmq top, stat", ["cli/stat/*"], "tables, JSON and Prometheus of one reading"),
    ("slotmq fleet", ["cli/fleet/*"], "members, slots and what they wait for, as tables and as JSON"),
    ("slotmq consume", ["cli/consume/*"],
     "a program for each message, its time-out, its output and its answers"),
    ("slotmq dead, purge", ["cli/message/dead.c", "cli/message/[bp]u*", "cli/message/tally.*", "cli/verb/confirm.*", "cli/verb/progress.*"], "by a filter, at a rate, with progress, and stopped cleanly at any moment"),
    ("slotmq send, peek, copy: messages as JSON", ["cli/message/*"], "files of any size, restored in every detail"),
    ("configuration of the command", ["cli/verb/con*", "cli/verb/secrets.*", "cli/verb/completion.*"],
     "a file, contexts, secrets that no process list shows, and three shells that complete words"),
    ("the frame of the command", ["cli/*", "cli/text/*", "cli/verb/*"], "flags, help, tables, widths and exit codes of 30 verbs"),
    ("fleets: who owns which slot", ["coord/*", "coord/*/*", "libsrc/admin/fleet.c", "libsrc/admin/binding.*", "libsrc/admin/rebind.c",
     "libsrc/admin/fence.c", "libsrc/consume/consumer/assignment.c", "libsrc/consume/consumer/standby.c",
     "libsrc/consume/consumer/binding.c", "lua/takeover.lua", "lua/owner.lua", "lua/vacate.lua", "lua/slot_bind.lua"],
     "an election, tokens, drains and reachability over a ZooKeeper that may fail in each step; checked by models"),
    ("shared topics", ["libsrc/consume/slot/shared.*", "lua/lease.lua"], ""),
    ("pushes, wakes and sleep", ["libsrc/consume/slot/push.*", "libsrc/consume/slot/sleep.*", "lua/lib/push.lua", "lua/lib/wake.lua",
     "lua/lib/park.lua", "lua/lib/idle.lua"],
     "a sleeping owner is woken by one publish, and what is pushed is in Redis before"),
    ("keys one at a time, and fifo", ["libsrc/consume/run/keys.*", "libsrc/consume/run/run_queues.*", "libsrc/consume/run/scheduler.*",
     "lua/lib/claim*"], "busy, failing and resting keys hold up no other"),
    ("topics that expire", ["libsrc/core/disuse.*", "libsrc/admin/expire.c", "libsrc/store/expiring.c", "lua/expiring.lua"],
     "no server deletes them: every client marks what it uses, and takes its turn at looking and deleting"),
    ("groups", ["libsrc/admin/groups.c", "lua/send_groups.lua", "libsrc/*/*group*"], ""),
    ("rate limits", ["libsrc/consume/*/budget.*"], ""),
    ("topics: create, alter, pause, delete, repair", ["libsrc/admin/alter*", "libsrc/admin/create.c", "libsrc/admin/delete.c",
     "libsrc/admin/repair.c", "libsrc/admin/topic_change.*", "libsrc/admin/describe.c", "libsrc/admin/fanout.*", "lua/slot_*.lua",
     "lua/topic.lua", "libsrc/consume/slot/damage.*"], "each is completed by the same call, whatever failed midway in whatever slot"),
    ("messages: find, rank, edit, visit, purge", ["libsrc/admin/message.c", "libsrc/admin/bulk.c", "libsrc/admin/filter.*",
     "libsrc/admin/page.*", "libsrc/admin/scan.*", "libsrc/admin/visit.c", "libsrc/admin/slot_walk.*", "lua/edit.lua", "lua/find.lua",
     "lua/page.lua", "lua/rank.lua", "lua/inspect.lua", "lua/lib/walk.lua"], "over all slots, in pages, at a chosen rate"),
    ("statistics, metrics, health", ["libsrc/admin/*report*", "libsrc/admin/slot_stats.c", "libsrc/admin/sender.c",
     "libsrc/admin/server.c", "libsrc/*/*metrics*", "libsrc/*/*health*", "libsrc/consume/consumer/health.c",
     "include/slotmq/metrics.h", "include/slotmq/health.h"], "counters of a process, of topics and of servers"),
    ("hooks", ["libsrc/produce/send_hooks.*", "libsrc/consume/run/hooks.*", "include/slotmq/hooks.h"], ""),
    ("the rest of administration", ["libsrc/admin/*"], ""),
    ("sending", ["libsrc/produce/*", "lua/send.lua", "lua/lib/sent_before.lua", "lua/lib/place*.lua", "lua/lib/remember.lua"],
     "pipelines over slots, repeats that store once, and bounds for what is pending"),
    ("claiming, answering, leases, retries", ["libsrc/consume/*/*", "lua/consume*.lua", "lua/renew.lua", "lua/lib/*.lua"],
     "one call answers and claims, and each of its outcomes may be lost"),
    ("a client of Redis Cluster, with TLS and credentials", ["libsrc/redis/*"],
     "redirects, moving slots, failovers, pipelines in order; hiredis gives its codec only"),
    ("definitions, entries, encodings", ["libsrc/model/*", "libsrc/store/*", "lua/*"],
     "what Redis holds is read with suspicion, and written in one place"),
    ("the interface of C and C++", ["include/slotmq/*", "libsrc/client/*"], "each call checks what it is given, and says what is wrong"),
    ("threads, loop, memory, texts", ["libsrc/core/*", "libsrc/base/*"], "the ground of all others"),
]


def code(path):
    """How many lines have code."""
    text = path.read_text()
    text = re.sub(r"--(?!\[\[).*", "", text) if path.suffix == ".lua" else re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return sum(1 for line in text.splitlines() if line.strip())


def counted(root):
    """({feature: lines}, the errors)"""
    lines, found, used = {name: 0 for name, _, _ in FEATURES}, [], set()
    paths = sorted({path for pattern in COUNTED for path in root.glob(pattern)})
    for path in paths:
        relative = path.relative_to(root)
        match = next(((name, pattern) for name, patterns, _ in FEATURES for pattern in patterns if relative.match(pattern)), None)
        if match:
            used.add(match)
            lines[match[0]] += code(path)
        else:
            found.append(f"{relative} belongs to no feature of tools/feature_lines.py")
    for name, patterns, why in FEATURES:
        found += [f"{name}: no file is {pattern}" for pattern in patterns if (name, pattern) not in used]
        if lines[name] > MOST and not why:
            found.append(f"{name}: {lines[name]} lines, and no word why it costs more than {MOST}")
    return lines, found


def main():
    lines, found = counted(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    reasons = {name: why for name, _, why in FEATURES}
    for name, count in sorted(lines.items(), key=lambda item: -item[1]):
        print(f"{count:6,}  {name}" + (f": {reasons[name]}" if count > MOST else ""))
    print(f"{sum(lines.values()):6,}  in all")
    findings.end(found)


if __name__ == "__main__":
    main()
