"""What hostile applications leave behind."""
import pathlib
import subprocess
import sys

PROGRAM = str(pathlib.Path(__file__).with_name("hostile.py"))


def test_hostile_applications_leave_nothing_claimed_and_no_thread_dead(slotmq_server):
    """tests/celery has those that fork, and the nightly run others, and more of them."""
    run = subprocess.run([sys.executable, PROGRAM, "--seed", "1", "--count", "100", "--server", slotmq_server.address],
                         capture_output=True, text=True, errors="replace", check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]
