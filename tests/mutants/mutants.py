#!/usr/bin/env python3
"""Change the code in one place, and see whether a test or a chaos run notices.

usage: ./dev mutants [--named] [--count N] [--seed N] [--resume] [--list] [NAME...]; --help has more

A mutant is killed when a test fails that passes without it, or when the checker of a chaos run
names the broken invariant.  README.md says how they are made and judged.
"""
import argparse
import dataclasses
import datetime
import importlib
import itertools
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import coverage_map  # noqa: E402 (beside this file)
import generate  # noqa: E402
import named  # noqa: E402
import tree as trees  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = trees.FOLDER / "results"
EQUIVALENT = HERE / "equivalent.json"

SECONDS = 90          # for one random mutant, with its build
HANGS_S, HANGS = 20, 8  # a test hangs after this time, and this many times what it takes
NAMED_S, NAMED_HANGS_S, HISTORY_S = 600, 300, 300
LOCKSTEP_S = 3600     # for all mistakes in scripts
LOCKSTEP = "lua_mutants"
BUILD_S = 3600        # for all programs
FIRST_TESTS = 4       # are built and run together; then twice as many, and so on
CHAOS = ["tests/chaos/chaos-worker", "tests/chaos/chaos-sender", "cli/slotmq"]
PYTHON = "/usr/bin/python3"  # Debian's own, because the packages that chaos runs use are


@dataclasses.dataclass
class Result:
    """What became of a mutant.  `verdict`: killed, survived, equivalent or "not built"."""
    name: str
    verdict: str
    by: str = ""      # the test or the invariant; of an equivalent one the reason
    shown: str = ""   # the end of what the test printed
    seconds: float = 0
    file: str = ""
    line: int = 0
    operator: str = ""
    before: str = ""
    after: str = ""

    def text(self):
        where = f"{self.file}:{self.line}" if self.line else self.name
        what = f"  {self.before.strip()}  ->  {self.after.strip()}" if self.line else ""
        return f"{self.verdict:10} {self.seconds:4.0f} s  {where}{what}\n" \
               f"                   {self.name}: {self.by}"


def tail(output, lines=6):
    """The lines of a failed test that say why."""
    told = [line for line in output.splitlines()
            if re.search(r"ERROR|error|assert|FAILED|failed|!=", line)] or output.splitlines()
    return "\n".join(line[:200] for line in told[:lines])


# --- by tests -----------------------------------------------------------------------------------


class Trial:
    """The tests that judge one mutant, until one of them fails."""

    def __init__(self, tree, end):
        self.tree, self.end = tree, end
        self.killer, self.shown, self.ran = None, "", 0

    def run_one(self, name, usual):
        left = self.end - time.monotonic()
        if self.killer or left <= 0:
            return
        hangs = max(HANGS_S, HANGS * usual)
        try:
            code, output = self.tree.run_test(name, min(hangs, left))
        except trees.TakesTooLong:
            if hangs <= left and not self.killer:
                self.kill(name, f"it hangs: {hangs:.0f} s instead of {usual:.1f} s")
            return
        if code == 0:
            self.ran += 1
        elif not self.killer:
            self.kill(name, tail(output))

    def kill(self, name, shown):
        self.killer, self.shown = name, shown
        self.tree.programs.end_running()

    def run(self, tests, usual):
        """By groups that grow, so that little is linked for a mutant that dies soon."""
        at, many = 0, FIRST_TESTS
        while at < len(tests) and not self.killer and time.monotonic() < self.end:
            group = tests[at:at + many]
            at, many = at + many, many * 2
            targets = {target for name in group for target in self.tree.tests[name].targets}
            try:
                self.tree.make(sorted(targets), self.end - time.monotonic())
            except trees.TakesTooLong:
                return
            with trees.pool(self.tree.programs) as threads:
                list(threads.map(lambda name: self.run_one(name, usual(name)), group))


