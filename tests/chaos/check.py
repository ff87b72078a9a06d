"""Judge the logs of a chaos run: what was promised, and what happened.

It reads what senders and handlers appended, what Redis nodes executed (MONITOR), which faults there
were, and what is left in Redis.  Nothing is asked of the library.
"""
import bisect
import collections
import re

import coordination
import ticks
from executed import Executed, read
from history import History
from hot import Hot
from priority import Priority

MS = 1_000_000
SESSION_MS = 3000                # load.h
BOUND_MS = SESSION_MS * 2 // 3   # the largest age of a confirmation before a handler begins
SLACK_MS = 100                   # for the reading of clocks and the writing of logs
LATE_MS = BOUND_MS + SLACK_MS
THREADS = 2                      # of a worker, which may each hold one call that was confirmed
DELIVERIES = 17                  # the first one and 16 retries
BACKOFF_MS, DELAY_MS = 50, 200   # of the topics
LEASE_MS = 10_000                # of strict topics; renewed six times in its length
LONGEST_LEASE_MS = 30_000        # of the other ones
REQUEST_MS = 3000                # of a sender; then the send is repeated, and may be stored twice
UNOWNED_MS = 30_000              # the longest that a loaded slot may stand still
CUT_MS = 9000                    # the longest that a living worker is frozen or cut off, but once
AWAY_MS = 20_000                 # how long one without Redis may keep its slots: decision 16
LEAST_RATE, LEAST_MOVES_S = 200, 1
LEAST_BESIDE = 50                # handlers a second in whole slots while others are damaged
TRACED = 8                       # slots whose coordination is held against the model
LOSSY = {"KillMaster", "FreezeMaster", "CutMaster", "LoseTreeWrites", "OlderTree",
         "LoseWritesToLateClock"}  # after these Redis may have lost writes
LOSSY_BEFORE_MS = 2000           # what was acknowledged so shortly before is lost with the master
LEAST_BESIDE_KEY = 200           # handlers that begin beside one of another key of their slot
LEAST_CHOICES = 10               # claims by priority that leave messages waiting
LEAST_PUSHED = 0.05              # of the handlers that begin, where sends may push
LEAST_TRACED, TRACED_S = 40, 60  # events held to the model in a run of this many seconds or more
# How often one fault may move each slot, and move it back; README.md says why.
MOVES_BEGIN, MOVES_MOST = 2, 2
MOVES = {
    **dict.fromkeys(("KillWorker", "FreezeWorker", "CutWorker", "CutWorkerFromRedis",
                     "CutWorkerFromZooKeeper", "LoseZooKeeperRequests",
                     "LoseZooKeeperReplies", "LoseRequests", "LoseReplies", "FlapWorker",
                     "DeleteMember", "DamageMember", "EvictMember", "ExpireSession",
                     "DeleteAssignment", "DamageAssignment", "DeleteTopicNode",
                     "KillMaster", "FreezeMaster", "CutMaster", "LoseTreeWrites",
                     "CutWorkerFromTree", "EvictFromTree", "LoseWritesToLateClock"), 0.5),
    **dict.fromkeys(("LoseRedis", "KillZooKeeperLeader", "FreezeZooKeeperLeader",
                     "CutZooKeeperLeader", "LoseQuorum", "LoseSlot", "LoseDefinition"), 1),
    **dict.fromkeys(("JumpWorkerClock", "JumpSenderClock", "KillReplica", "Failover", "Migrate",
                     "MigrateAtomically", "OutOfMemory", "PauseClients", "KillClients",
                     "FlushScripts", "DenyCommand", "LoseRegistry", "DeleteLeader", "DamageLeader",
                     "DeleteLeaderEpoch", "FailOverTree", "OlderTree", "WipeTree",
                     "MigrateTree", "StepClock", "PromoteLateClock"), 0)}
# Which faults an operator must be told of, and with which words; nothing else is of level ERROR.
ERROR = 1                        # SMQ_LEVEL_ERROR
ALARM_AFTER_MS = 10_000          # how long after its fault an alarm may come
ALARMS = (
    # The last three are those of test_cut_off.py.
    (r"no Redis node has answered this member for ", {"LoseRedis", "one", "all", "return"}),
    (r"topic \S+: its assignment in (ZooKeeper|Redis) cannot be read",
     {"DamageAssignment", "DeleteAssignment", "DeleteTopicNode", "DeleteTopicNodes", "WipeTree"}),
    (r"topic \S+: Redis has larger tokens than ZooKeeper", {"LoseZooKeeperData"}),
    (r"topic \S+ is bound to .* but the root of ZooKeeper", {"LoseZooKeeperData"}),
    (r"Redis has lost the (keys|definition) of |.*\bdamaged\b",
     {"LoseSlot", "LoseDefinition", "EmptyNode"}),
    (r"topic \S+: a right that was there is missing: ", {"DenyCommand"}),
    # a consumer that begins while it lacks a right ends: its user is set up wrongly
    (r"topic \S+ cannot be consumed any more: \S+ this user has no permissions ", {"DenyCommand"}))
