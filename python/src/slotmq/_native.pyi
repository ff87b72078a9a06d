# Made by build_native.py from the headers of the library; slotmq.calls gives types to what it returns.
from typing import Any

ffi: Any
lib: Any
