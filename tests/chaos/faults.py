"""The faults of a chaos run: how each begins, how it is seen to bite, and how it is healed.

A fault is a class.  SERIES lists them by what they concern: the series run beside each other, the
faults of one series one after another.
"""
import contextlib
import random
import signal
import time

import kazoo.client
import kazoo.exceptions

from servers import REDIS_PORT, ZOOKEEPER_PORT, wait_until


class DidNotBite(Exception):
    """The fault did not do what it is for, so the run shows less than it says."""


class Fault:
    """One fault.  `run` begins it, keeps it up for `seconds`, checks that it bit, and heals it."""

    shortest, longest = 1.0, 5.0

    def __init__(self, world, chance, seconds):
        self.world, self.chance, self.seconds = world, chance, seconds

    @property
    def name(self):
        return type(self).__name__

    def run(self):
        raise NotImplementedError

    def must(self, bit, what):
        if not bit:
            raise DidNotBite(f"{self.name}: {what}")

    def choose(self, candidates):
        candidates = list(candidates)
        self.must(candidates, "there is nothing to do it to")
        return self.chance.choice(candidates)

    def pause(self):
        self.world.sleep(self.seconds)


# --- workers ----------------------------------------------------------------------------------


class KillWorker(Fault):
    """A worker process dies, and is started again under its name."""

    def run(self):
        worker = self.choose(self.world.fleet.running())
        worker.kill()
        self.world.note("killed", worker.host, worker.pid)
        self.must(worker.process.returncode == -signal.SIGKILL, "it did not die of it")
        self.pause()
        worker.start()


class FreezeWorker(Fault):
    """A worker process stands still; longer than the session, others get its slots."""

    shortest, longest = 0.5, 9.0

    def run(self):
        worker = self.choose(self.world.fleet.running())
        worker.signal(signal.SIGSTOP)
        self.world.note("frozen", worker.host, worker.pid)
        self.pause()
        self.must(worker.is_frozen(), "it ran")
        self.world.note("thawed", worker.host, worker.pid)
        worker.signal(signal.SIGCONT)


class LeaveAndJoin(Fault):
    """A worker process is asked to end, and another joins."""

    def run(self):
        worker = self.choose(self.world.fleet.running())
        self.world.note("leaves", worker.host, worker.pid)
        status = worker.end()
        self.must(status == 0, f"it ended with {status}")
        self.pause()
        worker.start()


class Join(Fault):
    """One more worker process for a while."""

    shortest, longest = 2.0, 6.0

    def run(self):
        worker = self.choose(self.world.fleet.spare())
        worker.start()
        self.world.note("joins", worker.host, worker.pid)
        self.pause()
        self.must(worker.runs(), "it ended by itself")
        self.must(worker.end() == 0, "it did not end well")


class CutWorker(Fault):
    """A worker process is cut off from some servers, in both directions."""

    shortest, longest = 1.0, 8.0
    redis = zookeeper = inward = outward = True

    def servers(self):
        names = [(node.host, REDIS_PORT) for node in self.world.cluster.nodes] if self.redis else []
        if self.zookeeper:
            names += [(server.host, ZOOKEEPER_PORT) for server in self.world.ensemble.servers]
        return names

    def cut(self, worker):
        for name, _ in self.servers():
            if self.outward:
                self.world.network.cut(worker.host, name)
            if self.inward:
                self.world.network.cut(name, worker.host)

    def join(self, worker):
        for name, _ in self.servers():
            if self.outward:
                self.world.network.join(worker.host, name)
            if self.inward:
                self.world.network.join(name, worker.host)

    def run(self):
        worker = self.choose(self.world.fleet.running())
        self.world.note("cut", worker.host, worker.pid)
        self.cut(worker)
        try:
            self.pause()
            name, port = self.servers()[0]
            self.must(not self.world.network.connects(worker.host, name, port), "it can connect")
        finally:
            self.join(worker)
        self.world.note("joined", worker.host, worker.pid)


class CutWorkerFromRedis(CutWorker):
    zookeeper = False


class CutWorkerFromZooKeeper(CutWorker):
    redis = False


class LoseRequests(CutWorker):
    inward = False


class LoseReplies(CutWorker):
    outward = False


class FlapWorker(CutWorker):
    """The cut comes and goes."""

    def run(self):
        worker = self.choose(self.world.fleet.running())
        self.world.note("flaps", worker.host, worker.pid)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            self.cut(worker)
            try:
                self.world.sleep(self.chance.uniform(0.2, 0.9))
                name, port = self.servers()[0]
                blind = not self.world.network.connects(worker.host, name, port, 0.1)
            finally:
                self.join(worker)
            self.must(blind, "it can connect")
            self.world.sleep(self.chance.uniform(0.1, 0.6))
        self.world.note("joined", worker.host, worker.pid)


# --- Redis ------------------------------------------------------------------------------------