SHOWN = 3                        # examples of each violation
# An owner has begun a slot of a topic without its replicas; it says so once for several slots.
SHORT = re.compile(r"slot \d+ of topic (\S+): fewer replicas than takeover_replicas")
# What an owner says of an answer that was not stored.
TOO_LATE = re.compile(r'the answer came too late: message "(.*)" of slot ')


class Verdict:
    """Violations by invariant, and figures: `figures` for people, `record` for programs."""

    def __init__(self):
        self.violations = collections.defaultdict(list)
        self.figures = {}
        self.record = {}
        self.void = []

    def add(self, invariant, text):
        self.violations[invariant].append(text)

    def good(self):
        return not self.violations and not self.void

    def word(self):
        return "violated" if self.violations else "void" if self.void else "good"

    def text(self):
        lines = [f"{name:28} {value}" for name, value in self.figures.items()]
        lines += [f"void: {line}" for line in self.void]
        for invariant, found in self.violations.items():
            lines.append(f"VIOLATED: {invariant}: {len(found)} times")
            lines += [f"    {text}" for text in found[:SHOWN]]
        lines.append("the run is good" if self.good() else "the run is NOT good")
        return "\n".join(lines)


def kept_takeovers(gains, may_be_lost):
    """`gains` without those that a failover lost: its owner had to gain the slot once more, under
    the same token.  `may_be_lost` says of each whether a failover may have lost what it stored."""
    kept = collections.defaultdict(list)
    for slot, events in gains.items():
        last = {event.token: event for event in events}
        kept[slot] = [event for event in events
                      if event is last[event.token] or not may_be_lost(event)]
    return kept


