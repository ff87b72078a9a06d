#!/usr/bin/env python3
"""Write docs/BENCHMARKS.md and its charts from the figures that ./dev bench has kept.  What was not
measured stays on the page as it is.  usage: figures.py FOLDER FILE"""
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

from chart import chart

HEAD = """# Benchmarks

`./dev bench` writes this page; do not edit it. Benchmarks ran at different times, and each section
says when. So compare the ratios: each is the median over runs that measured both sides one after
the other. [bench/README.md](../bench/README.md) says how to read them.

    ./dev bench                  # all, then this page; up to an hour and a half
    ./dev bench --resume         # continue where it was stopped
    ./dev bench steady --runs 3  # the goals of the default topic; --json for lines to compute with
    ./dev bench drain --page     # some of them, then their sections of this page
    ./dev bench --quick          # a first look: less of everything, nothing is kept

Redis and all other servers run on the first core, the program that sends and consumes on the
second. Bodies have 64 bytes. The default topic has format 5, in sections of days before 2026-11-30
format 4, which new topics have. Each run counts how many messages were sent, handled, lost,
duplicated and out of order; a run that lost a message is void. *Others* is the processor time of
all other processes, in percent of a core. Above about 20, read times as upper and speeds as lower
bounds.
"""

# What each figure that has a goal means.
WORDS = {
    "steady-1k-redis-cpu/streams": "default topic, 1,000 messages/s, one by one: Redis CPU per message ÷ Redis Streams; the limit is at "
                                   "least 1.2 x that of the two smallest scripts that could work",
    "steady-10k-p50": "10,000/s: lateness p50, from when a message is due to be sent until its handler begins, ms",
    "steady-10k-redis-cpu/streams": "10,000/s: Redis CPU per message ÷ Redis Streams",
    "steady-30k-p50": "30,000/s: lateness p50, ms",
    "steady-50k-p50": "50,000/s: lateness p50, ms",
    "steady-50k-redis-cpu/streams": "50,000/s: Redis CPU per message ÷ Redis Streams",
    "steady-100k-redis-cpu/streams": "100,000/s: Redis CPU per message ÷ Redis Streams",
    "steady-keys-30k-p50": "30,000/s, a key each: lateness p50, ms",
    "steady-keys-50k-p50": "50,000/s, a key each: lateness p50, ms",
    "steady-most": "the highest rate whose backlog does not grow within 10 s, messages/s",
    "steady-50%-p99": "50 % of that rate: lateness p99, ms",
    "steady-80%-p99": "80 % of that rate: lateness p99, ms",
    "drain/streams": "default topic: drain ÷ Redis Streams (XREADGROUP, XACK, XDEL of 100)",
    "drain-ids/streams": "the same with ids of the sender",
    "drain-retries/none": "default topic: drain with 5 % of messages retried ÷ without",
    "busy-most": "a process that spins has half of the core of Redis: the highest rate at which p50 stays below 10 ms, messages/s",
    "busy-most-batch": "messages of a send there",
    "stall-80%-back/streams": "80 % of the highest rate, after a standstill of Redis of 100 ms: time until p50 is back ÷ Redis Streams",
    "formats-dearest-5/4": "instructions of Redis a message, format 5 ÷ format 4: the largest of twenty forms of use",
    "formats-shared-5/4": "the same in a shared topic",
    "formats-celery-5/4": "the same in a topic of Celery",
    "memory-beside-body": "default topic: memory of a waiting message beside its body of 64 bytes, bytes",
    "memory-ids-beside-body": "the same with ids of the sender",
    "latency/blpop": "default topic: idle pick-up p50 ÷ BLPOP",
    "send-8-threads/1-thread": "default topic: blocking sends from 8 threads ÷ from 1",
    "send-inline/raw": "layout inline: asynchronous or batch send ÷ hand-written pipelined loop over the send script, batch 100; the limit is 3 % worse than version 0.1.0",
    "send-inline/zadd": "the same ÷ variadic ZADD, batch 100",
    "send-groups-2/none": "batch send to two groups, stored messages ÷ without groups, batch 100",
    "send-ids-inline/none": "Redis CPU of a request of one message: with send ids ÷ without (`no_repeat`)",
    "send-ids-keyed/none": "the same in layout keyed",
    "drain-inline/raw": "layout inline: drain ÷ hand-written loop over the consume script, batch 100; the limit is 3 % worse than version 0.1.0",
    "drain-inline/streams": "layout inline: drain ÷ Redis Streams; the limit is 3 % worse than version 0.1.0",
    "drain/bullmq": "drain ÷ BullMQ, concurrency 100",
    "drain-node/bullmq": "drain from Node.js ÷ BullMQ, concurrency 100",
    "drain-inline-cpu/raw": "layout inline: client CPU per message, drain ÷ raw loop",
    "raw/streams": "raw drain ÷ Redis Streams; beyond the limit, drain-inline/raw does not count",
    "latency-inline/raw": "layout inline: idle pick-up p50 ÷ hand-written wake and claim loop",
    "latency-inline/blpop": "layout inline: idle pick-up p50 ÷ BLPOP",
    "steady-inline-10k-p99": "layout inline, 10,000/s: lateness p99, ms",
    "steady-inline-10k-redis-cpu/streams": "layout inline, 10,000/s: Redis CPU per message ÷ Redis Streams",
    "steady-inline-50k-p50": "layout inline, 50,000/s: lateness p50, ms",
    "steady-inline-50k-p99": "layout inline, 50,000/s: lateness p99, ms",
    "lanes-1/64": "handlers of 1 ms on 8 threads: drain of one slot with 1,000 keys ÷ of 64 slots",
    "shared-1-now-scripts": "shared topic, 1 idle consumer: scripts that Redis runs for a message that is due",
    "shared-250-now-scripts": "250 idle consumers: the same",
    "shared-250-now-received": "250 idle consumers: how many of them hear of a message that is due",
    "shared-250-delayed-scripts": "250 idle consumers: scripts for a message that is delayed by 200 ms",
    "shared-250-retried-scripts": "250 idle consumers: scripts for a message that is retried once, so handled twice",
    "shared-250-retried-received": "250 idle consumers: how many of them hear of such a message",
    "shared-8-now-10000/s-p50": "shared topic, 8 consumers, 10,000/s: lateness p50, ms",
    "shared-idle-commands": "250 idle consumers of a shared topic: commands per second of all",
    "hot-keyed": "20,000 messages of one key in front of 20 other keys, handlers of 20 ms on 4 threads: "
                 "when the last of the 20 begins, s",
    "hot-inline": "the same in layout inline",
    "hot-fifo": "the same in a fifo topic",
    "hot-priority": "the same in a priority topic",
    "hot-group": "the same in a topic with a group",
    "hot-polled": "the same with a consumer that four threads poll",
    "drain-tls/plain": "drain over TLS ÷ without it",
    "drain-keyed/inline": "drain of bodies of 1 KiB, layout keyed ÷ inline",
    "memory-inline/zadd": "memory of a waiting message, layout inline ÷ bare ZADD; the limit is 3 % worse than version 0.1.0",
    "depth-10M/100k": "drain with 10^7 waiting messages ÷ with 10^5, 64 slots",
    "slots-4096/64": "drain of 4,096 slots ÷ 64",
    "nodes-3/1": "Redis CPU per message: 3 masters ÷ 1",
    "idle-commands": "commands per second of an idle process, 1,024 slots",
    "idle-cpu": "CPU of an idle process, 1,024 slots, %",
    "delayed-p99": "lateness p99 of 10^6 messages that are due evenly within 10 s, ms",
    "rebalance-join": "join of a 17th member: time until each of 1,024 slots has its owner, s",
    "rebalance-leave": "graceful leave: the same, s",
    "rebalance-pause-p99": "time that a moved slot has no owner, p99, ms",
    "fleet-250-cover": "start of 250 processes: time until 4,096 slots are shared out among all, s",
    "fleet-16-cover": "start of 16 processes: the same with 65,536 slots, s",
}