class RedisFault(Fault):
    loses_writes = True  # a failover may lose what only the former master had

    def master(self):
        """A master with a replica in sync, so that the cluster survives its loss."""
        return self.choose(node for node in self.world.cluster.masters()
                           if self.world.cluster.replica_of(node))

    def heal(self):
        wait_until(self.world.cluster.is_whole, 40, "the cluster is whole again")


class KillMaster(RedisFault):
    """A master dies; its replica takes over when it stays away for long enough."""

    shortest, longest = 0.2, 7.0

    def run(self):
        node = self.master()
        node.kill()
        self.world.note("killed", node.host, node.pid)
        self.must(not node.pings(), "it answers")
        self.pause()
        node.start()
        self.heal()


class FreezeMaster(RedisFault):
    """A master stands still; longer than the node time-out, its replica takes over."""

    shortest, longest = 0.5, 7.0

    def run(self):
        node = self.master()
        node.signal(signal.SIGSTOP)
        self.world.note("frozen", node.host, node.pid)
        self.pause()
        self.must(node.is_frozen(), "it ran")
        node.signal(signal.SIGCONT)
        self.heal()


class CutMaster(RedisFault):
    """A master is cut off from all other nodes, but clients still reach it."""

    shortest, longest = 3.0, 7.0

    def run(self):
        node = self.master()
        others = [other for other in self.world.cluster.nodes if other is not node]
        self.world.note("cut", node.host, node.pid)
        for other in others:
            self.world.network.cut(node.host, other.host)
            self.world.network.cut(other.host, node.host)
        try:
            self.pause()
            self.must(not self.world.network.connects(node.host, others[0].host, REDIS_PORT),
                      "it can connect")
        finally:
            for other in others:
                self.world.network.join(node.host, other.host)
                self.world.network.join(other.host, node.host)
        self.heal()


class KillReplica(RedisFault):
    loses_writes = False

    def run(self):
        node = self.world.cluster.replica_of(self.master())
        self.must(node is not None, "there is no replica in sync")
        node.kill()
        self.world.note("killed", node.host, node.pid)
        self.must(not node.pings(), "it answers")
        self.pause()
        node.start()
        self.heal()


class Failover(RedisFault):
    """A replica takes over by agreement with its master."""

    loses_writes = False

    def run(self):
        node = self.world.cluster.replica_of(self.master())
        self.must(node is not None, "there is no replica in sync")
        self.world.note("failover", node.host, node.pid)
        self.must(node.ask("CLUSTER", "FAILOVER") is not None, "it refused")
        wait_until(lambda: node.role() == "master", 10, f"{node.host} is a master")
        self.heal()


class Migrate(RedisFault):
    """A loaded hash slot moves to another master, and is half moved for a while."""

    loses_writes = False
    shortest, longest = 0.5, 4.0

    def run(self):
        chance, cluster = self.chance, self.world.cluster
        tag = self.world.slot_key(chance)
        number = cluster.nodes[0].ask("CLUSTER", "KEYSLOT", tag)
        masters = cluster.masters()
        ids = {node: node.ask("CLUSTER", "MYID") for node in masters}
        source = next((node for node in masters if node.ask("CLUSTER", "COUNTKEYSINSLOT", number)),
                      None)
        self.must(source is not None, f"no master has keys of {tag}")
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


class OutOfMemory(RedisFault):
    loses_writes = False

    def run(self):
        node = self.master()

        def refusals():
            errors = node.ask("INFO", "errorstats")
            return int((errors or {}).get("errorstat_OOM", "count=0").partition("=")[2])

        before = refusals()
        self.world.note("full", node.host, node.pid)
        node.ask("CONFIG", "SET", "maxmemory", "1mb")
        try:
            self.pause()
            self.must(refusals() > before, "Redis refused nothing")
        finally:
            node.ask("CONFIG", "SET", "maxmemory", "0")
        self.heal()


class PauseClients(RedisFault):
    loses_writes = False

    def run(self):
        node = self.master()
        self.world.note("paused", node.host, node.pid)
        self.must(node.ask("CLIENT", "PAUSE", int(self.seconds * 1000), "ALL"), "it refused")
        begin = time.monotonic()
        node.ask("PING", seconds=self.seconds + 5)
        self.must(time.monotonic() - begin > self.seconds / 2, "it answered at once")
        self.heal()


class KillClients(RedisFault):
    loses_writes = False
    shortest, longest = 0.2, 1.0

    def run(self):
        node = self.master()
        killed = sum(node.ask("CLIENT", "KILL", "TYPE", kind) or 0 for kind in ("normal", "pubsub"))
        self.world.note("clients", node.host, killed)
        self.must(killed > 1, "nobody was connected")
        self.pause()


class FlushScripts(RedisFault):
    loses_writes = False
    shortest, longest = 0.2, 1.0

    def run(self):
        node = self.master()
        cached = node.info("memory", "number_of_cached_scripts")
        self.world.note("flushed", node.host, cached or 0)
        node.ask("SCRIPT", "FLUSH")
        self.must(cached, "no script was cached")
        self.pause()


