"""What docs/celery.md and the examples say, letter for letter."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

import conftest
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVERS = "127.0.0.1:7000,127.0.0.1:7001"
TIMEOUT_S = 60
pytestmark = pytest.mark.long


@pytest.fixture
def no_queue_is_left(open_shop):
    """These programs have no prefix."""
    yield
    open_shop().session.client.topic("celery").delete(force=True)


def run_beside_a_worker(worker, command, folder):
    """What the command prints while the worker runs."""
    environment = {**os.environ, "SLOTMQ_REDIS": conftest.CLUSTER}
    running = subprocess.Popen(worker, cwd=folder, env=environment)
    try:
        return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True,
                              timeout=TIMEOUT_S).stdout
    finally:
        running.terminate()
        running.wait(TIMEOUT_S)


def test_the_first_steps(no_queue_is_left, tmp_path):
    """In a folder whose venv/bin has the programs that are installed here."""
    steps = (ROOT / "docs/celery.md").read_text().partition("## In five minutes")[2].partition("**A project that has")[0]
    code = re.search(r"`tasks.py`:\n\n```python\n(.*?)```", steps, re.DOTALL)[1]
    assert SERVERS in code
    (tmp_path / "tasks.py").write_text(code.replace(SERVERS, conftest.CLUSTER))
    (tmp_path / "venv/bin").mkdir(parents=True)
    for name, arguments in (("python", ""), ("celery", "-m celery")):
        program = tmp_path / "venv/bin" / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        program.chmod(0o755)
    worker, command = [shlex.split(line) for line in re.findall(r"^    (venv/bin/(?:celery|python) .*)$", steps, re.MULTILINE)]
    assert run_beside_a_worker(worker, command, tmp_path) == "5\n"


def test_the_example(no_queue_is_left):
    worker = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "-c", "1"]
    assert run_beside_a_worker(worker, [sys.executable, "tasks.py"], ROOT / "examples/celery") == "5\n"


def test_the_example_for_django(open_shop):
    worker = [sys.executable, "-m", "celery", "-A", "shop", "worker", "-c", "1"]
    command = [sys.executable, "manage.py", "shell", "-c",
               "from orders.tasks import confirm; print(confirm.delay(7).get(timeout=30))"]
    assert run_beside_a_worker(worker, command, ROOT / "examples/django") == "order 7 is confirmed\n"
    open_shop().session.client.topic("shop.celery").delete(force=True)
