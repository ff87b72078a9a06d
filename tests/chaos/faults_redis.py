"""Faults of Redis nodes."""
import subprocess
import time

from fault import Fault
from servers import REDIS_PORT, wait_until


class RedisFault(Fault):
    def master(self):
        """A master with a replica in sync, so that the cluster survives its loss.  What is lost
        with it was acknowledged since then, or a moment before."""
        node = self.choose(node for node in self.world.cluster.masters()
                           if self.world.cluster.replica_of(node))
        self.must(self.world.cluster.follows(node), f"the replica of {node.host} is behind")
        return node

    def replica(self):
        node = self.world.cluster.replica_of(self.master())
        self.must(node is not None, "there is no replica in sync")
        return node

    def holder(self, tag):
        """The master that has the keys of a hash tag."""
        masters = self.world.cluster.masters()
        self.must(masters, "there is no master")
        number = masters[0].ask("CLUSTER", "KEYSLOT", tag)
        source = next((node for node in masters if node.ask("CLUSTER", "COUNTKEYSINSLOT", number)),
                      None)
        self.must(source is not None, f"no master has keys of {tag}")
        return source

    def heal(self):
        wait_until(self.world.cluster.is_whole, 40, "the cluster is whole again")


class KillMaster(RedisFault):
    """A master dies; its replica takes over when it stays away for long enough."""

    replaces = True
    shortest, longest = 0.2, 7.0

    def victim(self):
        return self.master()

    def run(self):
        node = self.victim()
        self.kill(node)
        self.pause()
        node.start()
        self.heal()


class KillReplica(KillMaster):
    replaces = False
    shortest, longest = 1.0, 5.0

    def victim(self):
        return self.replica()


class FreezeMaster(RedisFault):
    """A master stands still; longer than the node time-out, its replica takes over."""

    replaces = True
    shortest, longest = 0.5, 7.0

    def run(self):
        self.freeze(self.master())
        self.heal()


class CutMaster(RedisFault):
    """A master is cut off from all other nodes, but clients still reach it."""

    replaces = True
    shortest, longest = 3.0, 7.0

    def run(self):
        self.isolate(self.master(), self.world.cluster.nodes, REDIS_PORT)
        self.heal()


class Failover(RedisFault):
    """A replica takes over by agreement with its master."""

    # Redis gives a manual failover up without a word after 5 s (CLUSTER_MF_TIMEOUT of cluster.h), as
    # that of a replica that was started a moment ago; then an operator asks again.
    asks, asks_s = 3, 6
    replaces = True

    def run(self):
        node = self.replica()
        self.world.note("failover", node.host, node.pid)
        self.must(any(self.takes_over(node) for _ in range(self.asks)), "it did not take over")
        self.heal()

    def takes_over(self, node):
        if node.role() == "master":
            return True
        self.must(node.ask("CLUSTER", "FAILOVER") is not None, "it refused")
        try:
            wait_until(lambda: node.role() == "master", self.asks_s, f"{node.host} is a master")
        except TimeoutError:
            return False
        return True


class Migrate(RedisFault):
    """A loaded hash slot moves to another master, and is half moved for a while."""

    shortest, longest = 0.5, 4.0

    def tag(self):
        return self.world.slot_key(self.chance)

    def run(self):
        cluster = self.world.cluster
        tag = self.tag()
        source, masters = self.holder(tag), cluster.masters()
        number = source.ask("CLUSTER", "KEYSLOT", tag)
        ids = {node: node.ask("CLUSTER", "MYID") for node in masters}
        target = self.choose(node for node in masters if node is not source)
        self.world.note("migrates", f"{source.host}-{target.host}", number)
        target.ask("CLUSTER", "SETSLOT", number, "IMPORTING", ids[source])
        source.ask("CLUSTER", "SETSLOT", number, "MIGRATING", ids[target])
        moved, half = 0, False
        while names := source.ask("CLUSTER", "GETKEYSINSLOT", number, 2):
            source.ask("MIGRATE", target.address, REDIS_PORT, "", 0, 5000, "KEYS", *names)
            moved += len(names)
            if not half:
                half = True
                self.pause()
        for node in [target, source, *[node for node in masters if node not in (source, target)]]:
            node.ask("CLUSTER", "SETSLOT", number, "NODE", ids[target])
        self.must(moved > 0 and half, "no key moved")
        self.heal()


