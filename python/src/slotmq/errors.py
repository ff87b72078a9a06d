"""What a failed call raises: one class for each class of status."""
from typing import Dict, Type

from ._native import ffi, lib


class Error(Exception):
    """A call failed.

    `status` is the number of the C interface, `name` its name as "NO_TOPIC", and the text is one line that names
    the topic, slot, server or option and says what to do.  It never holds a password.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.name = status_name(status)


class UsageError(Error):
    """Correct the program or the set-up; repeating the call cannot help: INVALID, NO_TOPIC, DENIED, FORKED, ..."""


class RetryError(Error):
    """Nothing was done; repeat the same call later: TIMED_OUT, UNAVAILABLE, FULL, IN_WORK, NO_MEMORY."""


class UnknownError(Error):
    """It may have been done; repeat the call if doing it twice does no harm: UNKNOWN."""


class LostError(Error):
    """The message now belongs to another consumer; stop handling it: LEASE_LOST, FENCED."""


class FatalError(Error):
    """Close the object and make a new one: CLOSED, NAME_TAKEN, INTERNAL."""


class AnsweredError(RuntimeError):
    """The delivery was answered before, and a delivery is answered once."""


CLASSES: Dict[int, Type[Error]] = {
    lib.SMQ_CLASS_USAGE: UsageError,
    lib.SMQ_CLASS_RETRY: RetryError,
    lib.SMQ_CLASS_UNKNOWN: UnknownError,
    lib.SMQ_CLASS_ABORT: LostError,
    lib.SMQ_CLASS_FATAL: FatalError,
}


def status_name(status: int) -> str:
    """The name of a status without SMQ_, as "OK" or "NO_TOPIC"."""
    name: bytes = ffi.string(lib.smq_status_name(status))
    return name.decode()[len("SMQ_"):]


def error_of(status: int, text: str = "") -> Error:
    """The exception for a status that is not OK; without a text it has that of the status."""
    text = text or ffi.string(lib.smq_status_text(status)).decode()
    return CLASSES.get(lib.smq_status_class(status), Error)(status, text)
