"""Run a program that starts others.  When it has said nothing for too long, say where each of its processes stands, and
end them all.  Thread: one."""
import contextlib
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time
import uuid

MARK = "SLOTMQ_TEST_RUN"
STACKS = "SLOTMQ_TEST_STACKS"
HOOK = pathlib.Path(__file__).resolve().parent / "stacks"  # its sitecustomize.py is read by each Python
ANSWER_S = 5


def run(command, silent_s=None, env=None, **options):
    """The completed process, with both outputs in `stdout`.  `silent_s`: how long it may say nothing; None: for ever."""
    with tempfile.NamedTemporaryFile("r", errors="replace") as stacks:
        run_id, env = uuid.uuid4().hex, dict(os.environ if env is None else env)
        env.update({MARK: run_id, STACKS: stacks.name,
                    "PYTHONPATH": os.pathsep.join(filter(None, [str(HOOK), env.get("PYTHONPATH")]))})
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, **options) as process:
            said = bytearray()
            while True:
                if not select.select([process.stdout], [], [], silent_s)[0]:
                    said += _where_all_stand(run_id, stacks, silent_s).encode()
                    _end_all(run_id)
                    break
                part = os.read(process.stdout.fileno(), 65536)
                if not part:
                    break
                said += part
        return subprocess.CompletedProcess(command, process.returncode, said.decode(errors="replace"))


def _processes(run_id):
    """Those of a run, the first ones first."""
    wanted, found = f"{MARK}={run_id}".encode(), []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return sorted(found)


def _where_all_stand(run_id, stacks, silent_s):
    lines = [f"\nnothing was said for {silent_s} s, and this is where each process stands\n"]
    for pid in _processes(run_id):
        with contextlib.suppress(OSError):
            folder = pathlib.Path(f"/proc/{pid}")
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            lines += [f"\nprocess {pid}, state {state}: {words}\n", _stacks_of(pid, stacks)]
    return "".join(lines)


def _stacks_of(pid, stacks):
    """The stacks of all its threads, if it is a Python that has read the hook."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    if not caught >> (signal.SIGRTMAX - 1) & 1:
        return ""
    os.kill(pid, signal.SIGRTMAX)
    text, end = "", time.monotonic() + ANSWER_S
    while time.monotonic() < end:
        time.sleep(0.05)
        more = stacks.read()
        if text and not more:
            return text
        text += more
    return text or "it does not answer\n"


def _end_all(run_id):
    for pid in _processes(run_id):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
