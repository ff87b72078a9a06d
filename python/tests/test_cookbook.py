"""The programs of docs/cookbook.md do what the page says, with a PostgreSQL of the test."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import psycopg2
import pytest
import slotmq

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/cookbook.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FOLDERS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
NOBODY = 65534


def program(part):
    [found] = [text for text in PROGRAMS if part in text]
    return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """How to connect to a database of the test.  The server does not run as root."""
    folder, user = tmp_path_factory.mktemp("postgresql"), None
    if os.geteuid() == 0:
        user = NOBODY
        for path in [folder, *folder.parents[:2]]:
            path.chmod(0o755)
        subprocess.run(["chown", str(NOBODY), folder], check=True)
    data, tools = folder / "data", FOLDERS[-1]
    how = {"user": user, "cwd": folder, "env": {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}}
    subprocess.run([tools / "initdb", "-D", data, "-U", "shop", "-A", "trust", "--no-sync"], check=True, capture_output=True, **how)
    server = subprocess.Popen([tools / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-F"],
                              stderr=subprocess.PIPE, text=True, **how)
    try:
        assert any("ready to accept connections" in line for line in server.stderr)
        yield f"dbname=postgres user=shop host={folder}"
    finally:
        server.terminate()
        server.communicate()


@pytest.fixture
def database(shop):
    connection = psycopg2.connect(shop)
    connection.autocommit = True
    yield connection.cursor()
    connection.close()


def begin(text, server, shop=""):
    text = text.replace("127.0.0.1:6379", server.address).replace("dbname=shop", shop)
    return subprocess.Popen([sys.executable, "-u", "-W", "error", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def make_tables(database, part):
    for statement in re.findall(r"^# (CREATE TABLE .*)$", program(part), re.MULTILINE):
        database.execute(statement)


def rows(database, statement):
    database.execute(statement)
    return database.fetchall()


def test_every_program_is_run():
    parts = ["INSERT INTO handled", "FROM outbox", "reply-to"]
    assert sorted(PROGRAMS) == sorted(program(part) for part in parts)


def test_a_handler_that_runs_twice_works_once(slotmq_server, client, producer, shop, database):
    make_tables(database, "INSERT INTO handled")
    database.execute("INSERT INTO accounts VALUES ('ann', 100)")
    payments = client.create("payments", shared=True, backoff="none")
    with begin(program("INSERT INTO handled"), slotmq_server, shop) as process:
        for done in (1, 2):
            producer.send("payments", "30", key="ann", id="payment 1")
            while payments.stats().done < done:
                assert process.poll() is None, process.stdout.read()
        process.send_signal(signal.SIGTERM)
        assert (process.stdout.read(), process.wait()) == ("", 0)
    assert rows(database, "SELECT balance FROM accounts") == [(70,)]


def test_the_outbox_sends_each_row(slotmq_server, client, producer, shop, database):
    make_tables(database, "FROM outbox")
    orders = client.create("orders", shared=True, dedup_window_ms="1h")
    for stored in (2, 4):
        with begin(program("FROM outbox"), slotmq_server, shop) as process:
            assert (process.stdout.read(), process.wait()) == ("", 0)
        assert rows(database, "SELECT count(*) FROM outbox") == [(0,)]
        assert orders.stats().waiting == stored
    assert {message.body for message in orders.messages("waiting")} == {b"two books", b"a map"}
    # A relay that has died between the send and the commit.
    database.execute("INSERT INTO outbox VALUES (1, 'ann', 'two books')")
    with begin(re.sub(r"(?m)^order\(.*\n", "", program("FROM outbox")), slotmq_server, shop) as process:
        assert (process.stdout.read(), process.wait()) == ("", 0)
    assert (rows(database, "SELECT count(*) FROM outbox"), orders.stats().waiting) == ([(0,)], 4)


def test_a_question_has_its_answer(slotmq_server, client):
    with begin(program("reply-to"), slotmq_server) as process:
        assert (process.stdout.read(), process.wait()) == ("38 euros\n", 0)
    assert not [name for name in client.topics() if name.startswith("answers-")]
