"""The logs of a chaos run, read into plain objects.  README.md lists their lines."""
import dataclasses
import json
import pathlib
import re

from ticks import Tick

LINE = re.compile(r"\+(\d+)\.(\d{6}) \[\d+ (\S+)\] (.*)")
TOKEN = re.compile(r"[0-9a-f]{24}")
CLAIMED = re.compile(r"(-?\d+)c(\d+):(.*)", re.DOTALL)
LENGTH = re.compile(r"(\d+):")
WRITES = {"ZADD", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "HSET", "HSETNX", "HDEL",
          "HINCRBY", "DEL", "UNLINK"}


def argument(script, name):
    """The index of an argument of a script, from its contract."""
    text = (pathlib.Path(__file__).parents[2] / "lua" / f"{script}.lua").read_text()
    contract = re.search(r"^-- ARGV (.*?)^-- RETURN", text, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"\w+", re.sub(r"\(.*?\)|--", "", contract, flags=re.DOTALL)).index(name)


PASSES = argument("consume", "passes")
NUL = "\\x00"  # as MONITOR writes it, before the length of a key


def begin_of_key(member):
    """With what all members of its key begin, as MONITOR shows them; all of one without a key."""
    length = LENGTH.match(member[len(NUL):]) if member.startswith(NUL) else None
    return member[:len(NUL) + length.end() + int(length[1])] if length else member


@dataclasses.dataclass
class Send:
    """One send.  `outcome` is stored, refused, unknown, or None while no receipt came."""
    sender: str
    level: int
    number: int
    topic: str
    body: str
    key: str
    priority: int
    due_ms: int
    at_ns: int
    outcome: str = None
    outcome_ns: int = 0
    status: str = None

    @property
    def kind(self):
        return self.body.rsplit(":", 1)[1]


@dataclasses.dataclass
class Run:
    """One call of a handler.  `end_ns` is None when it never ended, as when the process died.
    `token` is "-" in a shared topic."""
    worker: str
    pid: int
    number: int
    topic: str
    slot: int
    token: str
    claim: int
    attempt: int
    left: int
    priority: int
    due_ms: int
    wall_ms: int
    body: str
    begin_ns: int
    end_ns: int = None
    verdict: str = None

    @property
    def key(self):
        return self.body.split(":", 1)[0]


@dataclasses.dataclass
class Push:
    """A message that a send claimed for the owner of a slot, when it came to a worker: accepted,
    foreign (for a later owner), or only a wake, because its claim is not the one after the last."""
    worker: str
    pid: int
    at_ns: int
    verdict: str
    topic: str
    slot: int
    token: str
    claim: int


@dataclasses.dataclass
class Event:
    worker: str
    pid: int
    at_ns: int
    kind: str
    topic: str
    slot: int
    token: str
    status: str
    level: int  # of smq_level
    text: str


@dataclasses.dataclass
class Said:
    """What coordination said to the owner of a slot, or the owner to it: a line of the trace."""
    worker: str
    pid: int
    at_ns: int
    what: str
    topic: str
    slot: int
    token: str
    session: int


@dataclasses.dataclass
class Note:
    """A line of the faults' log."""
    what: str
    at_ns: int
    who: str
    detail: str


@dataclasses.dataclass
class Call:
    """A script that a node executed for a client, with the commands inside it.

    `tag` is "orders_5" of the keys "slot{orders_5}"; `token` is None where it carries none, as in
    a send.  A send that claims is a push: what it publishes carries the token of the owner.
    `passes`: of a claim by key, the keys that it must not take, as members begin with them.
    `named`: its arguments, among which are the entries that it answers.
    `ahead_ns`: by how much the clock of the node was ahead."""
    node: str
    line: int
    at_ns: int
    tag: str
    token: str
    takes_over: bool
    passes: tuple
    commands: list
    named: list = ()
    ahead_ns: int = 0

    def writes(self):
        return [command for command in self.commands if command[0] in WRITES]

    def claims(self):
        """The entries that it claims, each as (place, number, name in the store).  A claim that it
        takes back, because a later command was refused, is none."""
        found = []
        for command in self.commands:
            entries = [(match[1], int(match[2]), match[3])
                       for match in map(CLAIMED.match, command[2:]) if match]
            if command[:2] == ["ZADD", f"prepare{{{self.tag}}}"]:
                found += entries
            elif command[:2] == ["ZREM", f"prepare{{{self.tag}}}"]:
                found = [entry for entry in found if entry not in entries]
        return found

    def published(self):
        """What it publishes to wake the owner, without the words that only wake."""
        return [command[2] for command in self.commands
                if command[0] == "SPUBLISH" and len(command) > 2 and command[2]]


