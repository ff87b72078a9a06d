"""What every fault is made of: how it begins, how it is seen to bite, and how it is healed."""
import contextlib
import signal

from servers import wait_until


class DidNotBite(Exception):
    """The fault did not do what it is for, so the run shows less than it says."""


class Fault:
    """One fault.  `run` begins it, keeps it up for `seconds`, checks that it bit, and heals it."""

    shortest, longest = 1.0, 5.0
    replaces = False  # another node may become a master, or a master start anew
    ends_history = False  # it lies outside of the model of coordination, for all topics

    @classmethod
    def is_possible(cls, world):
        """False: the servers of this world cannot do it."""
        del world
        return True

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

    def hits(self, *members):
        """From now on the sessions of these members may end: that is in the log before they do."""
        for member in members:
            self.world.note("hits", member)

    def pause(self):
        self.world.sleep(self.seconds)

    def kill(self, process):
        process.kill()
        self.world.note("killed", process.host, process.pid)
        self.must(process.process.returncode == -signal.SIGKILL, "it did not die of it")

    def freeze(self, process):
        """It stands still for as long as the fault lasts."""
        process.signal(signal.SIGSTOP)
        self.world.note("frozen", process.host, process.pid)
        wait_until(process.is_frozen, 5, f"{process.host} stands still")
        self.pause()
        self.must(process.is_frozen(), "it ran")
        self.world.note("thawed", process.host, process.pid)
        process.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def cut_off(self, host, others, inward=True, outward=True):
        """`host` and the others do not reach each other, or only one way."""
        network = self.world.network
        ways = [(host, other) for other in others if outward]
        ways += [(other, host) for other in others if inward]
        for way in ways:
            network.cut(*way)
        try:
            yield
        finally:
            for way in ways:
                network.join(*way)

    def isolate(self, server, peers, port):
        """A server is cut off from its peers, but clients still reach it."""
        hosts = [peer.host for peer in peers if peer is not server]
        self.world.note("cut", server.host, server.pid)
        with self.cut_off(server.host, hosts):
            self.pause()
            self.must(not self.world.network.connects(server.host, hosts[0], port),
                      "it can connect")
            self.world.note("reached", server.host, server.pid)
