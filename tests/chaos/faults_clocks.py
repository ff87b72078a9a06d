"""Faults of the wall clocks of Redis nodes: of the master that has the tree, in a fleet in Redis."""
import contextlib
import time

from faults_redis import Failover
from faults_tree import LoseTreeWrites, TreeFault
from servers import wait_until

MINUTE_MS = 60_000


class ClockFault(TreeFault):
    shortest, longest = 1.0, 5.0

    def with_replica(self):
        if not self.world.ensemble:
            return super().with_replica()
        node = self.master()
        return node, self.world.cluster.replica_of(node)

    def move(self, node, shift_ms):
        self.world.note("clock", node.host, shift_ms)
        node.set_clock(shift_ms)

    def shows(self, node, shift_ms):
        said = node.ask("TIME")
        return said is not None and abs((said[0] - time.time()) * 1000 - shift_ms) < 2000

    @contextlib.contextmanager
    def off(self, node, shift_ms, tags):
        """From now on the times of these slots may be those of a clock that is off by so much."""
        for tag in tags:
            self.world.note("off", tag, shift_ms)
        self.move(node, shift_ms)
        try:
            yield
        finally:
            self.move(node, 0)
            for tag in tags:
                self.world.note("right", tag, shift_ms)

    def tags(self, node):
        """The slots that a node has, as "jobs_5"."""
        keys = node.ask("KEYS", "slot{*")
        self.must(keys, "it has no slots")
        return [key[len("slot{"):-1] for key in keys]

    @contextlib.contextmanager
    def late(self):
        """A master and its replica, whose clock is a minute behind since it was started: Redis does
        not elect a node whose clock was set back to before its last election."""
        node, replica = self.with_replica()
        self.kill(replica)
        with self.off(replica, -MINUTE_MS, self.tags(node)):
            replica.start()
            wait_until(lambda: self.world.cluster.is_whole(), 40, f"{replica.host} follows")
            self.must(self.shows(replica, -MINUTE_MS), "its clock is right")
            yield node, replica
            self.pause()
            self.must(replica.role() == "master", "it is no master")
        self.heal()


class StepClock(ClockFault):
    """The clock of a master steps back by a minute, or forward by half of one, and then again."""

    STEPS_MS = (-MINUTE_MS, MINUTE_MS // 2)

    def run(self):
        node, _ = self.with_replica()
        shift_ms = self.chance.choice(self.STEPS_MS)
        with self.off(node, shift_ms, self.tags(node)):
            self.must(self.shows(node, shift_ms), "its clock has not moved")
            self.pause()
        self.must(self.shows(node, 0), "its clock is not right again")
        self.heal()


class PromoteLateClock(ClockFault, Failover):
    """A replica whose clock is a minute behind takes over by agreement."""

    def run(self):
        with self.late() as (_, replica):
            self.world.note("failover", replica.host, replica.pid)
            self.must(any(self.takes_over(replica) for _ in range(self.asks)),
                      "it did not take over")


class LoseWritesToLateClock(ClockFault, LoseTreeWrites):
    """A replica whose clock is a minute behind takes over, and lacks the last writes."""

    shortest, longest = 0.5, 3.0

    def run(self):
        with self.late() as (node, replica):
            self.lose(node, replica)
