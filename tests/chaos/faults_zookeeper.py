"""Faults of ZooKeeper servers, and of what is stored there."""
import contextlib
import subprocess

import kazoo.client
import kazoo.exceptions

from fault import Fault
from servers import wait_until

PEER_PORT = 3888


class ZooKeeperFault(Fault):
    def heal(self):
        wait_until(self.world.ensemble.is_whole, 60, "the ensemble is whole again")

    def leader(self):
        # After a cut has healed, the servers may still find out that they need a new one.
        wait_until(self.world.ensemble.is_whole, 20, "there is a leader")
        leader = self.world.ensemble.leader()
        self.must(leader is not None, "there is no leader")
        self.hits_all()
        return leader

    def hits_all(self):
        self.hits(*(worker.host for worker in self.world.fleet.workers))


class KillZooKeeperLeader(ZooKeeperFault):
    def run(self):
        server = self.leader()
        self.kill(server)
        self.pause()
        server.start()
        self.heal()


class FreezeZooKeeperLeader(ZooKeeperFault):
    longest = 8.0

    def run(self):
        self.freeze(self.leader())
        self.heal()


class CutZooKeeperLeader(ZooKeeperFault):
    """The leader is cut off from the other servers, but clients still reach it."""

    def run(self):
        self.isolate(self.leader(), self.world.ensemble.servers, PEER_PORT)
        self.heal()


class LoseQuorum(ZooKeeperFault):
    """Two of three servers die: nothing can be granted until one is back."""

    def run(self):
        self.hits_all()
        servers = self.chance.sample(self.world.ensemble.servers, 2)
        for server in servers:
            self.kill(server)
        left = next(server for server in self.world.ensemble.servers if server not in servers)
        wait_until(lambda: left.mode() is None, 10, "the last server stops to serve")
        self.pause()
        for server in servers:
            server.start()
        self.heal()


class LoseZooKeeperData(ZooKeeperFault):
    """All servers die and return empty; then an operator raises the fence, as docs/operations.md
    says."""

    ends_history = True
    longest = 3.0

    def run(self):
        self.hits_all()
        self.world.note("tree", "/")
        for server in self.world.ensemble.servers:
            self.kill(server)
        for server in self.world.ensemble.servers:
            self.must(server.lose_data(), "there was no data")
        self.pause()
        for server in self.world.ensemble.servers:
            server.start()
        self.heal()
        wait_until(self.raise_fence, 60, "the fence is raised")

    def raise_fence(self):
        """False while Redis or ZooKeeper cannot be reached."""
        try:
            self.world.command("fleet", "raise-fence", "--yes")
        except subprocess.CalledProcessError:
            return False
        self.world.fence_was_raised = True
        return True


class TreeFault(ZooKeeperFault):
    """Something is done to a node of the tree, by hand as it were."""

    shortest, longest = 0.5, 2.0

    def client(self, **options):
        """One that is connected; None: it was not within 10 s, or lost its connection at once, as
        while servers restart."""
        client = kazoo.client.KazooClient(self.world.ensemble.addresses, timeout=5, **options)
        try:
            client.start(timeout=10)
        except client.handler.timeout_exception:
            return None  # it has closed itself
        return client

    @contextlib.contextmanager
    def session(self, **options):
        """A session with ZooKeeper; it is closed in the end."""
        client = wait_until(lambda: self.client(**options), 10, "ZooKeeper can be reached")
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def path(self, tree):
        """Of the node; None: there is none now."""
        raise NotImplementedError

    def hit(self, path):
        """The members whose sessions may end because of this."""
        del path
        return []

    def damage(self, tree, path):
        """All that is below goes at once: members make anew what is missing."""
        change = tree.transaction()
        for found in [*below(tree, path), path]:
            change.delete(found)
        for result in change.commit():
            if isinstance(result, Exception):
                raise result

    def attempt(self, tree):
        """False: the node is gone, as that of a member whose process was killed, or is as it was, as
        after the member has taken back the session that was to be closed."""
        path = self.path(tree)
        before = path and tree.exists(path)
        if not before:
            return False
        self.hits(*self.hit(path))
        self.world.note("tree", path)
        try:
            self.damage(tree, path)
        except (kazoo.exceptions.KazooException, subprocess.CalledProcessError):
            return False
        tree.sync(path)  # what was done may have been done at another server
        after = tree.exists(path)
        return after is None or after.mzxid != before.mzxid

    def run(self):
        with self.session() as tree:
            wait_until(lambda: self.attempt(tree), 30, f"{self.name} can be done")
        self.pause()


class DeleteMember(TreeFault):
    def path(self, tree):
        try:
            names = sorted(tree.get_children("/slotmq/members"))
        except kazoo.exceptions.NoNodeError:
            return None  # ZooKeeper has lost its data, and no member has made the folder again
        return "/slotmq/members/" + self.chance.choice(names) if names else None

    def hit(self, path):
        return [path.rpartition("/")[2]]


class DamageMember(DeleteMember):
    def damage(self, tree, path):
        tree.set(path, self.chance.randbytes(40))


class EvictMember(DeleteMember):
    """An operator takes a member out of its fleet."""

    def damage(self, tree, path):
        self.world.command("fleet", "evict", path.rpartition("/")[2], "--yes")


class ExpireSession(DeleteMember):
    """The session of a member ends although its process is well: it is closed from elsewhere."""

    def damage(self, tree, path):
        session = tree.get(path)[1].ephemeralOwner
        with self.session(client_id=(session, password_of(session))):
            pass


class DeleteMembers(TreeFault):
    """The nodes of all members, and their folder."""

    def path(self, tree):
        return "/slotmq/members"

    def hit(self, path):
        return [worker.host for worker in self.world.fleet.workers]


class DeleteAssignment(TreeFault):
    """Of any topic but the first: its history of coordination stays whole."""

    def path(self, tree):
        return f"/slotmq/topics/{self.chance.choice(self.world.exclusive[1:])}/assignment"


class DamageAssignment(DeleteAssignment):
    def damage(self, tree, path):
        value = tree.get(path)[0] or b"?"  # it is empty until a member owns a slot
        at = self.chance.randrange(len(value))
        tree.set(path, value[:at] + bytes([value[at] ^ 0x55]) + value[at + 1:])


class DeleteTopicNode(TreeFault):
    def path(self, tree):
        return f"/slotmq/topics/{self.chance.choice(self.world.exclusive[1:])}"


class DeleteTopicNodes(TreeFault):
    """The nodes of all topics, and their folder."""

    ends_history = True

    def path(self, tree):
        return "/slotmq/topics"


class DeleteLeader(TreeFault):
    def path(self, tree):
        return "/slotmq/leader"


class DamageLeader(DeleteLeader):
    def damage(self, tree, path):
        tree.set(path, self.chance.randbytes(40))


class DeleteLeaderEpoch(TreeFault):
    def path(self, tree):
        return "/slotmq/leader_epoch"


def below(tree, path):
    """The paths below a node, children first."""
    for child in tree.get_children(path):
        yield from below(tree, f"{path}/{child}")
        yield f"{path}/{child}"


def password_of(session):
    """The password of a session, which the servers compute from its id:
    ZooKeeperServer.generatePasswd(), with java.util.Random."""
    state = (session ^ 0xB3415C00 ^ 0x5DEECE66D) & (1 << 48) - 1
    password = b""
    while len(password) < 16:
        state = (state * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        password += (state >> 16).to_bytes(4, "little")
    return password
