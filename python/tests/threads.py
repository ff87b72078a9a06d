"""What tests have to know of the threads of this process."""
import pathlib
import threading
import time

TIMEOUT_S = 20


def wait_until_others_sleep():
    """A child of fork() has only one thread.  What another one had locked stays locked in it for ever: the allocator of
    C looks after that, but that of a sanitizer does not.  A thread that sleeps has locked nothing there."""
    own, end = str(threading.get_native_id()), time.monotonic() + TIMEOUT_S
    while any(state != "S" for thread, state in states() if thread != own):
        assert time.monotonic() < end


def states():
    for stat in pathlib.Path("/proc/self/task").glob("*/stat"):
        try:
            yield stat.parent.name, stat.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
