#!/usr/bin/env python3
"""Check the models of coordination with spin.  usage: run.py [--short | --long] [NAME...]

Every property must hold, and every mutation must fail: one that spin does not find is an error.
With a NAME only runs whose names contain it; --short: what continuous integration runs, in less
than a minute; --long: larger bounds, which take minutes, too.  README.md says what is modelled, and
how long each run took.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
AT_ONCE = 2
MEMORY_MB = 4000
DEPTH = 1_000_000
SECONDS = 900  # until a run counts as hanging; README.md has what they take
LONG_SECONDS = 7200


@dataclasses.dataclass(frozen=True)
class Run:
    """One call of spin: a model with its bounds, what is looked at, and what must come of it."""
    model: str
    what: str
    bounds: str = ""
    claim: str = ""     # a formula of the model; without one its assertions
    mutation: str = ""  # then it must fail
    short: bool = False
    long: bool = False

    @property
    def name(self):
        return f"{self.model}: {self.what}" + (f" ({self.mutation})" if self.mutation else "")

    @property
    def defines(self):
        return [f"-D{word}" for word in [*self.bounds.split(), self.mutation] if word]


CLEAN = "EXPIRIES=0 LATE=0"
ONE = "ASSIGNERS=1 LOSSES=0"
TWO = "ASSIGNERS=2 LOST=0 LATE=0"
SAME = "SAME_MASTER"
WIPED = "WIPED HOST_DIES MOVES=0"

RUNS = [
    Run("handover", "one slot moves, no faults", f"{CLEAN} MOVES=1 SUCCESSORS=0", short=True),
    Run("handover", "slots move, no faults", f"{CLEAN} MOVES=2"),
    Run("handover", "slots move, with faults", "MOVES=1"),
    Run("handover", "each slot is owned in the end", "MOVES=1 CALLS=1 SUCCESSORS=0", "live"),
    Run("handover", "the acknowledgement is not waited for", "MOVES=1", mutation="SKIP_ACK"),
    Run("handover", "an older acknowledgement counts", f"{CLEAN} MOVES=2 SUCCESSORS=0",
        mutation="STALE_ACK"),
    Run("handover", "the assigner ignores held", "MOVES=1", mutation="HELD_IGNORED"),
    Run("handover", "the member forgets held", "MOVES=1", mutation="HELD_FORGOTTEN"),
    Run("handover", "no revocation", "MOVES=1", mutation="NO_REVOKING"),
    Run("handover", "tokens are not compared", "MOVES=1", mutation="NO_TOKEN", short=True),
    Run("handover", "a takeover is not compared", "MOVES=1", mutation="TAKEOVER_UNCHECKED"),
    Run("handover", "each member counts tokens", "MOVES=1", mutation="LOCAL_TOKEN"),
    Run("handover", "a grant is forgotten", "MOVES=1 CALLS=1 SUCCESSORS=0 EXPIRIES=0", "live",
        "NOT_ASKED_ANEW"),
    Run("writes", "lost answers, late requests", f"{ONE} LOST=2"),
    Run("writes", "late takeovers", f"{ONE} LATE_TAKEOVERS"),
    Run("writes", "two assigners", f"{TWO} MOVES=0", short=True),
    Run("writes", "two assigners and a move", TWO),
    Run("writes", "two assigners, lost answers", "ASSIGNERS=2 LATE=0 MOVES=0"),
    Run("writes", "owned in the end, lost answers", f"{ONE} LATE=0", "live"),
    Run("writes", "owned in the end, two assigners", f"{TWO} MOVES=0", "live"),
    Run("writes", "the epoch is not checked", f"{TWO} MOVES=0", mutation="NO_EPOCH", short=True),
    Run("writes", "the version is not checked", f"{ONE} LATE=0", mutation="NO_VERSION"),
    Run("stale", "servers lag behind", "MOVES=1"),
    Run("stale", "owned in the end", "MOVES=1", "live"),
    Run("stale", "no sync", "MOVES=1", mutation="NO_SYNC"),
    Run("stale", "a failed sync counts", "MOVES=1", mutation="FAILED_SYNC_COUNTS"),
    Run("names", "three processes, two of one name", "WITH_OTHER"),
    Run("names", "owned in the end", "", "live", short=True),
    Run("names", "members are known by their names", "WITH_OTHER", mutation="BY_NAME"),
    Run("names", "a living process is replaced", "", "live", "NO_PROOF"),
    Run("names", "a dead process keeps its name", "", "live", "NAME_KEPT"),
    Run("fence", "data lost, restored, newcomers", "NEWCOMERS", short=True),
    Run("fence", "owned in the end, by raise-fence", "NEWCOMERS", "live"),
    Run("fence", "owned in the end, by themselves", "NO_COPY NO_OPERATOR", "live", short=True),
    Run("fence", "the generation is ignored", "NEWCOMERS", "live", "GENERATION_IGNORED"),
    Run("fence", "raise-fence does not bind", "NEWCOMERS", "live", "NOT_BOUND"),
    Run("fence", "the root keeps its generation", "NO_COPY NO_OPERATOR", "live", "SAME_GENERATION"),
    Run("fence", "equal tokens of two names", "", mutation="NAME_UNCHECKED"),
    Run("fence", "equal tokens of one name", "", mutation="ONE_NAME"),
    Run("failover", "the last token is lost", short=True),
    Run("failover", "owned in the end", "", "live", short=True),
    Run("failover", "a smaller token is accepted", "", mutation="AT_LEAST"),
    Run("failover", "the window is not there", "", mutation="NO_WINDOW"),
    Run("failover", "the owner does not take over again", "", "live", "NOT_REWOUND"),
    Run("answers", "an idle slot is not worked on", "VERSIONS=12", "safe", short=True),
    Run("answers", "both threads agree in the end", "VERSIONS=12", "live", short=True),
    Run("answers", "an answer of an earlier grant counts", "", "safe", "TOKEN_IGNORED"),
    Run("identity", "to format 5 and back, a failover, a restore"),
    Run("identity", "to format 5 and back, a failover", "RESTORES=0 ANSWERS=2", short=True),
    Run("identity", "handled in the end", "RESTORES=0", "live"),
    Run("identity", "a repeat is not known", "RESTORES=0", mutation="NO_SEND_ID", short=True),
    Run("identity", "a request of another format is executed", "RESTORES=0", mutation="STAMP_IGNORED"),
    Run("identity", "format 4 is set early", "RESTORES=0", mutation="BACK_EARLY"),
    Run("identity", "what is divided stays whole", "RESTORES=0", mutation="DIVIDE_KEEPS"),
    Run("identity", "what is dead stays whole", "RESTORES=0", mutation="BURY_KEEPS"),
    Run("identity", "what is requeued stays dead", "RESTORES=0", mutation="REQUEUE_KEEPS"),
    Run("push", "a failover", "", "live", short=True),
    Run("push", "a failover, three messages", "MESSAGES=3", "live"),
    Run("push", "a failover, lost replies", "MESSAGES=3 LOSSES=1"),
    Run("push", "handled in the end, lost replies", "LOSSES=1", "live"),
    Run("push", "a failover, the slot is given up", "HANDOVERS=1", "live"),
    Run("push", "a failover, the owner is passed over", "HANDOVERS=2"),
    Run("push", "the slot moves, three messages", "MESSAGES=3 FAILOVERS=0 HANDOVERS=3"),
    Run("push", "the slot moves, lost replies", "LOSSES=1 FAILOVERS=0 HANDOVERS=3"),
    Run("push", "handled in the end, the slot moves", "FAILOVERS=0 HANDOVERS=3", "live"),
    Run("push", "any number is accepted", "", mutation="ANY_NUMBER", short=True),
    Run("push", "a push of another owner is accepted", "FAILOVERS=0 HANDOVERS=3",
        mutation="TOKEN_IGNORED"),
    Run("push", "published before it is claimed", "", mutation="PUBLISHED_FIRST"),
    Run("push", "what is known is begun again", "", mutation="KNOWN_AGAIN"),
    Run("push", "known by its number alone", "", "live", "KNOWN_BY_NUMBER"),
    Run("push", "a repeated call names a newer claim", "LOSSES=1", "live", "REPEATED_ANEW"),
    Run("push", "the newest push is not named", "", "live", "PUSH_NOT_NAMED"),
    Run("push", "a slot that stops stays open", "FAILOVERS=0 HANDOVERS=3",
        mutation="STOP_LEAVES_OPEN"),
    Run("push", "a slot stays open after a push", "", "live", "STAYS_OPEN"),
    Run("push", "no look after a subscription", "", "live", "NO_LOOK"),
    Run("wake", "two sleep, and one dies", "SLEEPERS=2", "live", short=True),
    Run("wake", "three sleep, and one dies", "", "live"),
    Run("wake", "one has died before, and one dies", "STALE=1", "live"),
    Run("wake", "one has no room, and one dies", "FULL=1", "live"),
    Run("wake", "what is due has one that looks", "DEATHS=0"),
    Run("wake", "one has no room", "FULL=1 DEATHS=0", "live"),
    Run("wake", "nobody looks when it dies", "", "live", "NO_BACKUP"),
    Run("wake", "a call that leaves some says that there is none", "FULL=1", "live", "CALL_CLEARS"),
    Run("wake", "who leaves it to another one sees to no backup", "FULL=1", "live", "BACKUP_ONCE"),
    Run("wake", "who has no room wakes nobody", "FULL=1 DEATHS=0", "live", "NOT_PASSED_ON"),
    Run("wake", "a wake that nobody hears counts", "STALE=1", "live", "UNHEARD_COUNTS"),
    Run("wake", "who has no room does not call", "FULL=1", "live", "FULL_KEEPS"),
    Run("wake", "nobody is told of a delayed message", "DEATHS=0", "", "NOT_TOLD"),
    Run("wake", "who reads after a wake does not look", "DEATHS=0", "", "BACKUP_ONLY_READS"),
    Run("tree", "a failover", SAME, short=True),
    Run("tree", "a failover, the slot is on another master", short=True),
    Run("tree", "owned in the end", f"{SAME} CALLS=1", "live", short=True),
    Run("tree", "two failovers", f"{SAME} LOADS=2"),
    Run("tree", "the assignment is written for another slot", f"{SAME} TOUCHES=2"),
    Run("tree", "two failovers, two moves, clocks ahead", f"{SAME} LOADS=2 MOVES=2 TICKS=1", long=True),
    Run("tree", "two failovers, one of the slot's master", "LOADS=2 SLOT_LOADS=1"),
    Run("tree", "two assigners, two moves", f"{SAME} MOVES=2 ASSIGNERS=2"),
    Run("tree", "one member is cut off", f"{SAME} CUTS=1"),
    Run("tree", "one member is cut off, the slot is on another master", "CUTS=1"),
    Run("tree", "one member is cut off, two failovers", f"{SAME} CUTS=1 LOADS=2 MOVES=0", long=True),
    Run("tree", "owned in the end, a member dies with the master", f"{SAME} HOST_DIES CALLS=1", "live"),
    Run("tree", "owned in the end, all is lost with a member", f"{WIPED} CALLS=1", "live"),
    Run("tree", "takeovers that are executed late", f"{SAME} MOVES=2 LATE_TAKEOVERS"),
    Run("tree", "both halves of a partition", f"{SAME} SPLITS=1 MOVES=0"),
    Run("tree", "an owner does not reach its slot in the grace", "UNREACHED=1 ASSIGNERS=2"),
    Run("tree", "the first start", f"{SAME} FIRST_START MOVES=0"),
    Run("tree", "the first start of a topic", f"{SAME} FIRST_TOPIC MOVES=0"),
    Run("tree", "the first start of a topic that is defined elsewhere", f"{SAME} FIRST_TOPIC TOPIC_APART MOVES=0"),
    Run("tree", "a part of the tree is evicted", "EVICTED"),
    Run("tree", "a reign is known by its server", SAME, mutation="BY_SERVER"),
    Run("tree", "a reign has no salt", f"{SAME} CUTS=1 LOADS=2 MOVES=0", mutation="NO_SALT"),
    Run("tree", "no grace", SAME, mutation="NO_GRACE"),
    Run("tree", "only those that the tree knows are waited for", SAME, mutation="GRACE_OF_THE_KNOWN", short=True),
    Run("tree", "another reign does not begin the grace anew", f"{SAME} LOADS=2", mutation="GRACE_GOES_ON"),
    Run("tree", "a slot is taken over in the grace", SAME, mutation="TAKES_IN_GRACE"),
    Run("tree", "a takeover that was begun before is not given up", SAME, mutation="ACQUIRING_KEPT"),
    Run("tree", "what was restored is applied in the grace", SAME, mutation="APPLIED_IN_GRACE"),
    Run("tree", "an owner whose token was lost gives up", SAME, mutation="GIVES_UP"),
    Run("tree", "sessions end in the grace", SAME, mutation="ENDS_IN_GRACE"),
    Run("tree", "who was forgotten enters anew", SAME, mutation="NO_RESUME"),
    Run("tree", "sessions are resumed after the grace", f"{SAME} CUTS=1", mutation="LATE_RESUME"),
    Run("tree", "nothing is adopted", SAME, mutation="NO_ADOPT"),
    Run("tree", "any of two claims is adopted", f"{SAME} CUTS=1", mutation="ANY_CLAIM"),
    Run("tree", "of two claims that of the newest member is adopted", f"{SAME} CUTS=1", mutation="NEWEST_MEMBER"),
    Run("tree", "of two claims that of the tree's word is adopted", f"{SAME} CUTS=1", mutation="TREES_WORD"),
    Run("tree", "what is adopted was read in the grace", SAME, mutation="ADOPTS_EARLY"),
    Run("tree", "what is drained is not stated", f"{SAME} MOVES=2", mutation="DRAINED_FORGOTTEN"),
    Run("tree", "acknowledgements of an older reign count", "UNREACHED=1 ASSIGNERS=2", mutation="APPLIED_KEPT"),
    Run("tree", "writes are checked by the number of writes", f"{SAME} ASSIGNERS=2", mutation="BY_VERSION"),
    Run("tree", "a jump of the clock ends sessions", f"{SAME} CUTS=1", mutation="CLOCK_JUMPS"),
    Run("tree", "numbers do not go above those of Redis", f"{WIPED} CALLS=1", "live", "NOT_RAISED"),
    Run("tree", "nothing is read without a hint", "CALLS=1", "live", "HINTS_ONLY"),
    Run("tree", "a part without the reign counts", "EVICTED", mutation="NO_STAMP"),
    Run("tree", "each slot without a token is new", f"{SAME} FIRST_START MOVES=0", mutation="ALWAYS_FIRST"),
    Run("tree", "a topic of an earlier life of its server is new", f"{SAME} FIRST_TOPIC MOVES=0", mutation="BORN_BEFORE"),
    Run("tree", "a topic is new in a reign after it was bound", f"{SAME} FIRST_TOPIC TOPIC_APART MOVES=0",
        mutation="REIGN_AFTER"),
    Run("tree", "an error of Redis ends the session", f"{SAME} CUTS=1", mutation="AWAY_ENDS"),
    Run("tree", "the assigner decides in the grace, too", f"{SAME} MOVES=2 MOVES_IN_GRACE", long=True),
    Run("tree", "an owner does not ask its slot", f"{SAME} CUTS=1 UNCONFIRMED", long=True),
    Run("tree", "reports of an earlier grace count", f"{SAME} LOADS=2 OLD_REPORTS", long=True),
    Run("tree", "nobody says what it has seen", f"{SAME} LOADS=2 NO_LARGEST", long=True),
    Run("handover", "two moves, the end of a session", "MOVES=2 LATE=0 SUCCESSORS=0", long=True),
    Run("handover", "two moves, time-outs", "MOVES=2 EXPIRIES=0 SUCCESSORS=0", long=True),
    Run("writes", "two assigners, time-outs", "ASSIGNERS=2 LOST=0", long=True),
    Run("writes", "two assigners, a late request each", "ASSIGNERS=2 LATE=0", long=True),
    Run("stale", "servers lag behind for longer", "MOVES=2 LATE=2", long=True),
    Run("names", "owned in the end, three processes", "WITH_OTHER", "live", long=True),
    Run("fence", "two disasters", "NEWCOMERS DISASTERS=2 CHANGES=2", long=True),
    Run("failover", "four failovers", "FAILOVERS=4 CALLS=12", long=True),
]


class Children:
    """The programs that run now, each in a group of its own, so that an interrupt ends them all."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.ended = False

    def call(self, command, folder, seconds):
        """(return code, output); None: it took too long.  Temporary files go into the folder too: a
        compiler that is ended does not remove its own."""
        with self.lock:
            if self.ended:
                raise InterruptedError
            child = subprocess.Popen(["nice", *command], cwd=folder, text=True, start_new_session=True,
                                     env={**os.environ, "TMPDIR": str(folder)},
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.running.add(child)
        try:
            output = child.communicate(timeout=seconds)[0]
            return child.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            self.end(child)

    def end(self, child):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        with self.lock:
            self.running.discard(child)

    def end_all(self):
        with self.lock:
            self.ended = True
            for child in self.running:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return float(found.group(1)) if found else None


@dataclasses.dataclass
class Verdict:
    run: Run
    good: bool
    text: str
    output: str = ""
    states: float = 0
    depth: float = 0
    memory: float = 0
    seconds: float = 0

    def line(self):
        return (f"{'ok    ' if self.good else 'FAILED'}  {self.text:20} {self.run.name:60} "
                f"{self.states:>12,.0f} states  depth {self.depth:>7,.0f}  {self.memory:>6,.0f} MB  "
                f"{self.seconds:>6.1f} s")

    def record(self, commit):
        return {"commit": commit, "model": self.run.model, "what": self.run.what, "mutation": self.run.mutation,
                "good": self.good, "verdict": self.text, "states": int(self.states), "depth": int(self.depth),
                "memory_mb": round(self.memory), "seconds": round(self.seconds, 1)}


def judge(run, output, seconds):
    """What the verifier printed, against what must come of the run."""
    errors = number(r"errors: (\d+)$", output)
    verdict = Verdict(run, False, "did not end well", output, seconds=seconds,
                      states=number(r"^\s*([\d.e+]+) states, stored", output) or 0,
                      depth=number(r"depth reached (\d+)", output) or 0,
                      memory=number(r"^\s*([\d.]+)\s+total actual memory usage", output) or 0)
    if errors is None:
        return verdict
    if errors > 0:
        verdict.text = "failed, as it must" if run.mutation else "is violated"
        verdict.good = bool(run.mutation)
    elif re.search(r"max search depth too small|Search not completed|out of memory", output):
        verdict.text = "is not decided"
    else:
        verdict.text = "is not found" if run.mutation else "holds"
        verdict.good = not run.mutation
    return verdict


def build(run, folder, children):
    """The verifier of a run; what was printed when there is none."""
    flags = ["-DNFAIR=4"] if run.claim else ["-DSAFETY", "-DNOCLAIM"]
    for command in (["spin", *run.defines, "-a", str(HERE / f"{run.model}.pml")],
                    ["cc", "-O1", "-w", *flags, "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"]):
        code, output = children.call(command, folder, SECONDS)
        if code != 0:
            return output or f"{command[0]} took too long"
    return None


def execute(run, children):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="slotmq-model-") as folder:
        wrong = build(run, folder, children)
        if wrong is not None:
            return Verdict(run, False, "is not built", wrong)
        flags = ["-a", "-f", "-N", run.claim] if run.claim else []
        code, output = children.call(["./pan", f"-m{DEPTH}", "-n", "-E", *flags], folder,
                                     LONG_SECONDS if run.long else SECONDS)
        if code is None:
            return Verdict(run, False, "took too long", seconds=time.monotonic() - begin)
        verdict = judge(run, output, time.monotonic() - begin)
        if verdict.text == "is violated":
            shown = children.call(["spin", *run.defines, "-k", f"{run.model}.pml.trail", "-t", "-p",
                                   str(HERE / f"{run.model}.pml")], folder, SECONDS)[1]
            verdict.output += "\n".join(shown.splitlines()[-200:])
        return verdict


