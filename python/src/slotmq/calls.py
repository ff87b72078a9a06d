"""How the C interface is called: errors become exceptions, and bytes, texts and options cross the border.

Each call of C releases the lock of the interpreter, so a call that waits holds up no other thread.  What the
application gives is checked before anything is done, and an error names the argument.
"""
import _thread
import collections.abc
import contextlib
import datetime
import logging
import operator
import os
import sys
import threading
import time
import traceback
import warnings
from typing import Any, Callable, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union

from ._native import ffi, lib
from .errors import error_of

# What is given as a body, a key or an id; a text is encoded as UTF-8.
Bytes = Union[bytes, bytearray, memoryview, str]
# Milliseconds, or a time span.
Span = Union[int, datetime.timedelta]
# Milliseconds since 1970, or a time with its zone.
Moment = Union[int, datetime.datetime]
# The value of an option: a text has the form that the command takes, as "30s" or "priority".
Option = Union[str, int, bool, datetime.timedelta, None]
Handled = TypeVar("Handled", bound="Handle")
T = TypeVar("T")

log = logging.getLogger("slotmq")
MILLISECOND = datetime.timedelta(milliseconds=1)
BEGIN = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
FOREVER: int = lib.SMQ_FOREVER
SLICE_MS = 100  # how long the main thread waits before it looks for signals: one that comes just before a wait does
                # not end it


def check_version() -> None:
    """A library that is older than the headers would read structs that it does not know."""
    found = ffi.string(lib.smq_version()).decode()
    built = (lib.SMQ_VERSION_MAJOR, lib.SMQ_VERSION_MINOR, lib.SMQ_VERSION_PATCH)
    if tuple(int(part) for part in found.split(".")[:3]) < built:
        raise ImportError(f"slotmq was built for version {'.'.join(map(str, built))} of its library, and {found} "
                          "is installed; install the package again")


def call(function: Any, *arguments: Any) -> None:
    """Call a function whose last parameter is the smq_error, which is raised.  A Handle is passed as that of C."""
    err = ffi.new("smq_error *")
    used: "List[Owned]" = []
    try:
        passed = [used_of(argument, used) if isinstance(argument, Handle) else argument for argument in arguments]
        status = function(*passed, err)
    finally:
        for owned in used:
            owned.leave()
    if status != lib.SMQ_OK:
        raise error_of(status, decoded(err.text))


def used_of(handle: "Handle", used: "List[Owned]") -> Any:
    owned = handle._open()
    entered = owned.enter()
    used.append(owned)
    return entered


def report(level: int, text: str, *arguments: Any, **more: Any) -> None:
    """Into the log.  What a handler or filter of the application raises there is printed, and ends nothing here."""
    try:
        log.log(level, text, *arguments, **more)
    except BaseException:
        traceback.print_exc()


def decoded(text: Any) -> str:
    """A C string; NULL is ""."""
    return str(ffi.string(text), "utf-8", "replace") if text else ""


def data_of(value: Any) -> bytes:
    """The bytes of an smq_bytes, copied."""
    length = value.len
    return bytes(ffi.buffer(value.data, length)) if length else b""


def encoded(value: Bytes, what: str) -> bytes:
    if isinstance(value, str):
        return _utf8(value, what)
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _wrong_type(value, what, "bytes or a text")
    return bytes(value)


def text_of(value: str, what: str) -> bytes:
    """As a C string."""
    if not isinstance(value, str):
        raise _wrong_type(value, what, "a text")
    if "\0" in value:
        raise ValueError(f"{what} has a NUL character: {value!r:.100}")
    return _utf8(value, what)


def _utf8(value: str, what: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} cannot be encoded: {error}") from None


def _wrong_type(value: Any, what: str, expected: str) -> TypeError:
    return TypeError(f"{what} must be {expected}, not {type(value).__name__}: {value!r:.100}")


