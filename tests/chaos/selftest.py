"""Show that the checker sees: plant a violation of each invariant in the logs of a good run.

Each violation is planted in a copy; the checker must name it.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import tempfile

import check
import coordination
import hot
import ticks
from history import Broken, Call, History

SECOND = 1_000_000_000
LATE_NS = 10 * SECOND  # much more than a handler may begin after a newer token was stored


class NoPlace(Exception):
    """The run has nothing in which the violation can be planted."""


class Logs:
    """A copy of the logs of a run, and the run as it was."""

    def __init__(self, folder, history):
        self.folder, self.history = pathlib.Path(folder), history
        self.edited = set()

    def edit(self, name, change):
        path = self.folder / name
        lines = path.read_text(errors="surrogateescape").splitlines(True)
        path.unlink()  # it may be the same file as that of the run
        path.write_text("".join(change(lines)), errors="surrogateescape")
        self.edited.add(name)

    def nodes(self):
        """The nodes whose logs are not as they were."""
        return [name[len("monitor-"):-len(".log")] for name in self.edited
                if name.startswith("monitor-")]

    def append(self, name, *lines):
        self.edit(name, lambda old: old + [line + "\n" for line in lines])

    def final(self, change):
        path = self.folder / "final.json"
        left = json.loads(path.read_text())
        change(left)
        path.unlink()
        path.write_text(json.dumps(left))

    def first(self, accept):
        """The first call of a handler that is done and accepted."""
        return next(run for run in self.history.runs if run.verdict == "done" and accept(run))

    def begin(self, run, **changes):
        """A line that begins a call like `run`, with another number."""
        values = {**vars(run), "number": 10**9, **changes}
        return ("begin {begin_ns} {number} {topic} {slot} {token} {claim} {attempt} {left} "
                "{priority} {due_ms} {wall_ms} {body}").format(**values)

    def without(self, run):
        """Every trace of the handling of a message is removed."""
        numbers = {f" {other.number} " for other in self.history.runs
                   if other.worker == run.worker and other.body == run.body}

        def change(lines):
            return [line for line in lines
                    if not (line.startswith(("begin ", "end ")) and
                            any(number in line[:60] for number in numbers) and
                            (run.body in line or line.startswith("end ")))]

        for worker in {other.worker for other in self.history.runs if other.body == run.body}:
            self.edit(f"worker-{worker}.log", change)


def once_handled(logs, accept=lambda run: True):
    """A message that was handled exactly once, by a sender whose sends replicas acknowledge."""
    counts = {}
    for run in logs.history.runs:
        counts[run.topic, run.body] = counts.get((run.topic, run.body), 0) + 1
    return logs.first(lambda run: counts[run.topic, run.body] == 1 and accept(run) and
                      logs.history.sends[run.topic, run.body].level > 0 and
                      f"{run.topic}_{run.slot}" not in lost_tags(logs))


def lost_tags(logs):
    return {note.who for note in logs.history.notes if note.what == "lost"}


def plant_lost(logs):
    run = once_handled(logs)
    logs.edit(f"worker-{run.worker}.log",
              lambda lines: [line for line in lines if not line.endswith(f" {run.body}\n")
                             and line != f"end {run.end_ns} {run.number} done\n"])


def plant_overlap(logs):
    run = logs.first(lambda run: run.topic not in logs.history.shared)
    logs.append(f"worker-{run.worker}.log", logs.begin(run, begin_ns=run.begin_ns + 1))


def plant_passed_failures(logs):
    """A message begins after one of its key has failed and before that comes again."""
    failed, checker = {}, check.Checker(logs.history, 0)
    for run in logs.history.runs:
        if run.topic != "fifo":
            continue
        lane = logs.history.lane(run)
        if failed.get(lane) is not None and failed[lane].body == run.body \
                and not checker.in_any(checker.lossy, failed[lane].begin_ns, run.begin_ns):
            between_ns = failed[lane].end_ns + 1
            other = next(found for found in logs.history.runs if found.topic == "fifo"
                         and found.key == run.key and found.body != run.body)
            logs.append(f"worker-{run.worker}.log", *[
                logs.begin(other, begin_ns=between_ns, token=run.token, number=10**9),
                f"end {between_ns + 1} {10**9} done"])
            return
        failed[lane] = run if run.verdict == "retry" else None
    raise NoPlace("no message of fifo failed and held up another")


def taken_over(logs, accept=lambda run: True):
    """A call, and the next takeover of its slot.  The call can be planted once more LATE_NS later:
    the takeover was not lost in a failover, no other one comes before, and the worker of the call
    does not freeze, since what was confirmed before it froze may begin when it continues."""
    checker = check.Checker(logs.history, 0)
    last = {event.worker: event.pid for event in logs.history.events}

    def is_usable(run, gained, begin_ns):
        return not checker.in_any(checker.lossy, gained.at_ns) and \
            not checker.in_any(checker.frozen[last[run.worker]], gained.at_ns, begin_ns)

    for run in logs.history.runs:
        newer = [event for event in checker.gains[run.topic, run.slot] if event.token > run.token]
        if run.verdict != "done" or not newer or not accept(run):
            continue
        begin_ns = newer[0].at_ns + LATE_NS
        if all(event.at_ns > begin_ns for event in newer[1:]) and \
                is_usable(run, newer[0], begin_ns):
            return run, newer[0]
    raise NoPlace("no takeover of a slot in this run can be used")


def begin_late(logs, run, gained):
    logs.append(f"worker-{run.worker}.log", logs.begin(run, begin_ns=gained.at_ns + LATE_NS))


def gain_again(logs, gained):
    """A second after the late call, under the same token."""
    logs.append(f"worker-{gained.worker}.log",
                f"event {gained.at_ns + LATE_NS + SECOND} slot_gained {gained.topic} {gained.slot} "
                f"{gained.token} SMQ_OK 4 planted")


def plant_late(logs):
    begin_late(logs, *taken_over(logs))


def plant_late_before_a_second_takeover(logs):
    """No failover can have lost the first takeover, so the second one excuses nothing."""
    run, gained = taken_over(logs)
    begin_late(logs, run, gained)
    gain_again(logs, gained)


def plant_late_after_replicas(logs):
    """In a topic whose owners wait for replicas a takeover is stored twice under one token, while a
    failover may lose writes; its owner had its replicas, so it lost nothing and counts."""
    run, gained = taken_over(logs, lambda run: run.topic in logs.history.replicated
                             and run.worker not in logs.history.stops)
    logs.append("faults.log", f"begin {gained.at_ns - SECOND} {min(check.LOSSY)} 0",
                f"healed {gained.at_ns + SECOND} {min(check.LOSSY)} 0")
    logs.edit(f"worker-{gained.worker}.log",
              lambda lines: [line for line in lines if not check.SHORT.search(line)])
    begin_late(logs, run, gained)
    gain_again(logs, gained)


def plant_lease_not_awaited(logs):
    """What a killed process had begun begins again after a second, with strict takeover."""
    checker = check.Checker(logs.history, 0)
    last = {event.worker: event.pid for event in logs.history.events}
    run = once_handled(logs, lambda run: run.topic in logs.history.strict
                       and not checker.is_repeated(run.topic, run.body)
                       and not checker.is_off(run.topic, run.slot, run.begin_ns - SECOND,
                                              run.begin_ns)
                       and not checker.in_any(checker.lossy, run.begin_ns - SECOND, run.begin_ns))
    worker, pid = next(item for item in last.items() if item[0] != run.worker)
    logs.append(f"worker-{worker}.log",
                logs.begin(run, begin_ns=run.begin_ns - SECOND, token="0" * 24))
    logs.append("faults.log", f"killed {run.begin_ns - SECOND // 2} {worker} {pid}")


def plant_lease_of_key_not_awaited(logs):
    """A message begins a second after a killed process had begun another one of its key, which
    comes again much later."""
    checker = check.Checker(logs.history, 0)
    last = {event.worker: event.pid for event in logs.history.events}
    firsts = {}

    def is_late(run):
        if run.topic not in logs.history.strict or checker.is_repeated(run.topic, run.body):
            return False
        if not checker.in_any(checker.lossy, run.begin_ns - SECOND, run.begin_ns) and \
                not checker.is_off(run.topic, run.slot, run.begin_ns - SECOND, run.begin_ns):
            firsts.setdefault((run.topic, run.key), run)
        first = firsts.get((run.topic, run.key), run)
        return run.begin_ns > first.begin_ns + check.LEASE_MS * check.MS

    late = once_handled(logs, is_late)
    first = firsts[late.topic, late.key]
    worker, pid = next(item for item in last.items() if item[0] != late.worker)
    logs.append(f"worker-{worker}.log",
                logs.begin(late, begin_ns=first.begin_ns - SECOND, token="0" * 24))
    logs.append("faults.log", f"killed {first.begin_ns - SECOND // 2} {worker} {pid}")


def plant_shrunk(logs):
    # What is appended to a log is of the last process that wrote it.
    last = {event.worker: event.pid for event in logs.history.events}
    event = next(event for event in logs.history.events
                 if event.kind == "slot_gained" and event.pid == last[event.worker])
    logs.append(f"worker-{event.worker}.log",
                f"event {event.at_ns + SECOND} slot_gained {event.topic} {event.slot} "
                f"{'0' * 24} SMQ_OK 4 planted")


def plant_shrunk_in_redis(logs):
    """A node stores a smaller token than the one before."""
    call = a_call(logs, lambda call: call.token and call.writes())

    def change(lines):
        time, after = lines[call.line - 1].split(" [")[0], call.line + len(call.commands)
        lines[after:after] = [
            f'{time} [0 planted] "EVALSHA" "0" "1" "slot{{{call.tag}}}" "0"\n',
            f'{time} [0 lua] "HSET" "slot{{{call.tag}}}" "token" "{"0" * 23}1"\n']
        return lines

    logs.edit(f"monitor-{call.node}.log", change)


def a_call(logs, accept):
    """A call for a slot whose token, and the number of whose last claim, the checker knows."""
    for node in logs.history.nodes():
        tokens, claims = set(), set()
        for step in logs.history.executed(node):
            if isinstance(step, Call):
                if step.tag in tokens & claims and accept(step):
                    return step
                if step.takes_over and step.writes():
                    tokens.add(step.tag)
                if step.claims():
                    claims.add(step.tag)
            else:
                tokens, claims = set(), set()
    raise NoPlace("no node executed such a call")


def plant_old_write(logs):
    call = a_call(logs, lambda call: call.token and not call.takes_over and call.writes())

    def change(lines):
        line = lines[call.line - 1]
        lines[call.line - 1] = line.replace(call.token, "0" * 23 + "1")
        return lines

    logs.edit(f"monitor-{call.node}.log", change)


def is_push(call):
    return call.token is None and call.claims() and not call.tag.startswith("shared_")


def in_push(logs, change):
    """Change the lines of a push: `change` gets the call and each of them."""
    call = a_call(logs, is_push)
    last = call.line + len(call.commands)
    logs.edit(f"monitor-{call.node}.log", lambda lines: [
        change(call, line) if call.line < number <= last else line
        for number, line in enumerate(lines, 1)])


def plant_old_push(logs):
    in_push(logs, lambda call, line: line.replace(call.published()[0][:24], "0" * 23 + "1"))


def plant_push_number(logs):
    """A push has a number that another claim will have."""
    def change(call, line):
        number = call.claims()[0][1]
        return line.replace(f"c{number}:", f"c{number + 1}:")

    in_push(logs, change)


def plant_push_unpublished(logs):
    """Another message is published than the claimed one."""
    in_push(logs, lambda call, line: line.replace("\\n", "\\n1") if "SPUBLISH" in line else line)


def plant_push_awake(logs):
    """The owner said that it does not sleep."""
    call = a_call(logs, is_push)

    def change(lines):
        time = lines[call.line - 1].split(" [")[0]
        lines[call.line - 1:call.line - 1] = [
            f'{time} [0 planted] "EVALSHA" "0" "1" "slot{{{call.tag}}}" "0"\n',
            f'{time} [0 lua] "HSET" "slot{{{call.tag}}}" "parked" "0"\n']
        return lines

    logs.edit(f"monitor-{call.node}.log", change)


def gained_once(logs, what):
    """Was the slot taken over only once under this token?"""
    return sum(event.kind == "slot_gained" and event.topic == what.topic and
               event.slot == what.slot and event.token == what.token
               for event in logs.history.events) == 1


def plant_begun_again(logs):
    run = logs.first(lambda run: gained_once(logs, run))
    logs.append(f"worker-{run.worker}.log", logs.begin(run, begin_ns=run.end_ns + 1))


def an_accepted_push(logs):
    """One that no failover can have lost, and the call that began through it: a process may end
    after it has accepted a push and before it begins a handler."""
    checker, begun = check.Checker(logs.history, 0), {}
    for run in logs.history.runs:
        begun.setdefault((run.topic, run.slot, run.token, run.claim), run)
    for push in logs.history.pushes:
        run = begun.get((push.topic, push.slot, push.token, push.claim))
        if push.verdict == "accepted" and run is not None and run.attempt == 1 and \
                gained_once(logs, push) and not checker.in_any(checker.lossy, push.at_ns):
            return push, run
    raise NoPlace("nothing began through a push that was kept")


def plant_accepted_again(logs):
    push, _ = an_accepted_push(logs)
    logs.append(f"worker-{push.worker}.log",
                "push {at_ns} {verdict} {topic} {slot} {token} {claim}".format(**vars(push)))


def plant_pushed_retry(logs):
    """What began through a push had failed before."""
    _, run = an_accepted_push(logs)
    logs.edit(f"worker-{run.worker}.log", lambda lines: [
        line.replace(f" {run.claim} 1 {run.left} ", f" {run.claim} 2 {run.left - 1} ")
        if line.startswith(f"begin {run.begin_ns} {run.number} ") else line for line in lines])


def plant_other_through_push(logs):
    """Another message begins under the number of a push, which no failover has lost."""
    _, run = an_accepted_push(logs)
    other = logs.first(lambda other: other.topic == run.topic and other.body != run.body)
    logs.append(f"worker-{run.worker}.log",
                logs.begin(run, begin_ns=run.end_ns + 1, body=other.body))


def plant_attempt(logs):
    before, run = next((before, run) for before, run in zip(logs.history.runs,
                                                           logs.history.runs[1:])
                       if run.verdict == "done")
    del before
    logs.append(f"worker-{run.worker}.log",
                logs.begin(run, begin_ns=run.end_ns + 1, attempt=9, left=9))


def plant_dead_twice(logs):
    def change(left):
        key = next(key for key, members in left.items()
                   if key.startswith("dead{merge") and any(member for member, _ in members))
        entry, score = next((member, score) for member, score in left[key] if member)
        left[key].append(["1" + entry, score])

    logs.final(change)


def plant_dead_without_reason(logs):
    run = once_handled(logs, lambda run: run.topic == "merge")
    logs.final(lambda left: left[f"dead{{merge_{run.slot}}}"].append([f"1d:{run.body}", 1.0]))


def plant_not_dead(logs):
    """A message that was rejected is not among the dead, and no failover can have lost it."""
    checker = check.Checker(logs.history, 0)
    topic, body = next(
        name for name in checker.dead
        if logs.history.sends[name].kind == "reject" and checker.by_message[name]
        and not checker.was_damaged(logs.history.sends[name])
        and not checker.in_any(checker.lossy, logs.history.sends[name].at_ns,
                               checker.by_message[name][-1].begin_ns + 10 * SECOND))

    def change(left):
        for key in [key for key in left if key.startswith(f"dead{{{topic}_")]:
            left[key] = [found for found in left[key]
                         if not found[0] or checker.body_of(topic, key, found[0]) != body]

    logs.final(change)


def plant_back_off_cut(logs):
    """A message that has failed begins again at once."""
    checker = check.Checker(logs.history, 0)
    before, run = next(
        (before, run) for runs in checker.by_message.values() for before, run in zip(runs, runs[1:])
        if before.verdict == "retry" and before.token == run.token != "-"
        and not checker.is_off(run.topic, run.slot, before.begin_ns, run.begin_ns)
        and not checker.in_any(checker.lossy, before.begin_ns, run.begin_ns))
    logs.edit(f"worker-{run.worker}.log", lambda lines: [
        line.replace(f"begin {run.begin_ns} {run.number} ",
                     f"begin {before.end_ns + 1} {run.number} ") for line in lines])


def plant_early(logs):
    checker = check.Checker(logs.history, 0)
    run = logs.first(lambda run: logs.history.sends[run.topic, run.body].due_ms > 0
                     and not checker.is_off(run.topic, run.slot, run.begin_ns))
    logs.edit(f"worker-{run.worker}.log",
              lambda lines: [line.replace(f" {run.wall_ms} {run.body}",
                                          f" {run.due_ms - 1000} {run.body}") for line in lines])


def plant_disorder(logs):
    """A message of fifo is handled after the next one of its key and sender."""
    keys, checker = {}, check.Checker(logs.history, 0)
    for run in logs.history.runs:
        send = logs.history.sends[run.topic, run.body]
        if run.topic == "fifo" and run.verdict == "done" and send.outcome == "stored" \
                and not checker.in_any(checker.lossy, send.at_ns, run.end_ns + SECOND):
            keys.setdefault((send.sender, send.key), []).append(run)
    before, after = next((runs[0], runs[1]) for runs in keys.values() if len(runs) > 1
                         and sum(run.body == runs[0].body for run in runs) == 1)
    logs.edit(f"worker-{before.worker}.log",
              lambda lines: [line.replace(f"begin {before.begin_ns} {before.number} ",
                                          f"begin {after.end_ns + 1} {before.number} ")
                             .replace(f"end {before.end_ns} {before.number} ",
                                      f"end {after.end_ns + 2} {before.number} ")
                             for line in lines])


def plant_small_priority_first(logs):
    """While a claim takes others, a message of a larger priority waits."""
    plant_larger_priority(logs, lambda call: call.token is not None)


def plant_small_priority_pushed(logs):
    """While a message is pushed, one of a larger priority waits."""
    plant_larger_priority(logs, is_push)


def plant_larger_priority(logs, accept):
    for node in logs.history.nodes():
        for step in logs.history.executed(node):
            if isinstance(step, Broken) and step.line > 1:
                break  # from here on the checker does not know what waits
            if isinstance(step, Call) and step.tag is not None \
                    and step.tag.startswith("priority_") and step.claims() and accept(step):
                def change(lines, step=step):
                    time = lines[step.line].split(" [")[0]
                    lines.insert(step.line,
                                 f'{time} [0 lua] "ZADD" "{step.tag}" "{2**44}" "planted"\n')
                    return lines

                logs.edit(f"monitor-{node}.log", change)
                return
    raise NoPlace("no node executed a claim by priority")


def plant_left(logs):
    logs.final(lambda left: left["merge_0"].append(["left", 1.0]))


def plant_body(logs):
    logs.final(lambda left: left["body{jobs_0}"].update({"bleft": "left"}))


def plant_unowned(logs):
    first = logs.history.runs[0]
    numbers = {}  # of the calls for the slot, by worker
    for run in logs.history.runs:
        if (run.topic, run.slot) == (first.topic, first.slot):
            numbers.setdefault(run.worker, set()).add(str(run.number))
    for worker, gone in numbers.items():
        logs.edit(f"worker-{worker}.log", lambda lines, gone=gone: [
            line for line in lines
            if not line.startswith(("begin ", "end ")) or line.split(" ", 3)[2].strip() not in gone])
    begin, end = (note.at_ns for note in logs.history.notes
                  if note.what in ("faults-begin", "faults-end"))
    logs.edit("faults.log", lambda lines: [
        line.replace(f"faults-end {end}", f"faults-end {max(end, begin + 40 * SECOND)}")
        for line in lines])


def plant_alarm(logs):
    """An alarm for which no fault gives a reason."""
    event = logs.history.events[0]
    logs.append(f"worker-{event.worker}.log",
                f"event {event.at_ns} log - -1 - SMQ_OK {check.ERROR} planted")


def plant_moves(logs):
    checker = check.Checker(logs.history, 0)
    event = next(event for found in checker.gains.values() for event in found)
    more = checker.most_moves() + 1 - sum(len(found) for found in checker.gains.values())
    logs.append(f"worker-{event.worker}.log",
                *[f"event {event.at_ns} slot_gained {event.topic} {event.slot} {event.token} "
                  "SMQ_OK 4 planted"] * more)


def plant_token_out_of_order(logs):
    """A slot is granted to a second member at once, under an older token."""
    topic, slot, lines = coordination.slots(logs.history)[0]
    first = next(line for line in lines if line["what"] == "granted")
    other = next(said.worker for said in logs.history.said if said.worker != first["member"])
    logs.append(f"worker-{other}.log",
                f"coord {first['ts'] + 1} granted {topic} {slot} {'0' * 23}1 0")


def plant_shared_begun_again(logs):
    """Another worker begins a message of a shared topic while its claim lasts."""
    checker = known()
    leases = checker.executed.leases
    run = once_handled(logs, lambda run: run.topic in logs.history.shared
                       and not checker.in_any(checker.lossy, run.begin_ns - SECOND,
                                              run.begin_ns + SECOND)
                       and not leases.may_have_missed(run, run)
                       and not checker.is_repeated(run.topic, run.body))
    other = next(event.worker for event in logs.history.events if event.worker != run.worker)
    logs.append(f"worker-{other}.log",
                logs.begin(run, begin_ns=run.begin_ns + 1, claim=run.claim + 1))


def plant_shared_lease_cut(logs):
    """A script takes a claim of a shared topic from its consumer at once."""
    for node in logs.history.nodes():
        for step in logs.history.executed(node):
            if isinstance(step, Call) and step.tag is not None \
                    and step.tag.startswith("shared_") and step.claims():
                place, number, name = step.claims()[0]

                def change(lines, step=step, entry=f"{place}c{number}:{name}"):
                    time, after = (lines[step.line - 1].split(" [")[0],
                                   step.line + len(step.commands))
                    lines[after:after] = [
                        f'{time} [0 planted] "EVALSHA" "0" "1" "slot{{{step.tag}}}" "0"\n',
                        f'{time} [0 lua] "ZREM" "prepare{{{step.tag}}}" "{entry}"\n']
                    return lines

                logs.edit(f"monitor-{node}.log", change)
                return
    raise NoPlace("no node executed a claim in a shared topic")


def plant_held_up_by_hot_key(logs):
    """A handler of the hot key works for five seconds, and a message of another key, which was due
    before, begins after that."""
    judge, checker = hot.Hot(logs.history, None), check.Checker(logs.history, 0)
    run = logs.first(lambda run: run.topic == hot.TOPIC and run.key == hot.KEY
                     and judge.since[run.slot, run.token] < run.begin_ns - 2
                     and judge.rest.at(run.begin_ns - 1) < hot.MOST
                     and not checker.is_off(run.topic, run.slot, run.begin_ns - 2,
                                            run.begin_ns + 5 * SECOND))
    body = "k0:s1:999999999:done"
    logs.append("sender-s1.log", f"send {run.begin_ns - 2} {run.topic} {body} k0 0 0",
                f"receipt {run.begin_ns - 1} {run.topic} {body} stored SMQ_OK")
    logs.edit(f"worker-{run.worker}.log", lambda lines: [
        line.replace(f"end {run.end_ns} {run.number} ", f"end {run.begin_ns + 5 * SECOND} "
                     f"{run.number} ") for line in lines])
    logs.append(f"worker-{run.worker}.log",
                logs.begin(run, begin_ns=run.begin_ns + 5 * SECOND, body=body, claim=10**9))


def a_tick(logs):
    """One that was handled once, far from what a failover has lost, with others around it."""
    counts = collections.Counter(tick.id for tick in logs.history.ticks)
    checker = check.Checker(logs.history, 0)
    wall_ns, times = logs.history.run["wall_minus_monotonic_ns"], sorted(
        tick.sent_ms for tick in logs.history.ticks)

    def is_plain(tick):
        at_ns = tick.sent_ms * 1_000_000 - wall_ns
        return counts[tick.id] == 1 and times[0] + 3000 < tick.sent_ms < times[-1] - 3000 and \
            not checker.is_off(ticks.TOPIC, tick.slot, at_ns - 5 * SECOND, at_ns + 5 * SECOND) and \
            not checker.in_any(checker.lossy, at_ns - 5 * SECOND, at_ns + 5 * SECOND)

    return next(filter(is_plain, logs.history.ticks))


def plant_tick_lost(logs):
    tick = a_tick(logs)
    logs.edit(f"worker-{tick.worker}.log",
              lambda lines: [line for line in lines if not line.endswith(f" {tick.id}\n")])


def plant_tick_doubled(logs):
    tick = a_tick(logs)
    logs.append(f"worker-{tick.worker}.log", f"tick {tick.at_ns + 2_000_000} {tick.slot} 1 "
                f"{tick.sent_ms + 1} {tick.id}")


def plant_tick_early(logs):
    tick = a_tick(logs)
    logs.edit(f"worker-{tick.worker}.log",
              lambda lines: [line.replace(f" {tick.sent_ms} {tick.id}\n",
                                          f" {tick.due_ms - 1} {tick.id}\n") for line in lines])


def plant_tick_late(logs):
    tick = a_tick(logs)
    logs.edit(f"worker-{tick.worker}.log",
              lambda lines: [line.replace(f" {tick.sent_ms} {tick.id}\n",
                                          f" {tick.due_ms + 90_000} {tick.id}\n") for line in lines])


def plant_unnamed(logs):
    for worker in {event.worker for event in logs.history.events if event.kind == "damaged"}:
        logs.edit(f"worker-{worker}.log",
                  lambda lines: [line for line in lines if " damaged " not in line[:60]])


def plant_stopped_beside(logs):
    """While slots are damaged no handler begins at all."""
    damaged = check.Checker(logs.history, 0).damaged
    begin_ns, end_ns = min(span for spans in damaged.values() for span in spans)

    def later(line):
        words = line.split(" ")
        if words[0] == "begin" and begin_ns <= int(words[1]) <= end_ns:
            words[1] = str(end_ns + 1)
        return " ".join(words)

    for worker in {run.worker for run in logs.history.runs}:
        logs.edit(f"worker-{worker}.log", lambda lines: map(later, lines))


PLANTED = [
    (plant_lost, "nothing acknowledged is lost"),
    (plant_overlap, "one handler at a time for a key under one token"),
    (plant_passed_failures, "what fails in a fifo topic holds up what is behind it"),
    (plant_late, "no handler begins long after a newer token was stored"),
    (plant_late_before_a_second_takeover, "no handler begins long after a newer token was stored"),
    (plant_late_after_replicas, "no handler begins long after a newer token was stored"),
    (plant_lease_not_awaited, "a strict takeover waits for leases"),
    (plant_lease_of_key_not_awaited, "a strict takeover waits for leases"),
    (plant_shrunk, "tokens only grow"),
    (plant_shrunk_in_redis, "tokens only grow"),
    (plant_old_write, "no write under an old token"),
    (plant_old_push, "no write under an old token"),
    (plant_push_number, "a push is the next claim of an owner that sleeps"),
    (plant_push_unpublished, "a push is the next claim of an owner that sleeps"),
    (plant_push_awake, "a push is the next claim of an owner that sleeps"),
    (plant_begun_again, "an owner begins each claim once"),
    (plant_accepted_again, "an owner begins each claim once"),
    (plant_pushed_retry, "an owner begins each claim once"),
    (plant_other_through_push, "an owner begins each claim once"),
    (plant_attempt, "attempts are counted right"),
    (plant_dead_twice, "dead exactly once, and with a reason"),
    (plant_dead_without_reason, "dead exactly once, and with a reason"),
    (plant_not_dead, "dead exactly once, and with a reason"),
    (plant_early, "never early"),
    (plant_back_off_cut, "never early"),
    (plant_shared_begun_again,
     "a message of a shared topic begins again when its claim has ended"),
    (plant_shared_lease_cut,
     "a claim of a shared topic lasts until its answer or the end of its lease"),
    (plant_held_up_by_hot_key, "a hot key holds up no other key"),
    (plant_disorder, "fifo keeps the order of a key"),
    (plant_small_priority_first, "the largest priority is claimed first"),
    (plant_small_priority_pushed, "the largest priority is claimed first"),
    (plant_left, "everything is handled after healing"),
    (plant_body, "no body is left behind"),
    (plant_unowned, "a slot has an owner again in time"),
    (plant_moves, "moves are bounded"),
    (plant_tick_lost, "no tick is lost"),
    (plant_tick_doubled, "each tick is stored once"),
    (plant_tick_early, "no tick is early"),
    (plant_tick_late, "no tick is late"),
    (plant_alarm, "an alarm has a fault that an operator must mend"),
    (plant_token_out_of_order, "coordination is a path of the model"),
]
DAMAGE_PLANTED = [
    (plant_unnamed, "a damaged slot is named"),
    (plant_stopped_beside, "whole slots are consumed beside damaged ones"),
]
# What is planted in the notes of the processes and judged by them alone.  Of the others the logs of
# Redis are read, too, which takes most of the time.
OF_PROCESSES = {
    plant_lost, plant_overlap, plant_passed_failures, plant_lease_not_awaited,
    plant_lease_of_key_not_awaited, plant_shrunk, plant_dead_twice, plant_dead_without_reason,
    plant_not_dead, plant_held_up_by_hot_key, plant_disorder, plant_left, plant_body,
    plant_unowned, plant_moves, plant_alarm, plant_token_out_of_order,
    plant_tick_lost, plant_tick_doubled, plant_tick_early, plant_tick_late}


def begin(history):
    """In each process, before it plants."""
    is_named.history, is_named.known = history, None


def known():
    """A checker that has read the logs of Redis as they are."""
    if is_named.known is None:
        is_named.known = check.Checker(is_named.history, 0)
        is_named.known.check_executed()
    return is_named.known


def same_file(source, copy):
    """A second name of a log; a copy of it on another file system."""
    try:
        os.link(source, copy)
    except OSError:
        shutil.copy2(source, copy)


def is_named(folder, plant, invariant):
    """Plant the violation in a copy of the logs; does the checker name it?  None: there is no place
    for it."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=same_file,
                        ignore=shutil.ignore_patterns("processes"))
        logs = Logs(copy, is_named.history)
        try:
            plant(logs)
        except NoPlace:
            return None
        if logs.nodes():
            return invariant in check.judge_nodes(copy, logs.nodes()).violations
        traced = 1 if invariant == "coordination is a path of the model" else 0
        of_redis = plant not in OF_PROCESSES
        verdict = check.judge(copy, traced, of_redis, known() if of_redis else None)
        return invariant in verdict.violations


def run(folder):
    """The plants that fail: their violation was not named, or the run had no place for it."""
    history, failed = History(folder), []
    planted = PLANTED + (DAMAGE_PLANTED if history.run.get("series") == "damage" else [])
    with concurrent.futures.ProcessPoolExecutor(
            min(4, os.cpu_count()), initializer=begin, initargs=(history,)) as pool:
        results = [pool.submit(is_named, folder, *what) for what in planted]
        for (plant, invariant), result in zip(planted, results):
            named = result.result()
            word = {True: "named", False: "MISSED", None: "NO PLACE"}[named]
            print(f"{word:8} {plant.__name__}: {invariant}", flush=True)
            if not named:
                failed.append(plant.__name__)
    return failed