def object_of(tree, file, out):
    """What the compiler makes of a file of C when it optimizes; None if there is no such file."""
    commands = json.loads((tree.build / "compile_commands.json").read_text())
    for entry in commands:
        if entry["file"].endswith(f"../tree/{file}"):
            words = [word for word in entry["command"].split()
                     if not word.startswith(("-fsanitize", "-fno-sanitize", "--coverage", "-O"))
                     and word not in ("ccache", "-MD")]
            words[words.index("-o") + 1] = str(out)
            for option in ("-MQ", "-MF"):
                at = words.index(option)
                del words[at:at + 2]
            code, output = tree.programs.run([*words, "-O2", "-g0", "-DNDEBUG"], 120,
                                             cwd=entry["directory"])
            if code != 0:
                raise trees.NotBuilt(output)
            return out.read_bytes()
    return None


def same_code(tree, mutant, text):
    """Does the compiler make the same code of both?"""
    if not mutant.file.endswith(".c"):
        return False
    out = tree.folder / "object.o"
    before = object_of(tree, mutant.file, out)
    with tree.changed(mutant.file, text):
        after = object_of(tree, mutant.file, out)
    out.unlink(missing_ok=True)
    return before is not None and before == after


def known_equivalents():
    """(file, line, operator, nth) -> the reason."""
    return {(entry["file"], entry["line"], entry["operator"], entry.get("nth", 0)): entry["reason"]
            for entry in json.loads(EQUIVALENT.read_text())}


def mutated(tree, mutant):
    lines = (tree.copy / mutant.file).read_text(encoding="utf-8").split("\n")
    lines[mutant.line - 1] = mutant.after
    return "\n".join(lines)


def judge_random(tree, runs, mutant):
    """The result of one random mutant."""
    begin = time.monotonic()
    result = Result(mutant.name, "survived", file=mutant.file, line=mutant.line,
                    operator=mutant.operator, before=mutant.before, after=mutant.after)
    reason = known_equivalents().get((mutant.file, mutant.before.strip(), mutant.operator,
                                      mutant.nth))
    if reason is not None:
        result.verdict, result.by = "equivalent", reason
        return result
    tests = runs.of_line(tree, mutant.file, mutant.line)
    trial, text = Trial(tree, begin + SECONDS), mutated(tree, mutant)
    try:
        with tree.changed(mutant.file, text):
            trial.run(tests, runs.tests.__getitem__)
        if trial.killer:
            result.verdict, result.by, result.shown = "killed", trial.killer, trial.shown
        elif same_code(tree, mutant, text):
            result.verdict, result.by = "equivalent", "the compiler makes the same code of both"
        else:
            result.by = f"{trial.ran} of {len(tests)} tests that run this line passed"
    except trees.NotBuilt as error:
        result.verdict, result.by = "not built", tail(str(error), 1)
    result.seconds = round(time.monotonic() - begin, 1)
    return result


# --- named ones ---------------------------------------------------------------------------------


def seed_with(history):
    """The first seed whose series begin with the faults that the history needs, each for at least
    its seconds.  No server is asked: all kinds of faults are drawn, and a run leaves out those that
    its servers cannot do, so a series begins with the same fault with every server that can do it."""
    sys.path.insert(0, str(trees.ROOT / "tests/chaos"))
    faults = importlib.import_module("faults")
    for seed in itertools.count(1):
        for series, name, least_s in history.faults:
            kind, _, _, length = next(faults.drawn(history.seconds, seed, series))
            if kind.__name__ != name or length < least_s:
                break
        else:
            return seed


def by_history(tree, history):
    """The invariants that the checker of one chaos run names, and what it printed."""
    build = tree.folder / "chaos"
    tree.configure(build, [])
    tree.make(CHAOS, BUILD_S, build)  # the first time all of it
    try:
        _, output = tree.programs.run(
            [PYTHON, tree.copy / "tests/chaos/chaos.py", build, "--seed",
             seed_with(history), "--seconds", history.seconds],
            history.seconds + HISTORY_S)
    except trees.TakesTooLong:
        return [], "the run took too long"
    return re.findall(r"^VIOLATED: (.*): \d+ times$", output, re.MULTILINE), output


