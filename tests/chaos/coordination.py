"""The history of coordination of a run, as coord/model/README.md wants it, and its trace check.

Who was granted what comes from the traces of the workers, the faults from their log.
"""
import concurrent.futures
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "coord" / "model"))
import run          # noqa: E402
import trace_check  # noqa: E402
import ticks        # noqa: E402

MEMBERS = 40  # incarnations of a slot that one search looks at
NOT_RELEASED = re.compile(r"topic (\S+): member (\S+) at host \S+ did not release \d+ slots "
                          r"\(([-,\d]+)")
RANGE = re.compile(r"(\d+)-(\d+)")
# After these a tree in Redis may have gone back, which is outside of the model.
FORGETS = {"KillMaster", "FreezeMaster", "CutMaster", "LoseTreeWrites", "OlderTree", "WipeTree",
           "LoseWritesToLateClock"}
TOPIC_NODE = re.compile(r"/slotmq/topics/([^/]+)")


def ended(history):
    """By topic the time of the first fault that lies outside of the model."""
    ends = {}
    in_redis = history.run.get("coordination") == "redis"
    topics = [*history.run["topics"], ticks.TOPIC]
    for note in history.notes:
        if in_redis and note.what == "begin" and note.who in FORGETS:
            for topic in topics:
                ends.setdefault(topic, note.at_ns)
        if note.what == "tree":
            found = TOPIC_NODE.match(note.who)
            of_all = note.who in ("/", "/slotmq/topics")
            for topic in [found[1]] if found else topics if of_all else []:
                ends.setdefault(topic, note.at_ns)
        if note.what == "lost":
            ends.setdefault(re.sub(r"_\d+$|^topic{|}$", "", note.who), note.at_ns)
    return ends


def lines(history):
    """The history, up to what lies outside of the model."""
    ends, found = ended(history), []
    for said in history.said:
        line = {"ts": said.at_ns, "what": said.what, "member": said.worker,
                "incarnation": f"{said.pid}.{said.session}"}
        if said.slot >= 0:
            line |= {"topic": said.topic, "slot": said.slot}
        if said.what == "granted":
            line["token"] = said.token
        found.append(line)
    for event in history.events:
        late = event.kind == "not_released" and NOT_RELEASED.search(event.text)
        for first, last in RANGE.findall(late[3]) if late else ():
            found += [{"ts": event.at_ns, "member": late[2], "topic": late[1], "slot": slot,
                       "what": "timed_out"} for slot in range(int(first), int(last) + 1)]
    for note in history.notes:
        if note.what == "hits":
            found.append({"ts": note.at_ns, "member": note.who, "what": "cut"})
    found = [line for line in found if line["ts"] < ends.get(line.get("topic"), float("inf"))]
    return sorted(found, key=lambda line: line["ts"])


def beginning(of_slot):
    """The lines of a slot until it has had too many incarnations for a short search."""
    members = set()
    for index, line in enumerate(of_slot):
        if line["what"] not in trace_check.NO_STEP:
            members.add(trace_check.who(line))
        if len(members) > MEMBERS:
            return of_slot[:index]
    return of_slot


def slots(history):
    """(topic, slot, its lines), those with the most lines first."""
    found = [(topic, slot, beginning(of_slot))
             for topic, slot, of_slot in trace_check.slots(lines(history))]
    return sorted(found, key=lambda slot: -len(slot[2]))


def judge(history, most):
    """(slots, lines, {slot: why it is no path}, undecided) of the slots with the most lines."""
    children, looked_at = run.Children(), slots(history)[:most]

    def verdict(found):
        try:
            return trace_check.check(found[2], children)
        except trace_check.Undecided as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(run.AT_ONCE) as pool:
        verdicts = list(pool.map(verdict, looked_at))
    bad = {f"{topic} {slot}": why for (topic, slot, _), why in zip(looked_at, verdicts)
           if isinstance(why, str)}
    undecided = sum(isinstance(why, Exception) for why in verdicts)
    return len(looked_at), sum(len(found) for _, _, found in looked_at), bad, undecided
