"""What every Redis node executes, written down by MONITOR: one file a node.

A line "# connected NANOSECONDS" stands where the connection was made anew: what happened before it
may be missing.
"""
import pathlib
import socket
import threading
import time

from servers import REDIS_PORT


class Monitor:
    def __init__(self, node, folder):
        self.node, self.path = node, pathlib.Path(folder) / f"monitor-{node.host}.log"
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _copy(self, out):
        with socket.create_connection((self.node.address, REDIS_PORT), 2) as connection:
            connection.settimeout(0.5)
            connection.sendall(b"MONITOR\r\n")
            out.write(b"# connected %d\n" % time.monotonic_ns())
            while not self.stopped.is_set():
                try:
                    part = connection.recv(1 << 16)
                except TimeoutError:
                    continue
                if not part:
                    break
                out.write(part)
            out.write(b"\n")

    def _run(self):
        with open(self.path, "wb") as out:
            while not self.stopped.is_set():
                try:
                    self._copy(out)
                except OSError:
                    self.stopped.wait(0.2)

    def stop(self):
        self.stopped.set()
        self.thread.join()
