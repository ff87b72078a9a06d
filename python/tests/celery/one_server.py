"""A redis-server of a test's own, for what the cluster of the other tests is not: without cluster mode, or with TLS."""
import contextlib
import pathlib
import socket
import subprocess
import tempfile


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def one_server(*lines):
    """Run it with these lines of redis.conf beside its own; it has ended when this is left."""
    with tempfile.TemporaryDirectory(prefix="slotmq-redis-") as folder:
        configuration = pathlib.Path(folder) / "redis.conf"
        configuration.write_text("\n".join(["bind 127.0.0.1", f"dir {folder}", 'save ""', *lines, ""]))
        with subprocess.Popen(["redis-server", configuration], stdout=subprocess.PIPE, text=True) as process:
            try:
                said = []
                for line in process.stdout:
                    said.append(line)
                    if "Ready to accept connections" in line:
                        break
                else:
                    raise AssertionError("".join(said))
                yield
            finally:
                process.terminate()
                process.communicate()
