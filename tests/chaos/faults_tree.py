"""Faults of the tree of a fleet in Redis, and of the master that has it."""
import subprocess

from fault import DidNotBite
from faults_redis import Failover, Migrate, RedisFault
from faults_workers import CutWorker
from servers import REDIS_PORT, wait_until

TAG = "slotmq:/slotmq"
TREE = f"tree{{{TAG}}}"


class TreeFault(RedisFault):
    # A master whose failover by agreement came to nothing lets writes wait for 5 s.
    write_s = 8

    def tree_master(self):
        """It may be lost, or its master away, because of another fault."""
        def found():
            try:
                return self.holder(TAG)
            except DidNotBite:
                return None
        return wait_until(found, 30, "a master has the tree")

    def with_replica(self):
        """The master of the tree, when it has a replica in sync, and that."""
        def found():
            node = self.tree_master()
            replica = self.world.cluster.replica_of(node)
            return replica and self.world.cluster.follows(node) and (node, replica)
        return wait_until(found, 20, "the master of the tree has a replica")


class LoseTreeWrites(TreeFault):
    """The master of the tree dies, and its replica lacks the last writes."""

    replaces = ends_history = True
    shortest, longest = 0.5, 3.0

    def run(self):
        self.lose(*self.with_replica())
        self.heal()

    def lose(self, node, replica):
        self.must(node.ask("ACL", "SETUSER", "default", "-psync", "-sync"), "it was refused")
        self.world.note("behind", replica.host, replica.pid)
        node.ask("CLIENT", "KILL", "TYPE", "replica")
        self.pause()
        self.must(replica.info("replication", "master_link_status") == "down", "it has the writes")
        self.kill(node)
        wait_until(lambda: replica.role() == "master", 30, f"{replica.host} is a master")
        node.start()


class FailOverTree(TreeFault, Failover):
    """By agreement, and back again: the same server with another life."""

    shortest, longest = 0.2, 2.0

    def run(self):
        for _ in range(2):
            _, node = self.with_replica()
            self.world.note("failover", node.host, node.pid)
            self.must(any(self.takes_over(node) for _ in range(self.asks)), "it did not take over")
            self.heal()
            self.pause()


class OlderTree(TreeFault):
    """The master starts again in place, and the tree is what it was a while before."""

    replaces = ends_history = True
    shortest, longest = 0.5, 3.0

    def run(self):
        node = self.tree_master()
        with node.client(self.write_s) as client:
            client.connection_pool.connection_kwargs["decode_responses"] = False
            client.connection_pool.reset()
            older = client.dump(TREE)
            self.must(older, "there is no tree")
            self.pause()
            self.world.note("older", node.host, node.pid)
            self.must(client.restore(TREE, 0, older, replace=True), "it was refused")
        self.kill(node)
        node.start()
        self.heal()


class WipeTree(TreeFault):
    """The tree is gone: the members make it again."""

    ends_history = True
    shortest, longest = 0.5, 2.0

    def run(self):
        node = self.tree_master()
        self.world.note("wiped", node.host, node.pid)
        self.must(node.ask("DEL", TREE, seconds=self.write_s), "there was no tree")
        self.pause()
        wait_until(lambda: node.ask("EXISTS", TREE), 10, "the tree is made again")


class MigrateTree(TreeFault, Migrate):
    """The hash slot of the tree moves to another master, and its key before that."""

    def tag(self):
        return TAG


class CutWorkerFromTree(TreeFault, CutWorker):
    """A worker reaches all of Redis but the master of the tree."""

    shortest, longest = 2.0, 8.0

    def servers(self):
        return [(self.node.host, REDIS_PORT)]

    def run(self):
        self.node = self.tree_master()
        CutWorker.run(self)


class EvictFromTree(TreeFault):
    """An operator takes a member out of its fleet; in a grace he is asked to come again."""

    shortest, longest = 0.5, 2.0

    def run(self):
        worker = self.choose(self.world.fleet.running())
        self.hits(worker.host)
        wait_until(lambda: self.evicts(worker) or not worker.runs(), 30, "it is evicted")
        self.pause()

    def evicts(self, worker):
        try:
            self.world.command("fleet", "evict", worker.host, "--yes")
        except subprocess.CalledProcessError:
            return False
        return True