def number_in(value: int, what: str, expected: str = "a whole number", bits: int = 64) -> int:
    """That fits into this number of bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise _wrong_type(value, what, expected) from None
    if not -1 << bits - 1 <= number < 1 << bits - 1:
        raise ValueError(f"{what} is out of range: {number}")
    return number


def span_ms(value: Span, what: str) -> int:
    """Milliseconds; a part of one counts as a whole."""
    if not isinstance(value, datetime.timedelta):
        return number_in(value, what, "milliseconds or a timedelta")
    if value < datetime.timedelta():
        raise ValueError(f"{what} is below 0: {value}")
    return -(-value // MILLISECOND)


def moment_ms(value: Moment, what: str) -> int:
    if not isinstance(value, datetime.datetime):
        return number_in(value, what, "milliseconds since 1970 or a datetime")
    if value.tzinfo is None:
        raise ValueError(f"{what} is a datetime without a time zone: {value}; with the local one it is "
                         "value.astimezone()")
    return (value - BEGIN) // MILLISECOND


def put_bytes(field: Any, value: Union[Bytes, None], what: str) -> Any:
    """Fill an smq_bytes.  What is returned must live as long as the field is used."""
    if value is None:
        return None
    pointer = ffi.from_buffer(encoded(value, what))
    field.data, field.len = pointer, len(pointer)
    return pointer


def sized(kind: str) -> Any:
    """A struct that begins with its size, with defaults."""
    struct = ffi.new(f"{kind} *")
    struct.struct_size = ffi.sizeof(kind)
    return struct


class Options:
    """A struct of options of this library, filled by name; calls of C get its pointer.  `names` are fields that name
    what the options are for."""

    def __init__(self, kind: str, options: Mapping[str, Option], **names: str) -> None:
        out = ffi.new("void **")
        call(lib.smq_options_new, out, getattr(lib, f"SMQ_OPTION_SET_{kind.upper()}"))
        self._owned = ffi.gc(out[0], lib.smq_options_free)
        self.pointer = ffi.cast(f"smq_{kind}_options *", self._owned)
        for name, value in options.items():
            if value is not None:
                call(lib.smq_options_set, self._owned, text_of(name, "the name of an option"), option_text(name, value))
        self._names = {name: ffi.new("char[]", text_of(text, name)) for name, text in names.items()}
        for name, text in self._names.items():
            setattr(self.pointer, name, text)


def option_text(name: str, value: Option) -> bytes:
    if isinstance(value, datetime.timedelta):
        value = span_ms(value, name)
    if not isinstance(value, (str, int, float)):
        raise _wrong_type(value, name, "a text, a number, a bool or a timedelta")
    return text_of(str(value).lower() if isinstance(value, bool) else str(value), name)


class _Helper:
    """Makes calls of C on a thread of its own for the main thread, which waits in Python: there a signal that comes
    is handled at once."""

    idle: List["_Helper"] = []

    def __init__(self) -> None:
        self._work: Optional[Callable[[], Any]] = None
        self._result: Tuple[Any, Optional[BaseException]] = (None, None)
        self._given_up = False
        self._asked, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._asked.acquire()
        self._ended.acquire()
        _thread.start_new_thread(self._run, ())

    def make(self, work: Callable[[], T]) -> T:
        """When a signal raises an exception the call goes on alone, and nobody gets its result."""
        self._work = work
        self._asked.release()
        try:
            while not self._ended.acquire(True, SLICE_MS / 1000):
                pass
        except BaseException:
            self._given_up = True
            with contextlib.suppress(RuntimeError):  # it has not begun
                self._asked.release()
            raise
        (result, error), self._result = self._result, (None, None)
        _Helper.idle.append(self)
        if error:
            raise error
        return result  # type: ignore[no-any-return]

    def _run(self) -> None:
        while not self._given_up:
            self._asked.acquire()
            work, self._work = self._work, None
            if work:
                try:
                    self._result = work(), None
                except BaseException as error:  # of the thread that waits
                    self._result = None, error
                del work
                self._ended.release()


# In a child there are none of these threads.
os.register_at_fork(after_in_child=_Helper.idle.clear)


def in_main_thread() -> bool:
    """Python handles signals there."""
    return threading.current_thread() is threading.main_thread()


def interruptible(work: Callable[[], T]) -> T:
    """Make a call that waits, so that the exception of a signal, as KeyboardInterrupt, ends the wait.  `work` must
    own what it uses."""
    if not in_main_thread():
        return work()
    try:
        helper = _Helper.idle.pop()
    except IndexError:
        helper = _Helper()
    return helper.make(work)


def wait_for(function: Any, *arguments: Any, keep: Any = None) -> None:
    """As call(), of a function that waits.  `keep` must live as long."""
    def work() -> Any:
        call(function, *arguments)
        return keep
    interruptible(work)


class _Visit:
    """What a visit has shown, as `read` makes it of the struct, and the exception that ended it."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read
        self.seen: List[Any] = []
        self.error: Optional[BaseException] = None


def visited(function: Any, visit: Any, read: Callable[[Any], T], *arguments: Any, keep: Any = None) -> List[T]:
    """Call a function of C that visits, with `visit`, which is lib.slotmq_visit_KIND.  `keep` must live as long."""
    found = _Visit(read)
    user = ffi.new_handle(found)
    wait_for(function, *arguments, visit, user, keep=(keep, found, user))
    if found.error:
        raise found.error
    return found.seen