def judge_by_change(tree, patch, result, end):
    """One file is changed, and the tests or the chaos run of the patch judge it."""
    text = named.applied(patch, (tree.copy / patch.file).read_text(encoding="utf-8"))
    with tree.changed(patch.file, text):
        if patch.history is not None:
            found, output = by_history(tree, patch.history)
            result.by = f"history: {', '.join(found) or 'nothing'}"
            result.shown = "\n".join(output.splitlines()[-40:])
            if patch.history.invariant in found:
                result.verdict = "killed"
        else:
            trial = Trial(tree, end)
            trial.run(list(patch.tests), lambda name: NAMED_HANGS_S / HANGS)
            result.by, result.shown = trial.killer or "nothing", trial.shown
            result.verdict = "killed" if trial.killer else "survived"


def judge_by_lockstep(tree, mistakes):
    """The program of lockstep makes the mistakes itself, and has a test for each."""
    begin, test = time.monotonic(), tree.tests[LOCKSTEP]
    tree.make(test.targets, BUILD_S)
    try:
        _, output = tree.run_test(LOCKSTEP, LOCKSTEP_S,
                                  only=mistakes[0].name if len(mistakes) == 1 else None)
    except trees.TakesTooLong:
        output = "the calls took too long"
    seconds = round((time.monotonic() - begin) / len(mistakes), 1)
    for mistake in mistakes:
        killed = f"OK ] {mistake.name}\n" in output
        yield Result(mistake.name, "killed" if killed else "survived", LOCKSTEP,
                     "" if killed else tail(output), seconds, mistake.file)


def judge_patch(tree, patch):
    begin = time.monotonic()
    result = Result(patch.name, "survived", file=patch.file)
    try:
        judge_by_change(tree, patch, result, begin + NAMED_S)
    except trees.NotBuilt as error:
        result.verdict, result.by = "not built", tail(str(error), 1)
    result.seconds = round(time.monotonic() - begin, 1)
    return result


def judge_named(tree, mutants):
    """A result for each: first of patches, each of which is built, then of mistakes in scripts."""
    mistakes = [mutant for mutant in mutants if isinstance(mutant, named.Mistake)]
    for mutant in mutants:
        if mutant not in mistakes:
            yield judge_patch(tree, mutant)
    if mistakes:
        yield from judge_by_lockstep(tree, mistakes)


# --- runs ---------------------------------------------------------------------------------------


class Log:
    """The results of a run, a line each; the last one of a name counts."""

    def __init__(self, name, keep=""):
        """`keep`: "resume" keeps all that there are, "again" all that were not survived."""
        self.path, self.results = RESULTS / f"{name}.jsonl", {}
        RESULTS.mkdir(parents=True, exist_ok=True)
        if keep and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                result = Result(**json.loads(line))
                self.results[result.name] = result
        else:
            self.path.write_text("")
        if keep == "again":
            self.results = {name: result for name, result in self.results.items()
                            if result.verdict != "survived"}

    def add(self, result):
        self.results[result.name] = result
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(result)) + "\n")
        print(result.text(), flush=True)


def run_named(tree, patches, keep):
    log = Log("named", keep)
    for result in judge_named(tree, [one for one in patches if one.name not in log.results]):
        log.add(result)
    results = [log.results[patch.name] for patch in patches]
    killed = [result for result in results if result.verdict == "killed"]
    histories = sum(result.by.startswith("history") for result in killed)
    print(f"mutants: {len(killed)} of {len(results)} named ones killed, {histories} of them by "
          "histories alone")
    return {"count": len(results), "killed": len(killed), "by_histories": histories,
            "survived": [result.name for result in results if result.verdict != "killed"]}


def run_random(tree, runs, seed, count, keep):
    """`count` of them that can be built."""
    begin, log, judged = time.monotonic(), Log(f"seed-{seed}", keep), []
    for mutant in generate.shuffled(generate.of_tree(tree.copy), seed):
        if len(judged) == count:
            break
        if mutant.name not in log.results:
            log.add(judge_random(tree, runs, mutant))
        if log.results[mutant.name].verdict != "not built":
            judged.append(log.results[mutant.name])
    score = summary(judged)
    print(f"mutants: seed {seed}: {score['killed']} of {count} killed, {score['survived']} "
          f"survived, {score['equivalent']} are equivalent: {score['percent']} %, "
          f"{(time.monotonic() - begin) / 60:.0f} minutes")
    return {"seed": seed, **score}