# --- ZooKeeper --------------------------------------------------------------------------------


class ZooKeeperFault(Fault):
    def heal(self):
        wait_until(self.world.ensemble.is_whole, 60, "the ensemble is whole again")

    def leader(self):
        leader = self.world.ensemble.leader()
        self.must(leader is not None, "there is no leader")
        return leader


class KillZooKeeperLeader(ZooKeeperFault):
    def run(self):
        server = self.leader()
        server.kill()
        self.world.note("killed", server.host, server.pid)
        self.must(server.mode() is None, "it serves")
        self.pause()
        server.start()
        self.heal()


class FreezeZooKeeperLeader(ZooKeeperFault):
    longest = 8.0

    def run(self):
        server = self.leader()
        server.signal(signal.SIGSTOP)
        self.world.note("frozen", server.host, server.pid)
        self.pause()
        self.must(server.is_frozen(), "it ran")
        server.signal(signal.SIGCONT)
        self.heal()


class LoseQuorum(ZooKeeperFault):
    """Two of three servers die: nothing can be granted until one is back."""

    def run(self):
        servers = self.chance.sample(self.world.ensemble.servers, 2)
        for server in servers:
            server.kill()
            self.world.note("killed", server.host, server.pid)
        left = next(server for server in self.world.ensemble.servers if server not in servers)
        wait_until(lambda: left.mode() is None, 10, "the last server stops to serve")
        self.pause()
        for server in servers:
            server.start()
        self.heal()


class CutZooKeeperLeader(ZooKeeperFault):
    """The leader is cut off from the other servers, but clients still reach it."""

    def run(self):
        server = self.leader()
        others = [other for other in self.world.ensemble.servers if other is not server]
        self.world.note("cut", server.host, server.pid)
        for other in others:
            self.world.network.cut(server.host, other.host)
            self.world.network.cut(other.host, server.host)
        try:
            self.pause()
            self.must(not self.world.network.connects(server.host, others[0].host, 3888),
                      "it can connect")
        finally:
            for other in others:
                self.world.network.join(server.host, other.host)
                self.world.network.join(other.host, server.host)
        self.heal()


class TreeFault(ZooKeeperFault):
    """Something is done to a node of the tree, by hand as it were."""

    shortest, longest = 0.5, 2.0

    @contextlib.contextmanager
    def tree(self):
        client = kazoo.client.KazooClient(self.world.ensemble.addresses, timeout=5)
        client.start(timeout=10)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def path(self, tree):
        raise NotImplementedError

    def damage(self, tree, path):
        tree.delete(path)

    def run(self):
        with self.tree() as tree:
            path = self.path(tree)
            wait_until(lambda: tree.exists(path), 20, f"there is {path}")
            before = tree.exists(path)
            self.damage(tree, path)
            after = tree.exists(path)
            self.world.note("tree", path, 0)
            self.must(after is None or after.mzxid != before.mzxid, f"{path} is as it was")
        self.pause()


class DeleteMember(TreeFault):
    def path(self, tree):
        return "/slotmq/members/" + self.choose(tree.get_children("/slotmq/members"))


class DamageMember(DeleteMember):
    def damage(self, tree, path):
        tree.set(path, self.chance.randbytes(40))


class DeleteAssignment(TreeFault):
    def path(self, tree):
        return f"/slotmq/topics/{self.chance.choice(self.world.topics)}/assignment"


class DamageAssignment(DeleteAssignment):
    def damage(self, tree, path):
        value, _ = tree.get(path)
        at = self.chance.randrange(len(value))
        tree.set(path, value[:at] + bytes([value[at] ^ 0x55]) + value[at + 1:])


class DeleteLeader(TreeFault):
    def path(self, tree):
        return "/slotmq/leader"


SERIES = {
    "workers": [KillWorker, FreezeWorker, LeaveAndJoin, Join, CutWorker, CutWorkerFromRedis,
                CutWorkerFromZooKeeper, LoseRequests, LoseReplies, FlapWorker],
    "redis": [KillMaster, FreezeMaster, CutMaster, KillReplica, Failover, Migrate, Migrate,
              OutOfMemory, PauseClients, KillClients, FlushScripts],
    "zookeeper": [KillZooKeeperLeader, FreezeZooKeeperLeader, LoseQuorum, CutZooKeeperLeader,
                  DeleteMember, DamageMember, DeleteAssignment, DamageAssignment, DeleteLeader],
}


def plan(world, seed, series):
    """The faults of a series, without end: the same for the same seed."""
    chance = random.Random(f"{seed} {series}")
    deck = []
    while True:
        if not deck:  # each kind comes before one comes twice
            deck = chance.sample(SERIES[series], len(SERIES[series]))
        kind = deck.pop()
        fault = kind(world, random.Random(chance.random()),
                     chance.uniform(kind.shortest, kind.longest))
        yield chance.uniform(0.3, 2.0), fault