class Checker:
    """`known`: a checker that has read the same logs of Redis, and found them good."""

    def __init__(self, history, traced, known=None):
        self.known = known
        self.history, self.verdict, self.traced = history, Verdict(), traced
        self.by_message = collections.defaultdict(list)
        self.by_slot = collections.defaultdict(list)
        for run in history.runs:
            self.by_message[run.topic, run.body].append(run)
            self.by_slot[run.topic, run.slot].append(run)
        self.gains = collections.defaultdict(list)
        for event in history.events:
            if event.kind == "slot_gained" and event.topic != ticks.TOPIC:
                self.gains[event.topic, event.slot].append(event)
        self.lossy = self._intervals(LOSSY, LOSSY_BEFORE_MS)
        self.short = self._short()
        self.too_late = self._too_late()
        self.kept = kept_takeovers(self.gains, self.may_be_lost)
        self.executed = Executed(history, self.verdict.add)
        self.priority = Priority(
            lambda text: self.verdict.add("the largest priority is claimed first", text))
        self.damaged = self._damaged()
        self.off = self._off()
        self.slot_of = {(run.topic, run.key): run.slot for run in history.runs}
        self.frozen = self._frozen()
        self.severed = self._severed()
        self.dead = self._dead()

    def _intervals(self, names, before_ms):
        """From when to when such faults may have an effect."""
        intervals, begun = [], {}
        for note in self.history.notes:
            if note.what == "begin" and note.who in names:
                begun[note.who] = note.at_ns - before_ms * MS
            elif note.what == "healed" and note.who in begun:
                intervals.append((begun.pop(note.who), note.at_ns))
        return intervals + [(begin, float("inf")) for begin in begun.values()]

    def _damaged(self):
        """By (topic, slot): from when to when its keys were lost, until the topic was repaired."""
        damaged, since = collections.defaultdict(list), {}
        for note in self.history.notes:
            topic, _, slot = note.who.rpartition("_")
            if note.what == "lost" and topic in self.history.run["topics"]:
                since.setdefault((topic, int(slot)), note.at_ns)
            elif note.what == "repaired":
                for name in [name for name in since if name[0] == note.who]:
                    damaged[name].append((since.pop(name), note.at_ns))
        for name, begin_ns in since.items():
            damaged[name].append((begin_ns, float("inf")))
        return damaged

    def _off(self):
        """By (topic, slot): when its times were those of a clock that had stepped.  It lasts until
        what was stored then has come: the leases, and after a step forward all of it."""
        off, since = collections.defaultdict(list), {}
        for note in self.history.notes:
            topic, _, slot = note.who.rpartition("_")
            if note.what == "off":
                since[note.who] = note.at_ns
            elif note.what == "right":
                end_ns = note.at_ns + max(LEASE_MS, int(note.detail)) * MS
                off[topic, int(slot)].append((since.pop(note.who), end_ns))
        for name, begin_ns in since.items():
            topic, _, slot = name.rpartition("_")
            off[topic, int(slot)].append((begin_ns, float("inf")))
        return off

    def is_off(self, topic, slot, begin_ns, end_ns=None):
        return self.in_any(self.off.get((topic, slot), ()), begin_ns, end_ns)

    def was_damaged(self, send):
        """Was its slot repaired only after its receipt came?"""
        slot = self.slot_of.get((send.topic, send.key))
        return any(end_ns >= (send.outcome_ns or send.at_ns)
                   for _, end_ns in self.damaged.get((send.topic, slot), ()))

    def _frozen(self):
        """By pid: from when to when the process stood still."""
        frozen, since = collections.defaultdict(list), {}
        for note in self.history.notes:
            if note.what == "frozen":
                since[note.detail] = note.at_ns
            elif note.what == "thawed":
                frozen[int(note.detail)].append((since.pop(note.detail), note.at_ns))
        return frozen

    def _severed(self):
        """By pid: from when to when the process did not reach Redis, for longer than its slots
        wait."""
        severed, since, moved = collections.defaultdict(list), {}, {}
        for note in self.history.notes:
            if note.what == "severed":
                since[note.detail] = note.at_ns
            elif note.what == "away":
                moved[note.detail] = (note.at_ns - since[note.detail]) // MS
            elif note.what == "joined" and note.detail in since:
                severed[int(note.detail)].append((since.pop(note.detail), note.at_ns))
                if note.detail not in moved:
                    self.verdict.void.append(f"{note.who} kept its slots without Redis")
        if moved:
            self.verdict.figures["slots moved without Redis"] = \
                ", ".join(f"after {ms} ms" for ms in moved.values())
        self.verdict.record["away_ms"] = list(moved.values())
        return severed

    def _short(self):
        """By (pid, topic): when the process first said that it began slots without replicas."""
        short = {}
        for event in self.history.events:
            found = event.kind == "log" and SHORT.match(event.text)
            if found:
                short.setdefault((event.pid, found[1]), event.at_ns)
        self.verdict.record["short_of_replicas"] = len(short)
        return short

    def _too_late(self):
        """By (pid, body): when an owner said that its answer was not stored."""
        late = collections.defaultdict(list)
        for event in self.history.events:
            found = event.kind == "lease_lost" and TOO_LATE.match(event.text)
            if found:
                late[event.pid, found[1]].append(event.at_ns)
        return late

    def is_forgotten(self, before, run):
        """May a failover have lost the answer of `before`, or its claim?  A claim that was lost
        before its handler began is known by what the owner said when it got the answer."""
        if self.in_any(self.lossy, before.begin_ns, run.begin_ns):
            return True
        return any(before.begin_ns < at_ns < run.begin_ns
                   for at_ns in self.too_late.get((before.pid, before.body), ())) and \
            self.in_any(self.lossy, before.begin_ns - LONGEST_LEASE_MS * MS, before.begin_ns)

    def may_be_lost(self, gain):
        """May a failover have lost what a takeover stored?  With takeover_replicas it may only when
        the owner began without replicas; it does not say that again for slots of the same node."""
        if gain.topic in self.history.replicated and \
                gain.at_ns < self.short.get((gain.pid, gain.topic), float("inf")):
            return False
        return self.in_any(self.lossy, gain.at_ns)

    def _dead(self):
        """(topic, body) of each dead letter, as often as it is there."""
        dead = collections.Counter()
        for key, members in self.history.final.items():
            if not key.startswith("dead{"):
                continue
            topic = key[len("dead{"):-1].rsplit("_", 1)[0]
            for member, _ in members:
                if member == "":
                    continue
                body = self.body_of(topic, key, member)
                dead[topic, body] += 1
        return dead

    def body_of(self, topic, key, entry):
        """The body of a dead letter: beside its entry in layout keyed, else in it."""
        reasons = self.history.final.get("why{" + key[len("dead{"):], {})
        if f"B{entry}" in reasons:
            return reasons[f"B{entry}"]
        member = entry.split("d:", 1)[1]
        if not member.startswith("\0"):
            return member
        length, _, rest = member[1:].partition(":")
        return rest[int(length):]

    def in_any(self, intervals, begin_ns, end_ns=None):
        end_ns = begin_ns if end_ns is None else end_ns
        return any(begin <= end_ns and begin_ns <= end for begin, end in intervals)

    # --- the invariants ---------------------------------------------------------------------

    def check_lost(self):
        permitted = damaged = 0
        for name, send in self.history.sends.items():
            if send.outcome != "stored" or self.dead[name]:
                continue
            if any(run.verdict == "done" for run in self.by_message.get(name, ())):
                continue
            if send.level == 0 and self.in_any(self.lossy, send.outcome_ns):
                permitted += 1
                continue
            if self.was_damaged(send):
                damaged += 1
                continue
            self.verdict.add("nothing acknowledged is lost",
                             f"{send.topic} {send.body}, acknowledged by {send.level} replicas")
        self.verdict.figures["lost with their master"] = f"{permitted} of those without replicas"
        self.verdict.record |= {"lost_with_master": permitted, "lost_with_slot": damaged}
        if self.damaged:
            self.verdict.figures["lost with their slot"] = damaged

    def check_overlaps(self):
        """Of one key one at a time; under one token there is one worker."""
        beside = self._beside(lambda run: (run.topic, run.slot, run.token))
        for run, before in self._beside(self.history.lane):
            self.verdict.add("one handler at a time for a key under one token",
                             f"{run.topic} {run.body} began beside {before.body}")
        many = len(list(beside))
        self.verdict.figures["begun beside another key"] = many
        self.verdict.record["begun_beside_key"] = many
        if many < LEAST_BESIDE_KEY:
            self.verdict.void.append(f"{many} handlers began beside another key of their slot")

    def _beside(self, name_of):
        """The runs that began while another one of that name did not end, each with that one.
        Shared topics promise nothing of the kind."""
        latest, found = {}, []
        for run in self.history.runs:
            if run.topic in self.history.shared:
                continue
            name = name_of(run)
            before = latest.get(name)
            end_ns = float("inf") if run.end_ns is None else run.end_ns
            if before is not None and run.begin_ns < before[0]:
                found.append((run, before[1]))
            if before is None or end_ns > before[0]:
                latest[name] = (end_ns, run)
        return found

    def check_executed(self):
        if self.known:
            self.executed, self.priority = self.known.executed, self.known.priority
            self.executed.leases.begin_judging(self.verdict.add)
        else:
            read(self.history, self.executed, self.priority)
        calls, pushes = self.executed.calls, self.executed.pushes
        self.verdict.figures["scripts judged"] = f"{calls}, {pushes} of them pushed"
        self.verdict.record |= {"scripts": calls, "pushes": pushes}

    def check_late(self):
        """When a failover has lost a takeover, Redis confirms the owner before, until the slot was
        taken over again; so that does not count, if the nodes' logs show it, or if it was made
        again under the same token.  But an owner whose membership has expired, and that stops by
        itself, must have stopped.  Where replicas knew the takeover, it was not lost."""
        outlived, longest_ns, at_thaw, lost = 0, 0, collections.Counter(), 0
        for run in self.history.runs:
            stored = self.gains if run.worker in self.history.stops else self.kept
            newer = [event for event in stored[run.topic, run.slot]
                     if event.token > run.token and event.at_ns < run.begin_ns]
            if not newer:
                lost += any(event.token > run.token and event.at_ns < run.begin_ns
                            for event in self.gains[run.topic, run.slot])
                continue
            begin_ns = run.begin_ns
            for frozen, thawed in self.frozen[run.pid]:
                # It may have been confirmed when the process froze: one call of each thread.
                if frozen <= begin_ns <= thawed + SLACK_MS * MS:
                    at_thaw[run.pid, thawed, run.topic] += 1
                    if at_thaw[run.pid, thawed, run.topic] <= THREADS:
                        begin_ns = frozen
            counts = [event.at_ns for event in newer if not self._is_lost(event, run, begin_ns)]
            if not counts:
                lost += 1
                continue
            outlived += 1
            longest_ns = max(longest_ns, begin_ns - min(counts))
            if begin_ns - min(counts) > LATE_MS * MS:
                self.verdict.add("no handler begins long after a newer token was stored",
                                 f"{run.topic} {run.body} at {run.worker}: "
                                 f"{(begin_ns - min(counts)) // MS} ms after")
        self.verdict.figures["begun beside a newer owner"] = \
            f"{outlived}, at most {longest_ns // MS} ms after it"
        self.verdict.figures["begun after a lost takeover"] = lost
        self.verdict.record |= {"begun_beside": outlived, "begun_beside_ms": longest_ns // MS,
                                "begun_after_lost_takeover": lost}

    def _is_lost(self, gain, run, begin_ns):
        return run.worker not in self.history.stops and self.may_be_lost(gain) and \
            self.executed.is_lost(gain, run.token, begin_ns, LATE_MS * MS)

    def check_begun(self):
        """An owner begins each of its claims once, and through a push only a new message.

        When a failover has lost the takeover itself, the owner takes the slot over again under the
        same token, and its numbers begin again with those that Redis knows; so that is left out.
        When it has lost only a push, its number is given out again at another node, or at the same
        one after it was restarted, to the same message if its send was repeated; and what begins
        under it later did not come through the push."""
        gained = collections.Counter((event.topic, event.slot, event.token)
                                     for found in self.gains.values() for event in found)
        begun, accepted, through = set(), {}, 0
        for push in self.history.pushes:
            name = (push.topic, push.slot, push.token, push.claim)
            if push.verdict == "accepted" and gained[name[:3]] == 1:
                if name in accepted:
                    self.verdict.add("an owner begins each claim once",
                                     f"{push.topic} {push.slot}: push {push.claim} came twice")
                accepted[name] = None
        for run in self.history.runs:
            claim = (run.topic, run.slot, run.token, run.claim)
            if gained[claim[:3]] == 1 and (claim, run.body) in begun and \
                    not self.executed.is_given_again(*claim):
                self.verdict.add("an owner begins each claim once",
                                 f"{run.topic} {run.body}: claim {run.claim} of {run.token}")
            begun.add((claim, run.body))
            if claim in accepted and (accepted[claim] is None or
                                      not self.executed.is_given_again(*claim)):
                through += 1
                if run.attempt != 1 or accepted[claim] not in (None, run.body):
                    self.verdict.add("an owner begins each claim once", f"{run.topic} {run.body}: "
                                     f"attempt {run.attempt} through push {run.claim}")
                accepted[claim] = run.body
        pushes = collections.Counter(push.verdict for push in self.history.pushes)
        self.verdict.figures["begun through a push"] = \
            f"{through}; " + ", ".join(f"{count} {name}" for name, count in sorted(pushes.items()))
        self.verdict.record |= {"begun_through_push": through, "pushes_heard": dict(pushes)}
        many = sum(run.topic not in self.history.shared and not run.body.endswith(":busy")
                   for run in self.history.runs)
        if through < many * LEAST_PUSHED:
            self.verdict.void.append(f"{through} of {many} handlers began through a push")

    def check_gains(self):
        """A process never gains a slot again under a smaller token."""
        last = {}
        for event in self.history.events:
            if event.kind == "slot_gained":
                name = (event.pid, event.topic, event.slot)
                if event.token < last.get(name, ""):
                    self.verdict.add("tokens only grow", f"{event.worker} {event.topic} "
                                     f"{event.slot}: {event.token} after {last[name]}")
                last[name] = event.token

    def check_attempts(self):
        leases = self.executed.leases
        for (topic, body), runs in self.by_message.items():
            for run in runs:
                if run.attempt < 1 or run.attempt + run.left != DELIVERIES:
                    self.verdict.add("attempts are counted right",
                                     f"{topic} {body}: attempt {run.attempt}, {run.left} left")
            for before, run in zip(runs, runs[1:]):
                if before.verdict != "retry" or before.token != run.token:
                    continue
                allowed = {before.attempt + 1}
                if topic in self.history.shared:
                    if leases.may_have_missed(before, run):
                        continue
                    # The first claim in a row that ends with its lease uses no retry, others do.
                    allowed |= set(range(before.attempt + (not leases.has_lapsed(before, run)),
                                         before.attempt + 2 + leases.lapses(before, run)))
                if self.is_repeated(topic, body):
                    allowed.add(1)
                if self.is_forgotten(before, run):
                    allowed |= {attempt for attempt in range(1, before.attempt + 1)}
                if run.attempt not in allowed:
                    self.verdict.add("attempts are counted right", f"{topic} {body}: attempt "
                                     f"{run.attempt} after a retry of {before.attempt}")

    def is_repeated(self, topic, body):
        send = self.history.sends[topic, body]
        return send.outcome_ns - send.at_ns >= REQUEST_MS * MS

    def check_leased(self):
        """In a topic with strict takeover, what a process had begun when it was killed waits for
        the lease of its claim, and so do all messages of its key; it was renewed shortly before."""
        killed = {int(note.detail) for note in self.history.notes if note.what == "killed"}
        by_key, waited = collections.defaultdict(list), 0
        for run in self.history.runs:
            if run.topic in self.history.strict:
                by_key[run.topic, run.key].append(run)
        for (topic, _), runs in by_key.items():
            for i, before in enumerate(runs):
                if before.end_ns is not None or before.pid not in killed or \
                        self.is_repeated(topic, before.body):
                    continue
                run = next((run for run in runs[i + 1:] if run.token > before.token or
                            run.token != before.token and run.body == before.body), None)
                if run is None or self.in_any(self.lossy, before.begin_ns, run.begin_ns) or \
                        self.is_off(topic, run.slot, before.begin_ns, run.begin_ns) or \
                        self.in_any(self.damaged.get((topic, run.slot), ()), before.begin_ns,
                                    run.begin_ns):
                    continue
                waited += 1
                if run.begin_ns - before.begin_ns < LEASE_MS // 2 * MS:
                    self.verdict.add("a strict takeover waits for leases",
                                     f"{topic} {run.body} behind {before.body}: "
                                     f"{(run.begin_ns - before.begin_ns) // MS} ms")
        self.verdict.record["waited_for_lease"] = waited

    def check_dead(self):
        for (topic, body), count in self.dead.items():
            runs = self.by_message.get((topic, body), ())
            rejected = any(run.verdict == "reject" for run in runs)
            exhausted = any(run.left == 0 and run.verdict != "done" for run in runs)
            if count > 1 or not (rejected or exhausted):
                self.verdict.add("dead exactly once, and with a reason",
                                 f"{topic} {body}: {count} times")
        for name, send in self.history.sends.items():
            runs = self.by_message.get(name, ())
            if send.kind in ("dead", "reject") and runs and not self.dead[name] \
                    and not self.was_damaged(send) \
                    and not self.in_any(self.lossy, send.at_ns, runs[-1].begin_ns + 10**10):
                self.verdict.add("dead exactly once, and with a reason",
                                 f"{send.topic} {send.body} is not among the dead")

    def check_early(self):
        for (topic, body), runs in self.by_message.items():
            send = self.history.sends[topic, body]
            due_ms = send.due_ms
            runs = [run for run in runs if not self.is_off(topic, run.slot, run.begin_ns)]
            for run in runs:
                if run.wall_ms < due_ms:
                    self.verdict.add("never early", f"{topic} {body}: {due_ms - run.wall_ms} ms")
            if topic == "merge" and runs and runs[0].begin_ns < send.at_ns + (DELAY_MS - 1) * MS:
                self.verdict.add("never early", f"{topic} {body}: before its delay was over")
            for before, run in zip(runs, runs[1:]):
                if before.verdict == "retry" and before.token == run.token \
                        and not self.is_forgotten(before, run) \
                        and not self.may_have_lapsed(before, run) \
                        and run.begin_ns < before.end_ns + (BACKOFF_MS - 1) * MS:
                    self.verdict.add("never early", f"{topic} {body}: before its back-off was over")

    def may_have_lapsed(self, before, run):
        """In a shared topic: may the claim have ended without the answer?"""
        leases = self.executed.leases
        return run.topic in self.history.shared and \
            (leases.has_lapsed(before, run) or leases.may_have_missed(before, run))

    def check_shared(self):
        leases = self.executed.leases

        def is_excused(before, run):
            return self.is_forgotten(before, run) or self.is_repeated(run.topic, run.body) or \
                self.in_any(self.damaged.get((run.topic, run.slot), ()), before.begin_ns,
                            run.begin_ns)

        leases.judge(self.by_message, is_excused)
        lapsed = sum(map(len, leases.lapsed.values()))
        self.verdict.figures["claims of shared topics"] = \
            f"{lapsed} ended with their lease, {leases.again} messages began again"
        self.verdict.record |= {"lapsed": lapsed, "begun_again": leases.again}

    def check_hot(self):
        past = Hot(self.history, lambda text: self.verdict.add(
            "a hot key holds up no other key", text),
            lambda run, from_ns: self.is_off(run.topic, run.slot, from_ns, run.begin_ns)).judge()
        self.verdict.figures["begun past a hot key"] = self.verdict.record["begun_past_hot"] = past

    def check_ticks(self):
        """Of schedules; what Redis loses for good may have been some of them."""
        if self.damaged:
            return
        judge = ticks.Ticks(self.history, self.lossy, AWAY_MS if self.severed else 0,
                            lambda *span: self.is_off(ticks.TOPIC, *span), self.verdict.add)
        count = judge.judge()
        self.verdict.figures["ticks of schedules"] = \
            f"{count}, {judge.stored_again} stored again, the latest by {judge.latest_ms} ms"
        self.verdict.record |= {"ticks": count, "ticks_stored_again": judge.stored_again,
                                "tick_latest_ms": judge.latest_ms}

    def check_fifo(self):
        """By sender and key: the first successful handling follows the order of sends."""
        keys = collections.defaultdict(list)
        for (topic, body), runs in self.by_message.items():
            send = self.history.sends[topic, body]
            if topic == "fifo" and send.outcome == "stored":
                first = next((run for run in runs if run.verdict == "done"), None)
                if first is not None:
                    keys[send.sender, send.key].append((send.number, first.begin_ns, send))
        for found in keys.values():
            found.sort(key=lambda item: item[0])
            for before, after in zip(found, found[1:]):
                if after[1] < before[1] and not self.in_any(self.lossy, before[2].at_ns, before[1]):
                    self.verdict.add("fifo keeps the order of a key",
                                     f"{after[2].body} was handled before {before[2].body}")

    def check_held(self):
        """By token: what fails in a fifo topic comes again before the rest of its key."""
        last, held = {}, 0
        for run in self.history.runs:
            if run.topic != "fifo":
                continue
            lane = self.history.lane(run)
            before = last.get(lane)
            last[lane] = run
            if before is None or before.verdict != "retry" or before.left == 0 \
                    or self.is_forgotten(before, run):
                continue
            held += 1
            if run.body != before.body:
                self.verdict.add("what fails in a fifo topic holds up what is behind it",
                                 f"{run.body} began after {before.body} had failed")
        self.verdict.figures["failures that held up others"] = held
        self.verdict.record["held_up"] = held

    def check_priority(self):
        judged = self.priority.judged
        self.verdict.figures["claims by priority judged"] = ", ".join(
            f"{count} {what}" for what, count in sorted(judged.items()))
        self.verdict.record["priority_claims"] = dict(judged)
        if judged["of some"] < LEAST_CHOICES:
            self.verdict.void.append(f"{judged['of some']} claims by priority of some that wait")

    def check_left(self):
        for key, found in self.history.final.items():
            name = key.split("{")[0]
            members = [member for member, _ in found if member] if isinstance(found, list) else []
            if name not in ("dead", "why", "slot", "topic", "body", "done", "schedule") and members:
                self.verdict.add("everything is handled after healing",
                                 f"{key}: {len(members)} left")
            if name == "body":
                bodies = [field for field in found if field.startswith(("b", "h"))]
                if bodies:
                    self.verdict.add("no body is left behind", f"{key}: {len(bodies)}")

    def check_owned(self):
        begin_ns, end_ns = self.fault_time()
        longest = 0
        slots = [(topic, slot) for topic, count in self.history.run["topics"].items()
                 for slot in range(count)]
        for topic, slot in slots:
            runs = self.by_slot.get((topic, slot), ())
            times = [run.begin_ns for run in runs if begin_ns <= run.begin_ns <= end_ns]
            for before, after in zip([begin_ns, *times], [*times, end_ns]):
                if self.in_any(self.damaged.get((topic, slot), ()), before, after):
                    continue
                longest = max(longest, after - before)
                limit_ms = UNOWNED_MS
                if any(self.in_any(self.severed[gain.pid], before, after)
                       for gain in self.gains[topic, slot]):
                    limit_ms += AWAY_MS
                if after - before > limit_ms * MS:
                    self.verdict.add("a slot has an owner again in time",
                                     f"{topic} {slot}: {(after - before) // MS} ms without a call")
        self.verdict.figures["longest pause of a slot"] = f"{longest / 1e9:.1f} s"
        self.verdict.record["longest_pause_ms"] = longest // MS

    def check_damaged(self):
        """Workers name each damaged slot, and consume the others."""
        named = collections.defaultdict(list)
        for event in self.history.events:
            if event.kind == "damaged":
                named[event.topic, event.slot].append(event.at_ns)
        spans = set()
        for slot, intervals in self.damaged.items():
            for begin_ns, end_ns in intervals:
                # A topic that lost its definition, too, is named as a whole.
                if not any(begin_ns <= at_ns <= end_ns
                           for at_ns in named[slot] + named[slot[0], -1]):
                    self.verdict.add("a damaged slot is named", f"{slot[0]} {slot[1]}")
                spans.add((begin_ns, end_ns))
        for begin_ns, end_ns in spans:
            beside = sum(1 for run in self.history.runs if begin_ns <= run.begin_ns <= end_ns and
                         not self.in_any(self.damaged.get((run.topic, run.slot), ()), run.begin_ns))
            if beside < LEAST_BESIDE * (end_ns - begin_ns) / 1e9:
                self.verdict.add("whole slots are consumed beside damaged ones",
                                 f"{beside} calls in {(end_ns - begin_ns) // MS} ms")
        if self.damaged:
            self.verdict.figures["slots damaged"] = sum(map(len, self.damaged.values()))
        self.verdict.record["slots_damaged"] = sum(map(len, self.damaged.values()))

    def most_moves(self):
        """How many slots may be gained in this run."""
        faults = [note.who for note in self.history.notes if note.what == "begin"]
        times = MOVES_BEGIN + sum(MOVES.get(fault, MOVES_MOST) for fault in faults)
        return int(times * sum(count for topic, count in self.history.run["topics"].items()
                               if topic not in self.history.shared))

    def check_moves(self):
        gains, most = sum(len(found) for found in self.gains.values()), self.most_moves()
        self.verdict.record["most_moves"] = most
        if gains > most:
            self.verdict.add("moves are bounded", f"{gains}, and at most {most} may be")

    def check_alarms(self):
        """An event of level ERROR wakes an operator; so a fault that he must mend has come before."""
        faults = {name for _, names in ALARMS for name in names}
        times = {name: self._intervals({name}, 0) for name in faults}
        alarms = [event for event in self.history.events if event.level == ERROR]
        for event in alarms:
            reasons = {name for words, names in ALARMS if re.match(words, event.text)
                       for name in names}
            if not any(begin_ns <= event.at_ns <= end_ns + ALARM_AFTER_MS * MS
                       for name in reasons for begin_ns, end_ns in times[name]):
                self.verdict.add("an alarm has a fault that an operator must mend",
                                 f"{event.worker}: {event.text}")
        self.verdict.figures["alarms"] = self.verdict.record["alarms"] = len(alarms)

    def check_coordination(self):
        """What coordination said to members, and they to it, is a path of the model."""
        slots, lines, bad, undecided = coordination.judge(self.history, self.traced)
        for slot, why in bad.items():
            self.verdict.add("coordination is a path of the model", f"{slot}: {why}")
        self.verdict.figures["coordination held to the model"] = \
            f"{lines} events of {slots} slots" + f", {undecided} undecided" * (undecided > 0)
        self.verdict.record |= {"traced_slots": slots - undecided, "traced_events": lines}
        if undecided:
            self.verdict.void.append(f"coordination of {undecided} slots is undecided")
        if lines < LEAST_TRACED and self.history.run["seconds"] >= TRACED_S and \
                self.history.run.get("coordination") != "redis":
            self.verdict.void.append(f"{lines} events of coordination held to the model")

    # --- what is only counted -----------------------------------------------------------------

    def takeovers(self):
        """By what befell the former owner: the ms from that until another process had its slot."""
        hits, found = collections.defaultdict(list), collections.defaultdict(list)
        for note in self.history.notes:
            if note.what in ("killed", "frozen", "cut", "flaps"):
                hits[int(note.detail)].append(note)
        given_up = collections.defaultdict(list)
        for event in self.history.events:
            if event.kind == "slot_lost" and event.status == "SMQ_OK":
                given_up[event.pid, event.topic, event.slot].append(event.at_ns)
        for slot, gains in self.gains.items():
            for before, after in zip(gains, gains[1:]):
                why = [note for note in hits[before.pid] if before.at_ns < note.at_ns < after.at_ns]
                left = any(before.at_ns < at_ns < after.at_ns
                           for at_ns in given_up[(before.pid, *slot)])
                if not why or left or before.pid == after.pid:
                    continue
                ms = (after.at_ns - why[-1].at_ns) // MS
                if why[-1].what == "killed" or ms <= CUT_MS + SESSION_MS:
                    found[why[-1].what].append(ms)
        return {what: sorted(times) for what, times in found.items()}

    def owners(self):
        """The fewest and the most processes that had all slots among them, while faults came."""
        begin_ns, end_ns = self.fault_time()
        had, counts = {}, []
        for event in self.history.events:
            if event.kind == "slot_gained":
                had[event.topic, event.slot] = event.pid
                if begin_ns <= event.at_ns <= end_ns:
                    counts.append(len(set(had.values())))
        return [min(counts, default=0), max(counts, default=0)]

    # --- whether the run showed enough --------------------------------------------------------

    def fault_time(self):
        times = {note.what: note.at_ns for note in self.history.notes}
        return times["faults-begin"], times["faults-end"]

    def check_worth(self):
        begin_ns, end_ns = self.fault_time()
        seconds = (end_ns - begin_ns) / 1e9
        times = [run.begin_ns for run in self.history.runs]
        handled = bisect.bisect(times, end_ns) - bisect.bisect(times, begin_ns)
        moves = [event.at_ns for event in self.history.events
                 if event.kind == "slot_gained" and begin_ns <= event.at_ns <= end_ns]
        faults = [note.who for note in self.history.notes if note.what == "begin"]
        outcomes = collections.Counter(send.outcome for send in self.history.sends.values())
        figures = self.verdict.figures
        figures["fault time"] = f"{seconds:.0f} s, seed {self.history.run['seed']}"
        figures["faults"] = f"{len(faults)} of {len(set(faults))} kinds"
        figures["sends"] = ", ".join(f"{count} {name}" for name, count in outcomes.items())
        figures["handlers begun"] = f"{len(self.history.runs)}, {handled / seconds:.0f} a second"
        figures["messages repeated"] = sum(
            1 for runs in self.by_message.values()
            if sum(run.verdict == "done" for run in runs) > 1)
        figures["dead letters"] = sum(self.dead.values())
        figures["slots gained"] = len(moves)
        figures["workers that had the slots"] = "{} to {}".format(*self.owners())
        figures["calls fenced"] = sum(1 for event in self.history.events if event.kind == "fenced")
        takeovers = self.takeovers()
        times = sorted(ms for found in takeovers.values() for ms in found)
        if times:
            figures["slots taken over"] = (f"{len(times)}, the median after "
                                           f"{times[len(times) // 2]} ms, the last {times[-1]} ms")
        self.verdict.record |= {
            "seed": self.history.run["seed"], "seconds": self.history.run["seconds"],
            "series": self.history.run.get("series", "faults"),
            "commit": self.history.run.get("commit", ""),
            "server": self.history.run.get("server", ""), "fault_ms": (end_ns - begin_ns) // MS,
            "sends": {str(name): count for name, count in sorted(outcomes.items(), key=str)},
            "handled": len(self.history.runs), "handled_a_second": round(handled / seconds),
            "repeated": figures["messages repeated"], "dead": figures["dead letters"],
            "faults": dict(sorted(collections.Counter(faults).items())), "moves": len(moves),
            "owners": self.owners(), "fenced": figures["calls fenced"], "takeover_ms": takeovers}
        stood = sorted({note.who for note in self.history.notes if note.what == "stood-still"})
        if stood:
            self.verdict.void.append(f"{', '.join(stood)} became a master without a fault: the machine "
                                     "stood still")
        if handled / seconds < LEAST_RATE:
            self.verdict.void.append(f"{handled / seconds:.0f} handlers a second")
        if len(moves) < seconds / LEAST_MOVES_S:
            self.verdict.void.append(f"{len(moves)} slots moved in {seconds:.0f} s")

    def check(self, of_redis=True):
        """`of_redis`: also what follows from the logs of Redis, which take most of the time."""
        self.check_worth()
        for check, needs_redis in (
                (self.check_lost, False), (self.check_overlaps, False),
                (self.check_executed, True), (self.check_late, True), (self.check_begun, True),
                (self.check_gains, False), (self.check_attempts, True),
                (self.check_leased, False), (self.check_shared, True), (self.check_dead, False),
                (self.check_early, True), (self.check_fifo, False), (self.check_held, False),
                (self.check_hot, False), (self.check_ticks, False), (self.check_priority, True), (self.check_left, False),
                (self.check_owned, False), (self.check_damaged, False),
                (self.check_moves, False), (self.check_alarms, False),
                (self.check_coordination, False)):
            if of_redis or not needs_redis:
                check()
        found = {name: len(texts) for name, texts in self.verdict.violations.items()}
        self.verdict.record |= {
            "lost": found.get("nothing acknowledged is lost", 0),
            "overlaps": found.get("one handler at a time for a key under one token", 0),
            "late": found.get("no handler begins long after a newer token was stored", 0),
            "violations": found, "void": self.verdict.void, "verdict": self.verdict.word()}
        return self.verdict


def judge(folder, traced=TRACED, of_redis=True, known=None):
    """`traced`: of how many slots the coordination is held against the model."""
    return Checker(History(folder), traced, known).check(of_redis)


def judge_nodes(folder, nodes):
    """The violations that show in the logs of these nodes alone, each of which is judged for
    itself."""
    checker = Checker(History(folder), 0)
    read(checker.history, checker.executed, checker.priority, nodes=nodes)
    return checker.verdict
