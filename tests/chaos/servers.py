"""The servers of a chaos run: a Redis Cluster of three masters with a replica each, and an ensemble
of three ZooKeeper servers, each on a host of its own."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from waiting import wait_until  # noqa: E402  the path comes first

REDIS_PORT, ZOOKEEPER_PORT = 6379, 2181
MASTERS = 3
NODE_TIMEOUT_MS = 2000
START_NS = 10_000_000_000  # a worker that was started so shortly before may use a right at first
JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"


def is_refusal(status, text):
    """Does a worker that ends so say that it could not begin?  Because ZooKeeper or Redis was away,
    because its fence has to be raised, because Redis has lost the definition of a topic, or because
    Redis did not answer in time when it read a topic or asked whether it may consume it; consumer.h
    and worker.h list these."""
    return status in ("SMQ_UNAVAILABLE", "SMQ_OTHER_FLEET") or \
        (status == "SMQ_DAMAGED" and text.startswith("Redis has lost the definition of topic ")) or \
        (status == "SMQ_UNKNOWN" and text.startswith(("cannot read topic ",
                                                      "cannot consume topic ")))


def is_denied_at_start(lines):
    """Has a worker that wrote these lines, as words, lacked a right since it was started?  Only then
    does a missing right end a consumer (docs/operations.md)."""
    begun_ns = next((int(words[1]) for words in lines if words[0] == "process"), None)
    return begun_ns is not None and any(
        words[0] == "event" and words[2] == "stopped" and words[6] == "SMQ_DENIED" and
        int(words[1]) - begun_ns < START_NS for words in lines if len(words) > 6)


class Process:
    """A program on a host that can be killed, frozen and started again."""

    environment = None  # that of this program

    def __init__(self, network, host, folder, words):
        self.network, self.host, self.words = network, host, words
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process = None

    def start(self):
        with open(self.folder / "output", "ab") as output:
            # nsenter becomes the program, so the pid is the program's.
            self.process = subprocess.Popen(self.network.command(self.host, self.words),
                                            cwd=self.folder, env=self.environment,
                                            stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=output)

    @property
    def pid(self):
        return self.process.pid

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.runs():
            self.process.send_signal(number)

    def is_frozen(self):
        try:
            text = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return text.rpartition(")")[2].split()[0] == "T"

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def end(self, seconds=20):
        """SIGTERM, and SIGKILL when that takes too long.  Its exit status."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Clocked(Process):
    """Its wall clock can be moved (wall.h)."""

    def __init__(self, network, host, folder, words):
        super().__init__(network, host, folder, words)
        self.clock = self.folder / "clock"
        self.set_clock(0)

    def set_clock(self, shift_ms):
        with open(self.clock, "r+b" if self.clock.exists() else "w+b") as file:
            file.write((shift_ms * 1_000_000).to_bytes(8, sys.byteorder, signed=True))


