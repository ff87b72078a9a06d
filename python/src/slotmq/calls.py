"""How the C interface is called: errors become exceptions, and bytes, texts and options cross the border.

Each call of C releases the lock of the interpreter, so a call that waits holds up no other thread.
"""
from typing import Any, Mapping, Optional, Tuple, TypeVar, Union

from ._native import ffi, lib
from .errors import error_of

# What is given as a body, a key or an id; a text is encoded as UTF-8.
Bytes = Union[bytes, bytearray, memoryview, str]
# The value of an option: a text has the form that the command takes, as "30s" or "priority".
Option = Union[str, int, bool, None]
Handled = TypeVar("Handled", bound="Handle")


def check_version() -> None:
    """A library that is older than the headers would read structs that it does not know."""
    found = ffi.string(lib.smq_version()).decode()
    built = (lib.SMQ_VERSION_MAJOR, lib.SMQ_VERSION_MINOR, lib.SMQ_VERSION_PATCH)
    if tuple(int(part) for part in found.split(".")[:3]) < built:
        raise ImportError(f"slotmq was built for version {'.'.join(map(str, built))} of its library, and {found} "
                          "is installed; install the package again")


def call(function: Any, *arguments: Any) -> None:
    """Call a function whose last parameter is the smq_error, which is raised."""
    err = ffi.new("smq_error *")
    status = function(*arguments, err)
    if status != lib.SMQ_OK:
        raise error_of(status, decoded(err.text))


def decoded(text: Any) -> str:
    """A C string; NULL is ""."""
    return str(ffi.string(text), "utf-8", "replace") if text else ""


def data_of(value: Any) -> bytes:
    """The bytes of an smq_bytes, copied."""
    length = value.len
    return bytes(ffi.buffer(value.data, length)) if length else b""


def encoded(value: Bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def put_bytes(field: Any, value: Union[Bytes, None]) -> Any:
    """Fill an smq_bytes.  What is returned must live as long as the field is used."""
    if value is None:
        return None
    pointer = ffi.from_buffer(encoded(value))
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
                call(lib.smq_options_set, self._owned, name.encode(), option_text(value).encode())
        self._names = {name: ffi.new("char[]", text.encode()) for name, text in names.items()}
        for name, text in self._names.items():
            setattr(self.pointer, name, text)


def option_text(value: Union[str, int, bool]) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def made(function: Any, kind: str, *arguments: Any) -> Any:
    """The handle that a _new() function makes."""
    out = ffi.new(f"{kind} **")
    call(function, out, *arguments)
    return out[0]


class Handle:
    """What has a handle of the C interface until close(), which the end of a `with` calls.  `kind` names it in errors."""

    kind = ""
    _handle: Optional[Any] = None

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Handled) -> Handled:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Any:
        if not self._handle:
            raise error_of(lib.SMQ_CLOSED, f"the {self.kind} was closed")
        return self._handle


def headers_array(headers: Mapping[str, Bytes]) -> Tuple[Any, Any]:
    """(an array of smq_header, what must live as long)."""
    array, keep = ffi.new("smq_header[]", len(headers)), []
    for header, (name, value) in zip(array, headers.items()):
        text = ffi.new("char[]", name.encode())
        header.name = text
        keep += [text, put_bytes(header.value, value)]
    return array, keep


def number_of(pointer: Any) -> int:
    """The number that was passed as a `void *user`."""
    return int(ffi.cast("uintptr_t", pointer))


def user_of(number: int) -> Any:
    return ffi.cast("void *", number)


check_version()