def _show(info: Any, user: Any) -> bool:
    """On the thread that makes the call, which is not the main one, where signals raise exceptions."""
    found: _Visit = ffi.from_handle(user)
    try:
        found.seen.append(found.read(info))
    except BaseException as error:  # not through C
        found.error = error
    return found.error is None


for _kind in ("message", "schedule", "topic"):
    ffi.def_extern(f"slotmq_visit_{_kind}")(_show)


def slices(timeout_ms: int) -> Iterator[int]:
    """The time-outs of one wait after the other, between which signals are handled."""
    if not in_main_thread():
        yield timeout_ms
        return
    end = time.monotonic() + timeout_ms / 1000
    left = timeout_ms
    while timeout_ms < 0 or left > SLICE_MS:
        yield SLICE_MS
        left = int((end - time.monotonic()) * 1000)
    yield max(left, 0)


def ended_in_time(event: threading.Event, timeout_ms: int = FOREVER) -> bool:
    """Wait for it; signals are handled."""
    return any(event.wait(slice_ms / 1000 if slice_ms >= 0 else None) for slice_ms in slices(timeout_ms))


def made(function: Any, kind: str, free: Any, *arguments: Any, keep: Any = None) -> "Owned":
    """The handle that a _new() function makes."""
    def work() -> Any:
        out = ffi.new(f"{kind} **")
        call(function, *(out, *arguments))
        return ffi.gc(out[0], free), keep
    return Owned(interruptible(work)[0], free, kind[len("smq_"):])


class Owned:
    """A handle of C.  After end() no call begins with it, and the last one that runs frees it.  Thread: any."""

    def __init__(self, handle: Any, free: Any, kind: str) -> None:
        ffi.gc(handle, None)
        self._handle, self._free, self._kind = handle, free, kind
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._calls, self._ended = 0, False

    @property
    def ours(self) -> bool:
        """False in a child of fork()."""
        return os.getpid() == self._pid

    def enter(self) -> Any:
        """Begin a call."""
        if not self.ours:
            raise error_of(lib.SMQ_FORKED)
        with self._lock:
            if self._ended:
                raise error_of(lib.SMQ_CLOSED, f"the {self._kind} was closed")
            self._calls += 1
        return self._handle

    def leave(self) -> None:
        with self._lock:
            self._calls -= 1
            last = self._ended and not self._calls
        if last:
            self._free(self._handle)

    __enter__ = enter

    def __exit__(self, *_: object) -> None:
        self.leave()

    def end(self) -> None:
        """In a child only memory is freed, and no other thread is there, which might have locked."""
        with self._lock if self.ours else threading.Lock():
            last = not self._ended and (not self._calls or not self.ours)
            self._ended = True
        if last:
            self._free(self._handle)


class Handle:
    """What has a handle of the C interface until close(), which the end of a `with` calls.  One that is dropped is
    closed, with a ResourceWarning; but not at the end of the process, and not in a child, which did not open it."""

    _owned: Optional[Owned] = None

    def close(self) -> None:
        raise NotImplementedError

    def _open(self) -> Owned:
        if not self._owned:
            raise error_of(lib.SMQ_CLOSED, f"the {type(self).__name__.lower()} was closed")
        return self._owned

    def _taken(self) -> Optional[Owned]:
        """Of calls of close() one gets it."""
        owned, self._owned = self._owned, None
        return owned

    def _about(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<slotmq.{type(self).__name__} {self._about()}{'' if self._owned else ' (closed)'}>"

    def _dropped(self) -> None:
        self.close()

    def __enter__(self: Handled) -> Handled:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._owned or not self._owned.ours or sys.is_finalizing():
            return
        try:
            warnings.warn(f"{self!r} was dropped without close()", ResourceWarning, stacklevel=2, source=self)
        finally:
            self._dropped()


def headers_array(headers: Mapping[str, Bytes]) -> Tuple[Any, Any]:
    """(an array of smq_header, what must live as long)."""
    if not isinstance(headers, collections.abc.Mapping):
        raise _wrong_type(headers, "headers", "a mapping of names to values")
    array, keep = ffi.new("smq_header[]", len(headers)), []
    for header, (name, value) in zip(array, headers.items()):
        text = ffi.new("char[]", text_of(name, "the name of a header"))
        header.name = text
        keep += [text, put_bytes(header.value, value, f"the header {name!r}")]
    return array, keep


def number_of(pointer: Any) -> int:
    """The number that was passed as a `void *user`."""
    return int(ffi.cast("uintptr_t", pointer))


def user_of(number: int) -> Any:
    return ffi.cast("void *", number)


check_version()
