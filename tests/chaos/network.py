"""The network of a chaos run: one network namespace for each host, joined by a bridge.

All of it lives in the namespaces of the program itself, so nothing of it can be seen from outside,
and nothing is left when the program ends.
"""
import ctypes
import os
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
NAMESPACES = "/run/netns"
DEAD_END = "02:00:00:00:00:00"  # a hardware address of no machine: what is sent there is lost


def ip(*words, host=None):
    inside = ["nsenter", f"--net={NAMESPACES}/{host}"] if host else []
    subprocess.run([*inside, "ip", *words], check=True, stdout=subprocess.DEVNULL)


class Network:
    """Hosts by name.  A cut between two of them loses packets without a word, as a real one does."""

    def __init__(self, names):
        self.address = {name: f"10.77.0.{11 + i}" for i, name in enumerate(names)}
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        os.makedirs(NAMESPACES)
        ip("link", "set", "lo", "up")
        ip("link", "add", "br0", "type", "bridge")
        ip("addr", "add", "10.77.0.1/24", "dev", "br0")
        ip("link", "set", "br0", "up")
        for i, name in enumerate(names):
            self._add(name, f"v{i}")

    def _add(self, name, link):
        ip("netns", "add", name)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", link, "master", "br0", "up")
        ip("addr", "add", self.address[name] + "/24", "dev", "eth0", host=name)
        ip("link", "set", "eth0", "up", host=name)
        ip("link", "set", "lo", "up", host=name)

    def command(self, name, words):
        """The words that start a program on the host."""
        return ["nsenter", f"--net={NAMESPACES}/{name}", "--", *words]

    def cut(self, sender, receiver):
        """Lose what `sender` sends to `receiver`; the other way stays open."""
        ip("neigh", "replace", self.address[receiver], "lladdr", DEAD_END, "nud", "permanent",
           "dev", "eth0", host=sender)

    def join(self, sender, receiver):
        ip("neigh", "del", self.address[receiver], "dev", "eth0", host=sender)

    def connects(self, host, other, port, seconds=0.4):
        """Can a program on `host` connect to the port of `other`?"""
        answer = []

        def attempt():
            with open(f"{NAMESPACES}/{host}", "rb") as namespace:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            try:
                socket.create_connection((self.address[other], port), seconds).close()
                answer.append(True)
            except OSError:
                answer.append(False)

        thread = threading.Thread(target=attempt)  # the namespace belongs to a thread
        thread.start()
        thread.join()
        return answer == [True]
