"""What a failed call raises: one class for each class of status, and below it one for each status."""
import re
from typing import Dict, Type

from ._native import ffi, lib


class Error(Exception):
    """A call failed.

    `status` is the number of the C interface, `name` its name as "NO_TOPIC", and the text is one line that names
    the topic, slot, server or option and says what to do.  It never holds a password.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.name = status_name(status)

    def __str__(self) -> str:
        return str(self.args[1])


class UsageError(Error):
    """Correct the program or the set-up; repeating the call cannot help."""


class RetryError(Error):
    """Nothing was done; repeat the same call later."""


class UnknownError(Error):
    """It may have been done; repeat the call if doing it twice does no harm."""


class LostError(Error):
    """The message now belongs to another consumer; stop handling it."""


class FatalError(Error):
    """Close the object and make a new one."""


class AnsweredError(RuntimeError):
    """The delivery was answered before, and a delivery is answered once."""


# Each class below has the name of its status: NoTopic is raised for NO_TOPIC.

class Invalid(UsageError): """An argument or option is not valid."""
class WrongThread(UsageError): """The call would wait for itself."""
class Forked(UsageError): """What a parent has opened is of no use to a child of fork()."""
class NoTopic(UsageError): """The topic does not exist."""
class TopicDiffers(UsageError): """The topic exists with another definition."""
class NotEmpty(UsageError): """The topic still holds messages."""
class WrongType(UsageError): """The topic has a type or layout for which this is not possible."""
class TooBig(UsageError): """The body is larger than the topic allows."""
class NoMessage(UsageError): """The topic holds no such message."""
class NoSchedule(UsageError): """The topic has no such schedule."""
class Damaged(UsageError): """Redis lost a part of the topic; repair it."""
class Denied(UsageError): """The server refused credentials or a permission."""
class BadServer(UsageError): """The server is too old, or it evicts keys."""
class OtherFleet(UsageError): """The topic belongs to another fleet."""
class Duplicate(UsageError): """Such a message is in flight, rests, or was done within dedup_window_ms."""
class NoMemory(RetryError): """The process has no memory for it."""
class TimedOut(RetryError): """The time ran out before it was done."""
class Unavailable(RetryError): """No server answers."""
class Full(RetryError): """The buffer of sends, the topic or Redis is full."""
class InWork(RetryError): """A consumer works on the message."""
class LeaseLost(LostError): """The lease of the message has ended."""
class Fenced(LostError): """The slot has a newer owner."""
class NameTaken(FatalError): """A live process has the name of this member."""
class Closed(FatalError): """The object is closing or closed, or the consumer was stopped."""
class Internal(FatalError): """A defect of slotmq; please report it."""


CLASSES: Dict[int, Type[Error]] = {
    lib.SMQ_CLASS_USAGE: UsageError,
    lib.SMQ_CLASS_RETRY: RetryError,
    lib.SMQ_CLASS_UNKNOWN: UnknownError,
    lib.SMQ_CLASS_ABORT: LostError,
    lib.SMQ_CLASS_FATAL: FatalError,
}
# The class of each status but UNKNOWN, which is alone in its class.
CAUSES: Dict[int, Type[Error]] = {
    getattr(lib, "SMQ" + re.sub("([A-Z])", r"_\1", cause.__name__).upper()): cause
    for kind in CLASSES.values() for cause in kind.__subclasses__()}


def status_name(status: int) -> str:
    """The name of a status without SMQ_, as "OK" or "NO_TOPIC"."""
    name: bytes = ffi.string(lib.smq_status_name(status))
    return name.decode()[len("SMQ_"):]


def error_of(status: int, text: str = "") -> Error:
    """The exception for a status that is not OK; without a text it has that of the status."""
    text = text or ffi.string(lib.smq_status_text(status)).decode()
    return CAUSES.get(status, CLASSES[lib.smq_status_class(status)])(status, text)
