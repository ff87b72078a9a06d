"""The tests that kombu has for its transports, with that of TEST_BROKER.

Left out is BaseFailover, of lists of URLs: a URL of slotmq names all servers."""
import os

import kombu
import pytest
from t.integration import common

for name, base in vars(common).items():
    if isinstance(base, type) and base.__module__ == common.__name__ and name != "BaseFailover":
        globals()[f"test_{name}"] = type(f"test_{name}", (base,), {})


@pytest.fixture
def connection():
    return kombu.Connection(os.environ["TEST_BROKER"])


@pytest.fixture
def invalid_connection():
    """Nobody listens on that port."""
    scheme = os.environ["TEST_BROKER"].partition("://")[0]
    return kombu.Connection(f"{scheme}://127.0.0.1:1")
