"""The names of `opwright.dispatch`: what dispatch does, to look at and to steer."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from opwright_core.core import Core, core
from opwright_core.dispatch.call.operator import Operator as Operator
from opwright_core.dispatch.call.operator import find_operator as find_operator
from opwright_core.dispatch.call.packets import Packet as Packet
from opwright_core.dispatch.registry.kernel_kinds import Registration as Registration
from opwright_core.dispatch.registry.kernel_kinds import fallthrough_kernel
from opwright_core.dispatch.registry.precedence import Entry
from opwright_core.dispatch.registry.tables import registry as _registry  # `dispatch.registry` is the module
from opwright_core.keys import DispatchKey, KeySet
from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute
from opwright_core.state import below_autograd, enable_python_dispatcher, exclude_keys, include_keys

if TYPE_CHECKING:
    from opwright.inspection.table_calculator import PythonDispatcher
    from opwright.inspection.tables import dump, keys, redispatch, registrations, table

__all__ = [
    "Core", "DispatchKey", "Entry", "KeySet", "PythonDispatcher", "below_autograd", "core", "dump",
    "enable_python_dispatcher", "exclude_keys", "fallthrough_kernel", "include_keys", "keys", "redispatch",
    "registrations", "table",
]  # fmt: skip

_TABLES: Final = frozenset(("dump", "keys", "redispatch", "registrations", "table"))
# What modules had, and an attribute of `registry` is now.
_FORMER: Final = {
    "registry.kernel_kinds": "fallbacks kernels lock",
    "registry.lost": "lost_definitions lost_kernels lost_operators why_lost",
    "call.operator": "operators",
    "registry.registering": "generated_namespaces",
    "registry.tables": "overloads shared_overloads",
}


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


for _module, _names in _FORMER.items():
    for _name in _names.split():
        setattr(import_module(f"{__name__}.{_module}"), _name, getattr(_registry, _name))