class MigrateAtomically(RedisFault):
    """A loaded hash slot moves to another master in one step, as Valkey 9 can."""

    shortest, longest = 0.2, 1.0

    @classmethod
    def is_possible(cls, world):
        lines = world.cluster.nodes[0].ask("CLUSTER", "HELP") or []
        return any("MIGRATESLOTS" in line for line in lines)

    def run(self):
        tag = self.world.slot_key(self.chance)
        source = self.holder(tag)
        number = source.ask("CLUSTER", "KEYSLOT", tag)
        target = self.choose(node for node in self.world.cluster.masters() if node is not source)
        self.world.note("migrates", f"{source.host}-{target.host}", number)
        reply = source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", number, number,
                           "NODE", target.ask("CLUSTER", "MYID"))
        self.must(reply is not None, "it was refused")
        wait_until(lambda: source.ask("CLUSTER", "COUNTKEYSINSLOT", number) == 0 and
                   target.ask("CLUSTER", "COUNTKEYSINSLOT", number), 20, f"{tag} has moved")
        self.world.note("left", source.host, number)
        self.pause()
        self.heal()


class OutOfMemory(RedisFault):
    def run(self):
        node = self.master()

        def refusals():
            errors = node.ask("INFO", "errorstats")
            return int((errors or {}).get("errorstat_OOM", "count=0").partition("=")[2])

        before = refusals()
        self.world.note("full", node.host, node.pid)
        node.ask("CONFIG", "SET", "maxmemory", "1mb")
        try:
            wait_until(lambda: refusals() > before, 10, f"{node.host} refuses a command")
            self.pause()
        finally:
            node.ask("CONFIG", "SET", "maxmemory", "0")
        self.heal()


class PauseClients(RedisFault):
    def run(self):
        node = self.master()
        self.world.note("paused", node.host, node.pid)
        self.must(node.ask("CLIENT", "PAUSE", int(self.seconds * 1000), "ALL"), "it refused")
        begin = time.monotonic()
        node.ask("PING", seconds=self.seconds + 5)
        self.must(time.monotonic() - begin > self.seconds / 2, "it answered at once")
        self.heal()


class KillClients(RedisFault):
    shortest, longest = 0.2, 1.0

    def run(self):
        node = self.master()
        killed = sum(node.ask("CLIENT", "KILL", "TYPE", kind) or 0 for kind in ("normal", "pubsub"))
        self.world.note("clients", node.host, killed)
        self.must(killed > 1, "nobody was connected")
        self.pause()


class FlushScripts(RedisFault):
    shortest, longest = 0.2, 1.0

    def run(self):
        node = self.master()
        cached = node.info("memory", "number_of_cached_scripts")
        self.world.note("flushed", node.host, cached or 0)
        node.ask("SCRIPT", "FLUSH")
        self.must(cached, "no script was cached")
        self.pause()


class DenyCommand(RedisFault):
    """A master refuses one command, as after a mistake in its access list."""

    shortest, longest = 0.5, 2.0
    COMMANDS = ("zadd", "zrem", "hset", "hdel")

    def run(self):
        node, command = self.master(), self.chance.choice(self.COMMANDS)
        node.ask("ACL", "LOG", "RESET")
        self.world.note("denied", node.host, command)
        self.must(node.ask("ACL", "SETUSER", "default", f"-{command}"), "it was refused")
        try:
            wait_until(lambda: node.ask("ACL", "LOG"), 10, f"{node.host} refuses {command}")
            self.pause()
        finally:
            node.ask("ACL", "SETUSER", "default", f"+{command}")
        self.heal()


class LoseRegistry(RedisFault):
    """The list of all topics is gone.  The topics are found by their keys, and the list is made
    again."""

    shortest, longest = 0.1, 1.0
    KEY, MOST_S = "slotmq{topics}", 30

    def run(self):
        node, topics = self.holder(self.KEY), set(self.world.topics)
        self.must(topics <= set(node.ask("HKEYS", self.KEY) or ()), "it does not name all topics")
        self.world.note("registry", node.host, len(topics))
        self.must(node.ask("DEL", self.KEY), "it was not there")
        self.pause()
        wait_until(lambda: all(topic in self.shown() for topic in topics), self.MOST_S,
                   "all topics are shown")
        wait_until(self.is_made_again, self.MOST_S, "the list is made again")
        self.heal()

    def shown(self):
        """What `topic list` prints; nothing while Redis cannot be reached."""
        try:
            return self.world.command("topic", "list")
        except subprocess.CalledProcessError:
            return ""

    def is_made_again(self):
        try:
            self.world.command("topic", "repair", "--all")
        except subprocess.CalledProcessError:
            return False
        return set(self.world.topics) <= set(self.holder(self.KEY).ask("HKEYS", self.KEY) or ())
