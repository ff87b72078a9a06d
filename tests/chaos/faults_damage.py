"""Redis loses a part of a topic: keys of slots, definitions, all that a node has.  Workers name the
damaged slots and consume the others; an operator runs `slotmq topic repair`."""
import subprocess

import ticks
from faults_redis import RedisFault
from servers import wait_until

NAMED_S = 20  # until workers have named what is damaged; check.py judges whether they have


class Damage(RedisFault):
    shortest, longest = 1.0, 4.0

    def lose(self):
        """Do it, and return the slots, as "jobs_5", and the topics that it hit."""
        raise NotImplementedError

    def lost(self, *names):
        """They are in the log before they are gone."""
        for name in names:
            self.world.note("lost", name)

    def restart(self, node):
        """To clients the node was away, as one is that returns empty: parked owners look again."""
        for kind in ("normal", "pubsub"):
            node.ask("CLIENT", "KILL", "TYPE", kind)

    def run(self):
        sizes = self.world.log_sizes()
        slots, topics = self.lose()
        try:
            wait_until(lambda: self.are_named(slots, sizes), NAMED_S, "all are named")
        except TimeoutError:
            pass
        self.pause()
        for topic in sorted(topics):
            wait_until(lambda topic=topic: self.repair(topic), 60, f"{topic} is repaired")
            self.world.note("repaired", topic)

    def are_named(self, slots, sizes):
        """A topic that lost its definition, too, is named as a whole, as slot -1."""
        named = self.world.damaged_since(sizes)
        return all(tag in named or f"{tag.rpartition('_')[0]}_-1" in named for tag in slots)

    def repair(self, topic):
        """False while Redis cannot be reached."""
        try:
            self.world.command("topic", "repair", topic)
        except subprocess.CalledProcessError:
            return False
        return True


class LoseSlot(Damage):
    """The keys of a slot are gone."""

    def lose(self):
        tag = self.world.slot_key(self.chance)
        node = self.holder(tag)
        self.lost(tag)
        keys = [tag, *(f"{part}{{{tag}}}" for part in ("prepare", "dead", "why", "slot", "body"))]
        self.must(node.ask("DEL", *keys) >= 5, "the keys were not there")
        self.restart(node)
        return {tag}, {tag.rpartition("_")[0]}


class LoseDefinition(Damage):
    """topic{T} is gone."""

    def lose(self):
        topic = self.chance.choice(self.world.topics)
        node = self.holder(topic)
        self.lost(f"topic{{{topic}}}")
        self.must(node.ask("DEL", f"topic{{{topic}}}") == 1, "it was not there")
        return set(), {topic}


class EmptyNode(Damage):
    """All that a master has is gone, and its replica follows it."""

    def lose(self):
        node = self.master()
        keys = node.ask("KEYS", "*")
        slots = {key[len("slot{"):-1] for key in keys if key.startswith("slot{")}
        self.must(slots, "the node has no slot")
        topics = [*self.world.topics, ticks.TOPIC]
        self.lost(*sorted(slots),
                  *(f"topic{{{topic}}}" for topic in topics if f"topic{{{topic}}}" in keys))
        node.ask("FLUSHALL")
        self.must(node.ask("KEYS", "slot{*") == [], "the node kept its keys")
        self.restart(node)
        return slots, topics  # the list of all may be gone, too
