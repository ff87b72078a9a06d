#!/usr/bin/env python3
"""Write docs/BENCHMARKS.md from the figures that ./dev bench has kept.  usage: figures.py FOLDER FILE"""
import json
import os
import pathlib
import re
import subprocess
import sys

HEAD = """# Benchmarks

Written by `./dev bench`; do not edit. Figures of different benchmarks come from different minutes, and of one machine: compare the ratios,
each of which is the median over runs in which both sides were measured one after the other. [bench/README.md](../bench/README.md) says
how to read them.

    ./dev bench                  # all, then this page; up to an hour
    ./dev bench --resume         # go on where it was stopped
    ./dev bench drain send       # some of them, without this page; --json for lines to compute with
    ./dev bench --quick          # a first look: less of everything, nothing is kept

Redis, and every other server, runs on the first core, what sends and consumes on the second. Bodies have 64 bytes. Each run counts what
was sent, handled, lost, duplicated and out of order; a run that lost anything is void. *Others* is what everybody else took of the
machine meanwhile, in percent of a core: over 20 or so, take the figures for an upper bound of time and a lower bound of speed.
"""

# What stands in the table of ratios that are aimed at.
WORDS = {
    "send/raw": "send, async or in batches ÷ hand-written pipelined loop of the send script, batch 100",
    "send/zadd": "the same ÷ variadic ZADD, batch 100",
    "send-8-threads/1-thread": "blocking sends from 8 threads ÷ from 1",
    "drain/raw": "drain ÷ hand-written loop of the consume script, batch 100",
    "drain/streams": "drain ÷ Redis Streams (XREADGROUP, XACK, XDEL of 100)",
    "drain/bullmq": "drain ÷ BullMQ, concurrency 100",
    "drain/beanstalkd": "drain ÷ beanstalkd",
    "drain/rabbitmq": "drain ÷ RabbitMQ",
    "drain-cpu/raw": "client CPU a message, drain ÷ raw loop",
    "raw/streams": "raw drain ÷ Redis Streams: what the raw loop must reach to count",
    "latency/raw": "idle pick-up p50 ÷ hand-written wake and claim loop",
    "latency/blpop": "idle pick-up p50 ÷ BLPOP",
    "memory/zadd": "bytes of a waiting message ÷ bare ZADD",
    "depth-10M/100k": "drain where 10^7 wait ÷ where 10^5 wait, 64 slots",
    "slots-4096/64": "drain of 4,096 slots ÷ of 64",
    "nodes-3/1": "Redis CPU a message with 3 masters ÷ with 1",
    "idle-commands": "commands a second of an idle process, 1,024 slots",
    "idle-cpu": "CPU of an idle process, 1,024 slots, %",
    "delayed-p99": "lateness p99 of 10^6 messages due evenly within 10 s, which one master can follow, ms",
    "rebalance-join": "join of a 17th member, 1,024 slots: coverage complete, s",
    "rebalance-leave": "graceful leave: coverage complete, s",
    "rebalance-pause-p99": "pause of a moved slot p99, ms",
}


def said(*command):
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
    return output.strip().split("\n")[0]


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    redis = re.search(r"v=(\S+)", said("redis-server", "--version"))
    lines = [
        f"- {cpu.group(1) if cpu else 'unknown CPU'}, {os.cpu_count()} cores, {memory:.0f} GiB; "
        f"Linux {os.uname().release.split('-')[0]}; {said('cc', '--version')}",
        f"- Redis {redis.group(1) if redis else '?'}, a cluster of one master, persistence off; "
        + ", ".join(f"{name} {said('pkg-config', '--modversion', name)}"
                    for name in ("hiredis", "libuv")),
    ]
    peers = {"beanstalkd": said("beanstalkd", "-v"), "node": said("node", "--version"),
             "rabbitmq": said("dpkg-query", "-W", "-f", "${Version}", "rabbitmq-server")}
    lines.append("- " + ", ".join(f"{name}: {version or 'not here'}"
                                  for name, version in peers.items()))
    return lines


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
    """The median, and how many runs do not count."""
    runs = line.get("uncounted", 0)
    left_out = f"{line['why']} in {runs} run{'s' if runs > 1 else ''}" if runs else ""
    if line["value"] is None:
        return left_out
    return number(line["value"]) + (f" ({left_out})" if left_out else "")


def goals(benches):
    yield "| figure | what | value | goal | not beyond | |"
    yield "|---|---|---:|---:|---:|---|"
    found = {}
    for lines in benches.values():
        for line in figures_of(lines):
            found.setdefault(line["figure"], line)  # drain/streams: of drain, not that of peers
    for name, words in WORDS.items():
        line = found.get(name)
        if line is None:
            yield f"| {name} | {words} | not measured | | | |"
        else:
            yield (f"| {name} | {words} | {value_of(line)} | {number(line['goal'])} | "
                   f"{number(line['limit'])} | {line['verdict']} |")


def summary(lines):
    """A few sentences: what, when, and what became of the messages."""
    head, runs = lines[0], [line for line in lines if "run" in line]
    took = next((line["took_s"] for line in lines if "took_s" in line), None)
    yield f"{head.get('about', '?')[:1].upper()}{head.get('about', '?')[1:]}."
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
        yield from (f"- {note}" for note in notes)
        yield ""
    yield "| figure | median | | least | most | runs |"
    yield "|---|---:|---|---:|---:|---:|"
    for line in figures_of(lines):
        if line["figure"] != "others":
            least, most = (number(line[key]) if key in line else "" for key in ("min", "max"))
            yield (f"| {line['figure']} | {value_of(line)} | {line['unit']} | {least} | {most} | "
                   f"{line['runs']} |")


def main():
    folder, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    benches = load(folder)
    if not benches:
        sys.exit(f"{folder}: no figures are kept here")
    page = [HEAD.strip(), "", "## Machine", "", *machine(), "", "## What is aimed at", "",
            *goals(benches)]
    for name, lines in benches.items():
        page += ["", *details(name, lines)]
    target.write_text("\n".join(page) + "\n")
    print(f"{target}: {len(benches)} benchmarks", file=sys.stderr)


main()
