"""Judge the order of claims in topics with priorities: none takes a message while one of a larger
priority waits in its slot, unless the owner has named the key of that as one that is busy, or a
former owner keeps it.
"""
import collections

from history import CLAIMED, Broken, Change, begin_of_key

TOPIC = "priority_"  # with what the tags of its slots begin


class Slots:
    """What the slots of a node hold, as far as its log shows it."""

    def __init__(self):
        # By key of Redis: member -> score; of a slot's hash only its `base`.
        self.held = collections.defaultdict(dict)
        # The tags of slots that came from another node with claims, which the log does not show.
        self.restored = set()

    def note(self, command):
        """Follow what one command does to the messages of a slot, and to its `base`."""
        name, key, *words = command
        held = self.held[key]
        if name == "ZADD":
            words = words[1:] if words[0] in ("XX", "NX", "GT", "LT") else words
            held.update((member, float(score)) for score, member in zip(words[::2], words[1::2])
                        if member)
        elif name == "HSET" and "base" in words[::2]:
            held["base"] = int(words[words.index("base") + 1])
        elif name == "ZREM":
            for member in words:
                held.pop(member, None)
        elif name == "ZREMRANGEBYRANK" and words[1] == "-1":
            for member in sorted(held, key=held.get)[int(words[0]):]:
                del held[member]
        elif name == "RESTORE" and key.startswith("prepare{"):
            self.restored.add(key[len("prepare{"):-1])
        elif name in ("DEL", "UNLINK"):
            for deleted in [key, *words]:
                self.held.pop(deleted, None)
                self.restored.discard(deleted[len("prepare{"):-1])

    def kept(self, tag):
        """The keys of which a former owner has claims, each as the begin of its members."""
        base = self.held[f"slot{{{tag}}}"].get("base", 0)
        claims = map(CLAIMED.match, self.held[f"prepare{{{tag}}}"])
        return tuple({begin_of_key(claim[3]) for claim in claims
                      if claim and int(claim[2]) <= base})

    def may_keep_others(self, call):
        """Does the call look for claims of a former owner, and the log does not show them all?

        It looks without the scores; what reads claims whose leases have ended reads these, too."""
        return call.tag in self.restored and any(
            command[:3] == ["ZRANGE", f"prepare{{{call.tag}}}", "0"] and "BYSCORE" in command
            and "WITHSCORES" not in command for command in call.commands)


class Priority:
    """`add(text)` is called with each violation."""

    def __init__(self, add):
        self.add = add
        self.judged = collections.Counter()  # claims, by what they took
        self.slots = None  # of the node that is read; None: not all of it is known

    def begin_node(self):
        self.slots = None

    def take(self, step):
        """The next step of the node."""
        if isinstance(step, Broken):
            # The first connection finds the node empty; later ones miss something.
            self.slots = Slots() if step.line == 1 else None
        elif self.slots is None:
            return
        elif isinstance(step, Change):
            self.slots.note(step.command)
        elif step.tag is not None and step.tag.startswith(TOPIC):
            took = self._check_claim(self.slots, step)
            if took is not None:
                self.judged[took] += 1

    def _check_claim(self, slots, call):
        """What it claimed: all of it, a part of what waited, or a push; None: it is not judged."""
        store, claimed, best = slots.held[call.tag], {}, None
        for command in call.writes():
            if command[0] == "ZADD" and command[1] == f"prepare{{{call.tag}}}":
                for place, _, name in call.claims():
                    if call.token is None:  # it never waited
                        claimed[name] = float(place)
                    elif name in store:
                        claimed[name] = store[name]
                passes = call.passes + slots.kept(call.tag)
                best = max((score for name, score in store.items()
                            if name not in claimed and not name.startswith(passes)),
                           default=None)
            slots.note(command)
        # A suspect is claimed alone, whatever else waits.
        if not claimed or any(score * 128 % 2 == 1 for score in claimed.values()) \
                or slots.may_keep_others(call):
            return None
        if best is not None and best // 1 > min(claimed.values()) // 1:
            self.add(f"{call.node} line {call.line}: {min(claimed.values())} before {best}")
        return "pushed" if call.token is None else "of all" if best is None else "of some"