def first_line_of(*command):
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    return output.strip().split("\n")[0]


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    redis = re.search(r"v=(\S+)", first_line_of("redis-server", "--version"))
    lines = [
        f"- {cpu.group(1) if cpu else 'unknown CPU'}, {os.cpu_count()} cores, {memory:.0f} GiB; "
        f"Linux {os.uname().release.split('-')[0]}; {first_line_of('cc', '--version')}",
        f"- Redis {redis.group(1) if redis else '?'}, a cluster of one master, persistence off; "
        + ", ".join(f"{name} {first_line_of('pkg-config', '--modversion', name)}"
                    for name in ("hiredis", "libuv")),
    ]
    return [*lines, f"- node: {first_line_of('node', '--version') or 'not installed'}"]


def load(folder):
    benches = {}
    for path in sorted(folder.glob("*.json")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        benches[path.stem] = lines
    return benches


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def figures_of(lines):
    return [line for line in lines if "figure" in line]


def others_of(lines):
    return next((number(line["value"]) for line in lines if line.get("figure") == "others"), "?")


def value_of(line):
    """The median, and the number of runs that do not count."""
    runs = line.get("uncounted", 0)
    left_out = f"{line['why']} in {runs} run{'s' if runs > 1 else ''}" if runs else ""
    if line["value"] is None:
        return left_out
    return number(line["value"]) + (f" ({left_out})" if left_out else "")


def former(target):
    """The sections of the page as it is, and its rows of goals without their words."""
    page = target.read_text() if target.exists() else ""
    sections = {}
    for part in re.split(r"^(?=## [a-z])", page, flags=re.MULTILINE)[1:]:
        sections[part.split("\n")[0][3:]] = part.rstrip().split("\n")
    goals_of_page = page.partition("## Goals")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| ([^ ]+) \| [^|]* \| (.*)$", goals_of_page, re.MULTILINE))
    return sections, rows


def goals(benches, rows):
    yield "| figure | what | value | goal | limit | verdict |"
    yield "|---|---|---:|---:|---:|---|"
    found = {}
    for lines in benches.values():
        for line in figures_of(lines):
            found.setdefault(line["figure"], line)  # drain/streams: of drain, not that of peers
    for name, words in WORDS.items():
        line = found.get(name)
        if line is None:
            yield f"| {name} | {words} | {rows.get(name, 'not measured | | | |')}"
        else:
            yield (f"| {name} | {words} | {value_of(line)} | {number(line['goal'])} | "
                   f"{number(line['limit'])} | {line['verdict']} |")


def summary(lines):
    """What was measured, when, and the counts of its messages."""
    head, runs = lines[0], [line for line in lines if "run" in line]
    took = next((line["took_s"] for line in lines if "took_s" in line), None)
    about = head.get("about", "?")
    yield from textwrap.wrap(f"{about[:1].upper()}{about[1:]}.", 100)
    yield ""
    yield (f"{head.get('day', '?')}, slotmq {head.get('slotmq', '?')}"
           + (f", in {took:.0f} s" if took is not None else "")
           + f"; others took {others_of(lines)} % of a core.")
    if runs:
        total = {key: sum(run[key] for run in runs)
                 for key in ("sent", "handled", "lost", "duplicated", "out_of_order")}
        yield (f"All runs together: sent {total['sent']:,}, handled {total['handled']:,}, lost "
               f"{total['lost']:,}, duplicated {total['duplicated']:,}, out of order "
               f"{total['out_of_order']:,}.")


def details(name, lines):
    notes = [line["note"] for line in lines if "note" in line]
    yield f"## {name}"
    yield ""
    yield from summary(lines)
    yield ""
    if notes:
        for note in notes:
            yield from textwrap.wrap(f"- {note}", 100, subsequent_indent="  ")
        yield ""
    yield "| figure | median | unit | least | most | runs |"
    yield "|---|---:|---|---:|---:|---:|"
    for line in figures_of(lines):
        if line["figure"] != "others":
            least, most = (number(line[key]) if key in line else "" for key in ("min", "max"))
            yield (f"| {line['figure']} | {value_of(line)} | {line['unit']} | {least} | {most} | "
                   f"{line['runs']} |")


# === Charts ==================================================================

LINES = {"default topic": "steady", "a key each": "steady-keys", "layout inline": "steady-inline",
         "Redis Streams": "streams"}
CHARTS = {
    "steady-latency.svg": ("p50", "Latency p50, ms: from when a message is due until its handler begins"),
    "steady-redis-cpu.svg": ("redis-cpu", "Redis' CPU a message, us"),
}


def points(lines, start, word):
    found = {}
    for line in figures_of(lines):
        match = re.fullmatch(rf"{start}-(\d+)k-{word}", line["figure"])
        if match and line["value"]:
            found[1000 * int(match[1])] = line["value"]
    return found


def draw(lines, folder):
    """The charts of steady flow, if it was measured."""
    for name, (word, title) in CHARTS.items():
        series = {words: points(lines, start, word) for words, start in LINES.items()}
        if all(series.values()):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(chart(title, f"measured {lines[0].get('day', '?')}", series))


def pictures(folder):
    for name, (_, title) in CHARTS.items():
        if (folder / name).exists():
            yield from ("", f"![{title.partition(':')[0]}, over the rate]({folder.name}/{name})")


def main():
    folder, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    benches = load(folder)
    if not benches:
        sys.exit(f"{folder}: no figures are kept here")
    sections, rows = former(target)
    sections.update({name: [*details(name, lines)] for name, lines in benches.items()})
    draw(benches.get("steady", []), target.parent / "pictures")
    page = [HEAD.strip(), *pictures(target.parent / "pictures"), "", "## Machine", "", *machine(), "", "## Goals", "",
            *goals(benches, rows)]
    for name in sorted(sections):
        page += ["", *sections[name]]
    target.write_text("\n".join(page) + "\n")
    print(f"{target}: {len(benches)} benchmarks", file=sys.stderr)


main()
