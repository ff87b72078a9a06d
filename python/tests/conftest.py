"""Every test has a client and a topic of its own on one server."""
import pytest
import slotmq

pytest_plugins = ["slotmq.testing"]


@pytest.fixture
def client(slotmq_server):
    with slotmq.Client(slotmq_server.address, name="tested") as opened:
        yield opened


@pytest.fixture
def topic(client, request):
    """A shared topic of one slot, in which a retry comes at once."""
    made = client.create(request.node.name.replace("[", ".").replace("]", ""), shared=True, slots=1, backoff="none")
    yield made
