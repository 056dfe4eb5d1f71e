"""The names of `opwright.dispatch`: what dispatch does, to look at and to steer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from opwright.context_managers.keys import below_autograd, enable_python_dispatcher, exclude_keys, include_keys
from opwright_core.core import Core
from opwright_core.core import core as _core
from opwright_core.dispatch.call.operator import Operator as Operator
from opwright_core.dispatch.call.operator import find_operator as find_operator
from opwright_core.dispatch.call.packets import Packet as Packet
from opwright_core.dispatch.registry.kernel_kinds import Registration as Registration
from opwright_core.dispatch.registry.kernel_kinds import fallthrough_kernel
from opwright_core.dispatch.registry.precedence import Entry
from opwright_core.keys import DispatchKey
from opwright_core.keysets import KeySet
from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute

if TYPE_CHECKING:
    from opwright.inspection.table_calculator import PythonDispatcher
    from opwright.inspection.tables import dump, keys, redispatch, registrations, table

__all__ = [
    "Core", "DispatchKey", "Entry", "KeySet", "PythonDispatcher", "below_autograd", "core", "dump",
    "enable_python_dispatcher", "exclude_keys", "fallthrough_kernel", "include_keys", "keys", "redispatch",
    "registrations", "table",
]  # fmt: skip

_TABLES: Final = frozenset(("dump", "keys", "redispatch", "registrations", "table"))


def core() -> Core:
    """Return what runs calls in this process, and why: "fast" is the compiled core, with ATen's kernels in C; "partial"
    the core alone; else "python"."""
    return _core("opwright_kernels")


def __getattr__(name: str) -> Any:
    if name in _TABLES:
        found = getattr(import_late("opwright.inspection.tables"), name)
    elif name == "PythonDispatcher":
        found = import_late("opwright.inspection.table_calculator").PythonDispatcher
    else:
        raise missing_attribute(f"module {__name__!r} has no attribute {name!r}", name, __all__)
    setattr(sys.modules[__name__], name, found)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