def summary(results):
    counts = {verdict: sum(result.verdict == verdict for result in results)
              for verdict in ("killed", "survived", "equivalent")}
    judged = counts["killed"] + counts["survived"]
    return {"count": len(results), **counts,
            "percent": round(100 * counts["killed"] / judged, 1) if judged else 0.0}


def record(path, found):
    """Append the summary of a run to the file, as a line of JSON."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=trees.ROOT, check=True,
                            text=True, stdout=subprocess.PIPE).stdout.strip()
    found = {"date": datetime.date.today().isoformat(), "commit": commit, **found}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


def list_named():
    for patch in named.PATCHES:
        named.applied(patch, (trees.ROOT / patch.file).read_text(encoding="utf-8"))
        killer = f"history: {patch.history.invariant}" if patch.history else ", ".join(patch.tests)
        print(f"{patch.name:28} {patch.file}: {patch.why}\n{'':28} {killer}")
    for mistake in named.SCRIPTS:
        named.applied(mistake, mistake.text())
        print(f"{mistake.name}\n{'':28} {mistake.file}, lockstep")


def lines_run(tree, anew):
    """Which tests run which lines.  They are built here, so that no mutant has to pay for it."""
    tree.make(sorted({target for name in coverage_map.judges(tree)
                      for target in tree.tests[name].targets}), BUILD_S)
    return coverage_map.read(tree, anew)


def run_chosen(tree, options):
    """The named ones and the random ones that were asked for by name; true if all are killed."""
    patches = [patch for patch in named.NAMED if patch.name in options.names]
    others = [mutant for mutant in generate.of_tree(tree.copy) if mutant.name in options.names]
    unknown = set(options.names) - {one.name for one in [*patches, *others]}
    if unknown:
        raise SystemExit(f"mutants: there is no {', '.join(sorted(unknown))}")
    results = []
    for result in judge_named(tree, patches):
        results.append(result)
        Log("named", "resume").add(result)
    runs = lines_run(tree, options.map) if others else None
    for mutant in others:
        results.append(judge_random(tree, runs, mutant))
        print(f"{results[-1].text()}\n{results[-1].shown}", flush=True)
    return all(result.verdict == "killed" for result in results)


def run(options):
    """True if nothing survived."""
    tree = trees.Tree(trees.Programs())
    keep = "again" if options.again else "resume" if options.resume else ""
    tree.prepare()
    if options.names:
        return run_chosen(tree, options)
    if options.named:
        found = run_named(tree, named.NAMED, keep)
    else:
        runs = lines_run(tree, options.map)
        seed = options.seed if options.seed is not None else random.randrange(1 << 31)
        found = run_random(tree, runs, seed, options.count, keep)
    if options.record:
        record(options.record, found)
    return not found["survived"]


def parse():
    parser = argparse.ArgumentParser(prog="./dev mutants")
    parser.add_argument("--named", action="store_true", help="run those of named.py")
    parser.add_argument("--count", type=int, default=20, help="how many random ones; %(default)s")
    parser.add_argument("--seed", type=int, help="of the random ones; a random one")
    parser.add_argument("--resume", action="store_true",
                        help="keep the results that there are of this seed, or of the named ones")
    parser.add_argument("--again", action="store_true",
                        help="the same, but judge those that survived again")
    parser.add_argument("--record", metavar="FILE",
                        help="append the score to this file, as a line of JSON")
    parser.add_argument("--map", action="store_true",
                        help="find anew which tests run which lines, as after many changes")
    parser.add_argument("--list", action="store_true",
                        help="list the named ones, and check that they can be made")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="only these, named or random ones")
    return parser.parse_args()


def interrupted(_signal, _frame):
    raise KeyboardInterrupt


def main():
    options = parse()
    if options.list:
        list_named()
        return True
    return run(options)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    try:
        sys.exit(0 if main() else 1)
    except KeyboardInterrupt:
        sys.exit(130)