@dataclasses.dataclass
class Broken:
    """What a node executed before is not known completely: a new connection, or its master's
    stream began."""
    node: str
    line: int
    at_ns: int


@dataclasses.dataclass
class Change:
    """A command that changed the data of a node without a call: one that it got from its master, or
    one that moved keys to or from another node, as DEL or RESTORE."""
    node: str
    line: int
    at_ns: int
    command: list


class Clock:
    """The times that a node writes, by its own clock, as true ones.  `steps`: when its clock was
    moved, and by how much it was ahead from then on."""

    SLACK_NS = 1_000_000_000  # a step is noted before it is made

    def __init__(self, steps):
        begins = [float("-inf"), *[at_ns for at_ns, _ in steps]]
        self.spans = list(zip(begins, [*begins[1:], float("inf")],
                              [0, *[ahead_ns for _, ahead_ns in steps]]))
        self.last_ns = 0  # it goes on from there

    def ahead(self, said_ns):
        """By how much the clock was ahead when it said that."""
        if len(self.spans) == 1:
            return 0
        found = [ahead_ns for begin_ns, end_ns, ahead_ns in self.spans
                 if begin_ns - self.SLACK_NS <= said_ns - ahead_ns <= end_ns + self.SLACK_NS]
        ahead_ns = min(found or (span[2] for span in self.spans),
                       key=lambda ahead_ns: abs(said_ns - ahead_ns - self.last_ns))
        self.last_ns = said_ns - ahead_ns
        return ahead_ns