class Client(Clocked):
    """A program that uses the library."""

    def __init__(self, network, host, folder, words, log):
        self.log = pathlib.Path(log)
        self.moved_at = 0  # how long the log was when the clock was moved
        self.begun_at = 0  # and when the process was started
        self.leaves = False  # a fault has asked it to end, and will start it again
        super().__init__(network, host, folder, [*words, f"{folder}/clock"])

    def start(self):
        self.begun_at = self.log_size()
        super().start()

    def has_begun(self):
        """Has it written its first line, or ended before?  Then a signal does not just kill it."""
        return not self.runs() or self.log_size() > self.begun_at

    def log_size(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def log_since(self, size):
        """The words of each line that it wrote since its log had that size."""
        if not self.log.exists():
            return []
        with open(self.log, "rb") as log:
            log.seek(size)
            return [line.decode(errors="replace").split(" ") for line in log]

    def ended_as(self):
        """The status with which it ended; None while it runs, and when it was killed."""
        return self._exit()[0]

    def _exit(self):
        """(status, text) of how it ended."""
        if self.process is None or self.runs():
            return None, ""
        last = next(reversed(self.log_since(max(0, self.log_size() - 2000))), [])
        return (last[2], " ".join(last[3:])) if len(last) > 2 and last[0] == "exit" else (None, "")

    def was_refused(self):
        """Has it ended because it could not begin?"""
        return is_refusal(*self._exit()) or self.was_denied()

    def was_denied(self):
        """Has it ended because it lacked a right from the start?"""
        return self.ended_as() == "SMQ_DENIED" and \
            is_denied_at_start(self.log_since(self.begun_at))

    def has_left(self):
        """Has it ended as it was asked to?  While a master does not answer, it does not wait for
        longer than its drain_timeout, and then says so."""
        return self.ended_as() in ("SMQ_OK", "SMQ_TIMED_OUT")

    def set_clock(self, shift_ms):
        self.moved_at = self.log_size()
        super().set_clock(shift_ms)

    def saw_clock(self, shift_ms):
        """Has it written since that its clock is off by so much?"""
        return any(words[0] == "clock" and abs(int(words[2]) - shift_ms) < 1000
                   for words in self.log_since(self.moved_at))


class RedisNode(Clocked):
    CONFIGURATION = f"""
port {REDIS_PORT}
bind * -::*
protected-mode no
save ""
appendonly yes
appendfsync everysec
enable-debug-command yes
repl-diskless-sync-delay 0
repl-ping-replica-period 1
shutdown-timeout 0
cluster-enabled yes
cluster-config-file nodes.conf
cluster-node-timeout {NODE_TIMEOUT_MS}
cluster-allow-replica-migration no
"""

    def __init__(self, network, host, folder, preload):
        super().__init__(network, host, folder, ["redis-server", "redis.conf"])
        self.environment = {**os.environ, "LD_PRELOAD": preload, "CHAOS_CLOCK": str(self.clock)}
        (self.folder / "redis.conf").write_text(self.CONFIGURATION)
        self.address = network.address[host]

    def client(self, seconds=2):
        return redis.Redis(self.address, REDIS_PORT, socket_timeout=seconds,
                           socket_connect_timeout=seconds, decode_responses=True)

    def ask(self, *words, seconds=2):
        """The reply; None when there is none."""
        try:
            with self.client(seconds) as client:
                return client.execute_command(*words)
        except redis.RedisError:
            return None

    def pings(self):
        return self.ask("PING") is not None

    def info(self, section, field):
        reply = self.ask("INFO", section)
        return reply.get(field) if isinstance(reply, dict) else None

    def role(self):
        return self.info("replication", "role")


class Cluster:
    def __init__(self, network, folder, programs):
        self.network, preload = network, f"{programs}/tests/chaos/libchaos-clock.so"
        self.nodes = [RedisNode(network, f"r{i + 1}", pathlib.Path(folder) / f"r{i + 1}", preload)
                      for i in range(2 * MASTERS)]

    def start(self):
        for node in self.nodes:
            node.start()
        wait_until(lambda: all(node.pings() for node in self.nodes), 20, "Redis answers")
        subprocess.run(["redis-cli", "--cluster", "create",
                        *[f"{node.address}:{REDIS_PORT}" for node in self.nodes],
                        "--cluster-replicas", "1", "--cluster-yes"],
                       check=True, stdout=subprocess.DEVNULL)
        wait_until(self.is_whole, 40, "the cluster is whole")

    @property
    def addresses(self):
        return ",".join(f"{node.address}:{REDIS_PORT}" for node in self.nodes)

    def masters(self):
        return [node for node in self.nodes if node.runs() and not node.is_frozen()
                and node.role() == "master"]

    def node_at(self, address):
        return next(node for node in self.nodes if node.address == address)

    def replica_of(self, master):
        """A replica that is in sync with this master, or None."""
        for node in self.nodes:
            reply = node.ask("INFO", "replication") if node.runs() else None
            if isinstance(reply, dict) and reply.get("master_host") == master.address \
                    and reply.get("master_link_status") == "up":
                return node
        return None

    def follows(self, master, seconds=5):
        """Has a replica all that this master had when this was called?  It may be in sync, and be
        behind by more than the checker thinks, as for a while after it took a place anew."""
        had = master.info("replication", "master_repl_offset")

        def has():
            replica = self.replica_of(master)
            got = replica and replica.info("replication", "slave_repl_offset")
            return got is not None and got >= had

        try:
            return had is not None and wait_until(has, seconds, "the replica has it all")
        except TimeoutError:
            return False

    def is_whole(self):
        """All nodes answer, see all slots served, and every master has a replica in sync."""
        for node in self.nodes:
            reply = node.ask("CLUSTER", "INFO") if node.runs() else None
            if reply is None or "cluster_state:ok" not in reply:
                return False
        masters = self.masters()
        return len(masters) == MASTERS and all(self.replica_of(node) for node in masters)


class Lives:
    """Of the masters: each start and each promotion gives a node another master_replid."""

    def __init__(self, cluster):
        self.cluster, self.known = cluster, None

    def changed(self):
        """The hosts of masters that live another life than at the last look.  While one does not
        answer it is not known."""
        lives = {node.host: node.info("replication", "master_replid")
                 for node in self.cluster.masters()}
        if len(lives) < MASTERS or None in lives.values():
            return []
        before, self.known = self.known or lives, lives
        return sorted(host for host, life in lives.items() if before.get(host) != life)


class ZooKeeperServer(Process):
    def __init__(self, network, host, folder, number, names):
        super().__init__(network, host, folder, [
            "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.showDateTime=true", "-cp", JARS,
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"])
        (self.folder / "data").mkdir()
        (self.folder / "data" / "myid").write_text(f"{number}\n")
        lines = [f"clientPort={ZOOKEEPER_PORT}", "dataDir=data", "tickTime=200", "initLimit=50",
                 "syncLimit=15", "maxSessionTimeout=60000", "maxClientCnxns=0",
                 "admin.enableServer=false", "4lw.commands.whitelist=srvr", "preAllocSize=1024"]
        lines += [f"server.{i + 1}={network.address[name]}:2888:3888"
                  for i, name in enumerate(names)]
        (self.folder / "zoo.cfg").write_text("\n".join(lines) + "\n")
        self.address = network.address[host]

    def lose_data(self):
        """Forget everything but who it is; False: there was nothing."""
        data = self.folder / "data" / "version-2"
        was = data.exists()
        shutil.rmtree(data, ignore_errors=True)
        return was

    def mode(self):
        """"leader", "follower", or None while it does not serve."""
        try:
            with socket.create_connection((self.address, ZOOKEEPER_PORT), 1) as connection:
                connection.sendall(b"srvr")
                text = b""
                while part := connection.recv(4096):
                    text += part
        except OSError:
            return None
        for line in text.decode().splitlines():
            if line.startswith("Mode: "):
                return line[len("Mode: "):]
        return None


class Ensemble:
    def __init__(self, network, folder):
        names = ["z1", "z2", "z3"]
        self.servers = [ZooKeeperServer(network, name, pathlib.Path(folder) / name, i + 1, names)
                        for i, name in enumerate(names)]

    def start(self):
        for server in self.servers:
            server.start()
        wait_until(self.is_whole, 60, "ZooKeeper serves")

    @property
    def addresses(self):
        return ",".join(f"{server.address}:{ZOOKEEPER_PORT}" for server in self.servers)

    def leader(self):
        return next((server for server in self.servers if server.mode() == "leader"), None)

    def is_whole(self):
        modes = [server.mode() for server in self.servers]
        return modes.count("leader") == 1 and modes.count("follower") == 2


def version():
    """Which server a node is, as "Redis 7.0.15": the first one in PATH."""
    told = subprocess.run(["redis-server", "--version"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()
    return f"{told[0]} {told[2].removeprefix('v=')}"


def tail(folder, lines=15):
    """The ends of the outputs below a folder, for a start that failed."""
    for path in sorted(pathlib.Path(folder).glob("*/output")):
        text = path.read_text(errors="replace").splitlines()[-lines:]
        yield f"--- {path.parent.name}"
        yield from text
