"""For the tests of programs that use slotmq: a Redis Cluster of one node on a free port of this machine.

With pytest, `pytest_plugins = ["slotmq.testing"]` in conftest.py gives the fixture `slotmq_server`, one for all
tests of the run; each test uses topics of its own, or calls slotmq_server.clear().
"""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any, Iterator

HASH_SLOTS = 16384
# The server, and its files, end when its standard input has a line, which stop() writes, or is closed, with this process
# and with the last child of fork() that has it, too.
KEEPER = 'server=$1 folder=$2; "$server" "$folder/redis.conf" >"$folder/log" 2>&1 & read -r _; kill "$!"; wait; ' \
         'rm -rf "$folder"'
CONFIGURATION = """\
port {port}
cluster-port {bus}
bind 127.0.0.1
dir {folder}
cluster-enabled yes
cluster-require-full-coverage no
save ""
appendonly no
"""


class Server:
    """A real server, not a simulation: redis-server 7.0 or later, or Valkey, must be in PATH.  `address` is what
    Client takes.  Blocks: until it answers, at most 20 s.  Raises RuntimeError: it cannot be started."""

    def __init__(self) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if not program:
            raise RuntimeError("slotmq.testing needs redis-server or valkey-server in PATH")
        self._pid = os.getpid()
        self._folder = tempfile.mkdtemp(prefix="slotmq-server-")
        with _free_port() as first, _free_port() as second:
            self.port, bus = first.getsockname()[1], second.getsockname()[1]
        with open(f"{self._folder}/redis.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(port=self.port, bus=bus, folder=self._folder))
        # What is preloaded into this process, as a sanitizer, is not meant for the server.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self._keeper = subprocess.Popen(["sh", "-c", KEEPER, "sh", program, self._folder], stdin=subprocess.PIPE,
                                        env=environment)
        self.address = f"127.0.0.1:{self.port}"
        try:
            self._form()
        except BaseException:
            self.stop()
            raise

    def command(self, *words: str) -> str:
        """Send one command, and return the first line of the reply, as "+OK".  Raises OSError."""
        return self._reply(*words)[0]

    def clear(self) -> None:
        """Delete all topics and their messages."""
        self.command("FLUSHALL")

    def stop(self) -> None:
        """End the server, and remove its files.  In a child of fork() it does nothing."""
        if self._pid == os.getpid() and self._keeper.stdin and not self._keeper.stdin.closed:
            with contextlib.suppress(BrokenPipeError):  # the server did not start
                os.write(self._keeper.stdin.fileno(), b"\n")
            self._keeper.stdin.close()
            self._keeper.wait()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _reply(self, *words: str) -> "list[str]":
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall((" ".join(words) + "\r\n").encode())
            text = b""
            while not text.endswith(b"\r\n"):
                part = connection.recv(65536)
                if not part:
                    raise ConnectionError("the server has closed the connection")
                text += part
        return text.decode().splitlines()

    def _form(self) -> None:
        """Wait for the server, give it all hash slots, and wait until the cluster is formed."""
        self._until(lambda: self.command("PING") == "+PONG")
        self.command("CLUSTER", "ADDSLOTSRANGE", "0", str(HASH_SLOTS - 1))
        self._until(lambda: "cluster_state:ok" in self._reply("CLUSTER", "INFO"))

    def _until(self, condition: Any) -> None:
        """The server tells nobody when it is ready, so it is asked."""
        end = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                if condition():
                    return
            if self._keeper.poll() is not None or time.monotonic() > end:
                with open(f"{self._folder}/log", encoding="utf-8", errors="replace") as log:
                    raise RuntimeError(f"the server did not start:\n{log.read()}")
            time.sleep(0.01)


def _free_port() -> socket.socket:
    """A socket on a port that nobody has."""
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    return found


try:
    import pytest
except ImportError:
    pass
else:
    @pytest.fixture(scope="session")
    def slotmq_server() -> Iterator[Server]:
        """A server for all tests of the run."""
        with Server() as server:
            yield server