class History:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.run = json.loads((self.folder / "run.json").read_text())
        self.stops = {f"w{i + 1}" for i, zk_loss in enumerate(self.run.get("zk_losses", ()))
                      if zk_loss == "stop"}
        self.strict, self.replicated, self.shared = (self.run.get(name, ()) for name in
                                                     ("strict", "replicated", "shared"))
        self.final = json.loads((self.folder / "final.json").read_text())
        self.sends, self.runs, self.pushes = {}, [], []
        self.events, self.said, self.notes, self.ticks = [], [], [], []
        for path in sorted(self.folder.glob("sender-*.log")):
            self._read_sender(path)
        for path in sorted(self.folder.glob("worker-*.log")):
            self._read_worker(path)
        for words in self._lines(self.folder / "faults.log", 3):
            self.notes.append(Note(words[0], int(words[1]), words[2], words[3]))
        self.runs.sort(key=lambda run: run.begin_ns)
        self.events.sort(key=lambda event: event.at_ns)

    @staticmethod
    def _lines(path, splits):
        """The words of each line; a line that the end of its process cut is left out."""
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.endswith("\n"):
                    yield line[:-1].split(" ", splits)

    def _read_sender(self, path):
        name, level = path.stem.removeprefix("sender-"), 0
        for word, at_ns, *rest in self._lines(path, 20):
            if word == "level":
                level = int(rest[0])
            elif word == "send":
                topic, body, key, priority, due_ms = rest
                self.sends[topic, body] = Send(name, level, int(body.split(":")[2]), topic, body,
                                               key, int(priority), int(due_ms), int(at_ns))
            elif word == "receipt":
                send = self.sends[rest[0], rest[1]]
                send.outcome, send.outcome_ns, send.status = rest[2], int(at_ns), rest[3]

    def _read_worker(self, path):
        name, pid, open_runs = path.stem.removeprefix("worker-"), 0, {}
        for word, at_ns, *rest in self._lines(path, 20):
            at_ns = int(at_ns)
            if word == "process":
                pid, open_runs = int(rest[1]), {}
            elif word == "begin":
                number, topic, slot, token, claim, *numbers, body = rest
                run = Run(name, pid, int(number), topic, int(slot), token, int(claim),
                          *map(int, numbers), body, at_ns)
                self.runs.append(run)
                open_runs[run.number] = run
            elif word == "end":
                run = open_runs.pop(int(rest[0]))
                run.end_ns, run.verdict = at_ns, rest[1]
            elif word == "tick":
                slot, attempt, sent_ms, tick = rest
                self.ticks.append(Tick(name, at_ns, int(slot), int(attempt), int(sent_ms), tick))
            elif word == "push":
                verdict, topic, slot, token, claim = rest
                self.pushes.append(Push(name, pid, at_ns, verdict, topic, int(slot), token,
                                        int(claim)))
            elif word == "event":
                kind, topic, slot, token, status, level, *text = rest
                self.events.append(Event(name, pid, at_ns, kind, topic, int(slot), token, status,
                                         int(level), " ".join(text)))
            elif word == "coord":
                what, topic, slot, token, session = rest
                self.said.append(Said(name, pid, at_ns, what, topic, int(slot), token,
                                      int(session)))

    def lane(self, run):
        """What its worker handles one at a time: the messages of a key."""
        return (run.topic, run.key, run.token)

    def nodes(self):
        return sorted(path.stem.removeprefix("monitor-")
                      for path in self.folder.glob("monitor-*.log"))

    def executed(self, node):
        """What a node executed, in its order: Call, Change and Broken."""
        call, follows, unseen = None, True, self._unseen(node)
        clock = Clock([(note.at_ns, int(note.detail) * 1_000_000) for note in self.notes
                       if note.what == "clock" and note.who == node])
        with open(self.folder / f"monitor-{node}.log", encoding="latin-1") as file:
            for number, line in enumerate(file, 1):
                found = LINE.match(line)
                if not found:
                    if line.startswith("#"):
                        call, clock.last_ns = None, int(line.split()[2])
                        yield Broken(node, number, clock.last_ns)
                    continue
                words = found[4].rstrip()[1:-1].split('" "')
                if found[3] == "lua":
                    if call is not None:
                        call.commands.append(words)
                    continue
                if call is not None:
                    yield call
                call = None
                said_ns = int(found[1] + found[2]) * 1000 - self.run["wall_minus_monotonic_ns"]
                ahead_ns = clock.ahead(said_ns)
                at_ns = said_ns - ahead_ns
                if unseen and at_ns > unseen[0]:
                    del unseen[0]
                    yield Broken(node, number, at_ns)
                name = words[0].upper()
                if name == "MIGRATE":  # the keys are at another node now, where they change
                    moved = words[words.index("KEYS") + 1:]
                    yield Change(node, number, at_ns, ["DEL", *moved])
                if name.startswith("RESTORE"):  # keys come from another node
                    yield Change(node, number, at_ns, ["RESTORE", words[1]])
                if name == "FLUSHALL":
                    follows = True
                    yield Broken(node, number, at_ns)
                if name in ("EVALSHA", "EVAL"):
                    follows, call = False, self._call(node, number, at_ns, words)
                    call.ahead_ns = ahead_ns
                elif name in WRITES:
                    if not follows:
                        yield Broken(node, number, at_ns)
                    follows = True
                    yield Change(node, number, at_ns, [name, *words[1:]])
        if call is not None:
            yield call

    def _unseen(self, node):
        """When the data of the node changed, or may have, and MONITOR shows nothing of that.  Slots
        left the node in one step; or it was a master that could not be reached: afterwards it has
        the data of the one that replaced it, and may replace that one before it gets a command."""
        return [note.at_ns for note in self.notes
                if note.what in ("left", "thawed", "reached") and note.who == node]

    @staticmethod
    def _call(node, number, at_ns, words):
        count = int(words[2])
        keys, arguments = words[3:3 + count], words[3 + count:]
        tag = next((key[len("slot{"):-1] for key in keys if key.startswith("slot{")), None)
        token = arguments[1] if len(arguments) > 1 and TOKEN.fullmatch(arguments[1]) else None
        takes_over = token is not None and len(arguments) > 3 and arguments[3] in ("fast", "strict")
        return Call(node, number, at_ns, tag, token, takes_over, History._passes(arguments), [],
                    arguments)

    @staticmethod
    def _passes(arguments):
        """LEN:KEY of each key that a consume call passes over, behind the byte before it."""
        found, text = [], arguments[PASSES] if len(arguments) > PASSES else ""
        while length := LENGTH.match(text):
            end = length.end() + int(length[1])
            found.append(NUL + text[:end])
            text = text[end:]
        return tuple(found)
