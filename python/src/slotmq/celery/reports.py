"""What Celery says of its settings, in `celery report` and to `inspect conf` and `inspect report`.

Before 5.7 it takes the password out of the URL of the results by a function of kombu, which reads no URL of several
servers."""
from typing import Any

from celery.app import utils
from kombu.utils.url import maybe_sanitize_url

from .settings import masked

SCHEMES = ("slotmq-results://", "slotmqs-results://")


def shown(url: Any, mask: str = "**") -> Any:
    """The URL as anybody may read it."""
    if isinstance(url, str) and url.startswith(SCHEMES):
        return masked(url, mask)
    return maybe_sanitize_url(url, mask)


if hasattr(utils, "maybe_sanitize_url"):
    utils.maybe_sanitize_url = shown