def chosen(arguments):
    for run in RUNS:
        size = run.long if arguments.long else run.short if arguments.short else not run.long
        if size and (not arguments.names or any(name in run.name for name in arguments.names)):
            yield run


def interrupted(_signal, _frame):
    raise KeyboardInterrupt


def run_all(runs):
    """The verdicts, printed as they come."""
    children = Children()
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
    verdicts = []
    try:
        for future in concurrent.futures.as_completed([pool.submit(execute, run, children) for run in runs]):
            verdict = future.result()
            if not verdict.good:
                print(verdict.output)
            print(verdict.line(), flush=True)
            verdicts.append(verdict)
    finally:
        children.end_all()
        pool.shutdown(cancel_futures=True)
    return verdicts


def commit():
    """Of the tree that this file is in, with a + when it was changed; "" when that is not known."""
    if not shutil.which("git"):
        return ""
    found = subprocess.run(["git", "-C", HERE, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
                           check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return found.stdout.strip()


def record(path, verdicts):
    """Append a line of JSON for each run."""
    of = commit()
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(verdict.record(of)) + "\n" for verdict in verdicts)


def main():
    parser = argparse.ArgumentParser(prog="model", description=__doc__.split("\n", maxsplit=1)[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="what continuous integration runs")
    size.add_argument("--long", action="store_true", help="larger bounds")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only runs whose names contain it")
    parser.add_argument("--record", metavar="FILE", help="append a line of JSON for each run to this file")
    arguments = parser.parse_args()
    runs = list(chosen(arguments))
    if not runs:
        parser.error("no run has such a name")
    signal.signal(signal.SIGTERM, interrupted)
    begin = time.monotonic()
    try:
        verdicts = run_all(runs)
    except KeyboardInterrupt:
        sys.exit(130)
    if arguments.record:
        record(arguments.record, verdicts)
    bad = [verdict.run.name for verdict in verdicts if not verdict.good]
    print(f"{len(verdicts) - len(bad)} runs of models as they must be, {len(bad)} not, "
          f"{time.monotonic() - begin:.0f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
