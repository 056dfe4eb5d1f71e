"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording. Here are those that others call; those of families and of single operators
(reductions, products, bounds, powers, …) are in `opwright_kernels.rules`, and are names of this module, too.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute
from opwright_core.names.packages import PackageOfFunctions

if TYPE_CHECKING:
    from opwright_core.plans.plan import Plan as Plan
    from opwright_core.rules.factories import *  # noqa: F403
    from opwright_core.rules.pointwise import *  # noqa: F403
    from opwright_kernels.rules import *  # noqa: F403

_PARTS: Final = {"factories": "empty like overwritten sized", "pointwise": "pointwise"}
_HOMES: Final = {"Plan": "opwright_core.plans.plan"} | {
    name: f"{__name__}.{part}" for part, names in _PARTS.items() for name in names.split()
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _PARTS and name not in _HOMES:
        return import_late(f"{__name__}.{name}")
    found = getattr(import_late(_home(name)), name)
    setattr(sys.modules[__name__], name, found)
    return found


def _home(name: str) -> str:
    if name in _HOMES:
        return _HOMES[name]
    families = import_module("opwright_kernels.rules").__all__
    if name not in families:
        raise missing_attribute(f"module {__name__!r} has no attribute {name!r}", name, __all__)
    return "opwright_kernels.rules"


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("opwright_kernels.rules").__all__])


sys.modules[__name__].__class__ = PackageOfFunctions
