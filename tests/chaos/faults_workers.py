"""Faults of workers and senders."""
import json
import signal
import subprocess
import time

from fault import Fault
from servers import REDIS_PORT, ZOOKEEPER_PORT, wait_until


class WorkerFault(Fault):
    def worker(self):
        """One of those that always run; from now on its session may end."""
        worker = self.choose(self.world.fleet.running())
        self.hits(worker.host)
        return worker

    def end(self, workers):
        """All of them are asked to end at once.  One that has just begun ends as refused when
        ZooKeeper is away."""
        for worker in workers:
            wait_until(worker.has_begun, 20, f"{worker.host} has begun")
            worker.signal(signal.SIGTERM)
        for worker in workers:
            worker.end()
            self.must(worker.has_left() or worker.was_refused(),
                      f"it ended with {worker.ended_as()}")


class KillWorker(WorkerFault):
    """A worker process dies, and is started again under its name."""

    def run(self):
        worker = self.worker()
        self.kill(worker)
        self.pause()
        worker.start()


class FreezeWorker(WorkerFault):
    """A worker process stands still; longer than the session, others get its slots."""

    shortest, longest = 0.5, 9.0

    def run(self):
        self.freeze(self.worker())


class LeaveAndJoin(WorkerFault):
    """One to three worker processes are asked to end, and later as many join; one stays, which may
    have all slots for a while."""

    MOST = 3

    def run(self):
        number, running = self.chance.randint(1, self.MOST), self.world.fleet.running()
        self.must(running, "nobody runs")
        leaving = self.chance.sample(running, min(number, max(1, len(running) - 1)))
        for worker in leaving:
            self.world.note("leaves", worker.host, worker.pid)
            worker.leaves = True
        try:
            self.end(leaving)
            self.pause()
            for worker in leaving:
                worker.start()
        finally:
            for worker in leaving:
                worker.leaves = False


class Join(WorkerFault):
    """More worker processes for a while; one may be refused, when ZooKeeper is away just then."""

    shortest, longest = 2.0, 6.0

    def run(self):
        spare = self.world.fleet.spare()
        joining = self.chance.sample(spare, self.chance.randint(1, len(spare)))
        for worker in joining:
            worker.start()
            self.world.note("joins", worker.host, worker.pid)
        self.pause()
        for worker in joining:
            self.must(worker.runs() or worker.was_refused(), "it ended by itself")
        self.end(joining)


class CutWorker(WorkerFault):
    """A worker process is cut off from some servers, in both directions."""

    shortest, longest = 1.0, 8.0
    redis = zookeeper = inward = outward = True

    def servers(self):
        names = [(node.host, REDIS_PORT) for node in self.world.cluster.nodes] if self.redis else []
        if self.zookeeper and self.world.ensemble:
            names += [(server.host, ZOOKEEPER_PORT) for server in self.world.ensemble.servers]
        return names

    def cut(self, worker):
        return self.cut_off(worker.host, [name for name, _ in self.servers()], self.inward,
                            self.outward)

    def is_blind(self, worker, seconds=0.4):
        name, port = self.servers()[0]
        return not self.world.network.connects(worker.host, name, port, seconds)

    def run(self):
        worker = self.worker()
        self.world.note("cut", worker.host, worker.pid)
        with self.cut(worker):
            self.pause()
            self.must(self.is_blind(worker), "it can connect")
        self.world.note("joined", worker.host, worker.pid)


class CutWorkerFromRedis(CutWorker):
    zookeeper = False


class LoseRedis(CutWorkerFromRedis):
    """A worker process is cut off from Redis until others have all of its slots, and on."""

    MOST_S = 40
    shortest, longest = 0.0, 3.0

    def member(self, worker):
        """What the fleet says of it.  Nothing, too, while ZooKeeper cannot be asked."""
        try:
            shown = self.world.command("--json", "fleet", "show")
        except subprocess.CalledProcessError:
            return {}
        return next((member for member in json.loads(shown)["members"]
                     if member["name"] == worker.host), {})

    def has_slots(self, worker):
        return self.member(worker).get("slots", 0) > 0

    def is_away(self, worker):
        member = self.member(worker)
        return member.get("state") == "unreachable" and member["slots"] == 0

    def run(self):
        worker = self.worker()
        wait_until(lambda: self.has_slots(worker), self.MOST_S, "it has slots")
        self.world.note("severed", worker.host, worker.pid)
        with self.cut(worker):
            try:
                wait_until(lambda: self.is_away(worker), self.MOST_S, "its slots have moved")
                self.world.note("away", worker.host, worker.pid)
                self.pause()
            except TimeoutError:
                pass  # without the note the run is void: check.py
            self.must(self.is_blind(worker), "it can connect")
        self.world.note("joined", worker.host, worker.pid)


class CutWorkerFromZooKeeper(CutWorker):
    redis = False


class LoseZooKeeperRequests(CutWorkerFromZooKeeper):
    inward = False


class LoseZooKeeperReplies(CutWorkerFromZooKeeper):
    outward = False


class LoseRequests(CutWorker):
    inward = False


class LoseReplies(CutWorker):
    outward = False


class FlapWorker(CutWorker):
    """The cut comes and goes."""

    def run(self):
        worker = self.worker()
        self.world.note("flaps", worker.host, worker.pid)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            with self.cut(worker):
                self.world.sleep(self.chance.uniform(0.2, 0.9))
                blind = self.is_blind(worker, 0.1)
            self.must(blind, "it can connect")
            self.world.sleep(self.chance.uniform(0.1, 0.6))
        self.world.note("joined", worker.host, worker.pid)


class JumpClock(WorkerFault):
    """The wall clock of a process jumps by seconds to days, and later back: nothing changes."""

    def processes(self):
        raise NotImplementedError

    def run(self):
        process = self.choose(self.processes())
        shift_ms = self.chance.choice((-1, 1)) * int(10 ** self.chance.uniform(3.5, 9))
        self.world.note("clock", process.host, shift_ms)
        process.set_clock(shift_ms)
        wait_until(lambda: process.saw_clock(shift_ms), 30, f"{process.host} sees its clock jump")
        self.pause()
        self.must(process.runs(), "it ended")
        process.set_clock(0)


class JumpWorkerClock(JumpClock):
    def processes(self):
        return self.world.fleet.running()


class JumpSenderClock(JumpClock):
    def processes(self):
        return self.world.fleet.senders
