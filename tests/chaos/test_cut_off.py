#!/usr/bin/env python3
"""Two workers of a fleet, and what happens to their slots when they do not reach Redis.
usage: test_cut_off.py BUILD-FOLDER

One worker is cut off from one master, then from all nodes, then both are, then both and one of them
returns.  Packets are lost on the way, as in a real network, while senders continue.  In the end the
checker of chaos runs judges all logs.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import chaos
import check
import servers
import ticks

chaos.WORKERS, chaos.SPARE = 2, 0
SLOTS = chaos.OWNED + ticks.SLOTS
WAIT_S = 120
# It says for how long a slot stood still; here all of them do for as long as Redis is away for all.
STOOD_STILL = "a slot has an owner again in time"


class Fleet:
    def __init__(self, world):
        self.world = world
        self.workers = world.fleet.workers

    def show(self):
        """By name of a member its state and its slots."""
        shown = json.loads(self.world.command("--json", "fleet", "show", "-z",
                                              self.world.ensemble.addresses))
        return {member["name"]: (member["state"], member["slots"]) for member in shown["members"]}

    def wait(self, what, **wanted):
        """Until each of these members has this state and this many slots; None: any number."""
        def is_so():
            shown = self.show()
            return all(name in shown and shown[name][0] == state
                       and slots in (None, shown[name][1]) for name, (state, slots) in wanted.items())
        servers.wait_until(is_so, WAIT_S, what)

    def lines(self, name):
        return (self.world.folder / f"worker-{name}.log").read_text().splitlines()

    def events(self, name, kind):
        return sum(1 for line in self.lines(name)
                   if line.startswith("event ") and line.split(" ")[2] == kind)

    def runs(self, name):
        return sum(1 for line in self.lines(name) if line.startswith("begin "))

    def gains(self):
        return sum(self.events(worker.host, "slot_gained") for worker in self.workers)

    def wait_runs(self, name, more):
        """Until handlers of the worker have begun this many messages from now on."""
        least = self.runs(name) + more
        servers.wait_until(lambda: self.runs(name) >= least, WAIT_S, f"{name} handles messages")

    def slots(self, name):
        """The slots that the worker has gained and not lost, in the order of its log."""
        owned = set()
        for line in self.lines(name):
            words = line.split(" ")
            if words[0] == "event" and words[2] in ("slot_gained", "slot_lost"):
                (owned.add if words[2] == "slot_gained" else owned.discard)((words[3], words[4]))
        return owned


class Cut:
    """Workers are cut off from some Redis nodes, both ways."""

    def __init__(self, world, name, workers, nodes):
        self.world, self.name = world, name
        self.pairs = [(worker.host, node.host) for worker in workers for node in nodes]

    def __enter__(self):
        self.world.note("begin", self.name)
        for worker, node in self.pairs:
            self.world.network.cut(worker, node)
            self.world.network.cut(node, worker)
        worker, node = self.pairs[0]
        assert not self.world.network.connects(worker, node, servers.REDIS_PORT), "it can connect"
        return self

    def heal(self, host=None):
        """For one worker, or for all that are still cut off."""
        for worker, node in list(self.pairs):
            if host in (None, worker):
                self.world.network.join(worker, node)
                self.world.network.join(node, worker)
                self.pairs.remove((worker, node))

    def __exit__(self, *_):
        self.heal()
        self.world.note("healed", self.name)


def is_shared(fleet, what):
    fleet.wait(what, w1=("active", SLOTS // 2), w2=("active", SLOTS // 2))


def partial_cut(world, fleet):
    """A cut from one master is an event, and no reason to move."""
    gains, lost = fleet.gains(), fleet.events("w1", "disconnected")
    with Cut(world, "partial", fleet.workers[:1], world.cluster.masters()[:1]):
        servers.wait_until(lambda: fleet.events("w1", "disconnected") > lost, WAIT_S,
                           "w1 says which node it lost")
        fleet.wait_runs("w1", 1000)
        fleet.wait_runs("w2", 1000)
        is_shared(fleet, "nothing moved")
    assert fleet.gains() == gains, "a slot moved because of one node"


def one_is_cut_off(world, fleet):
    """The other gets all slots, and gives back the same ones."""
    before = fleet.slots("w1")
    with Cut(world, "one", fleet.workers[:1], world.cluster.nodes):
        fleet.wait("w1 has no slots", w1=("unreachable", 0), w2=("active", SLOTS))
        fleet.wait_runs("w2", 500)
    is_shared(fleet, "w1 has slots again")
    fleet.wait_runs("w1", 100)
    servers.wait_until(lambda: fleet.slots("w1") == before, WAIT_S, "they are those that it had")


def all_are_cut_off(world, fleet):
    """Nothing moves."""
    gains = fleet.gains()
    with Cut(world, "all", fleet.workers, world.cluster.nodes):
        fleet.wait("both say so", w1=("unreachable", None), w2=("unreachable", None))
    is_shared(fleet, "both are well")
    fleet.wait_runs("w1", 100)
    fleet.wait_runs("w2", 100)
    assert fleet.gains() == gains, "a slot moved although Redis was away for all"


def one_returns_first(world, fleet):
    """It gets all slots, until the other returns too."""
    with Cut(world, "return", fleet.workers, world.cluster.nodes) as cut:
        fleet.wait("both say so", w1=("unreachable", None), w2=("unreachable", None))
        cut.heal("w2")
        fleet.wait("w2 has all slots", w1=("unreachable", 0), w2=("active", SLOTS))
        fleet.wait_runs("w2", 500)
    is_shared(fleet, "w1 has slots again")


def run(folder, programs):
    world = chaos.World(folder, programs)
    fleet = Fleet(world)
    try:
        world.start()
        (folder / "run.json").write_text(json.dumps(
            {"seed": 0, "seconds": 0, "schedules": ticks.SCHEDULES, "topics": chaos.SLOTS, "strict": chaos.STRICT,
             "replicated": chaos.REPLICATED, "shared": chaos.SHARED,
             "push_slots": world.push_slots,
             "zk_losses": world.zk_losses,
             "wall_minus_monotonic_ns": time.time_ns() - time.monotonic_ns()}))
        is_shared(fleet, "both have their share")
        world.note("faults-begin")
        for part in (partial_cut, one_is_cut_off, all_are_cut_off, one_returns_first):
            begin = time.monotonic()
            part(world, fleet)
            print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
        world.note("faults-end")
        world.heal()
        world.drain()
        world.final()
    finally:
        world.stop()
    return world.failed


def run_here(programs, folder):
    failed = run(folder, programs)
    verdict = check.judge(folder)
    verdict.void.clear()  # how much a run of random faults must show
    verdict.violations.pop(STOOD_STILL, None)
    print(verdict.text(), flush=True)
    return not failed and verdict.good()


def main():
    programs = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        return run_here(programs, pathlib.Path(sys.argv[2]))
    folder = tempfile.mkdtemp(prefix="slotmq-cut-off-")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *user, "--net", "--mount", "--pid", "--mount-proc", "--fork",
             "--kill-child", sys.executable, __file__, str(programs), folder]
    good = subprocess.run(words, check=False).returncode == 0
    if good:
        shutil.rmtree(folder)
    else:
        print(f"the logs are in {folder}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
