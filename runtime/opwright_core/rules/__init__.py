"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording. Here are those that others call; those of families and of single operators
(products, bounds, powers, …) come with the library, and are names of this module, too.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright_core.late_bound import has_library, late_bound
from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import missing_attribute
from opwright_core.names.packages import PackageOfFunctions

if TYPE_CHECKING:
    from opwright_core.plans.plan import Plan as Plan
    from opwright_core.rules.factories import *  # noqa: F403
    from opwright_core.rules.gufuncs import gufunc as gufunc
    from opwright_core.rules.pointwise import *  # noqa: F403
    from opwright_core.rules.reductions import norm as norm
    from opwright_core.rules.reductions import reduce as reduce
    from opwright_core.rules.reductions import scan as scan

_PARTS: Final = {
    "factories": "empty like overwritten sized", "gufuncs": "gufunc", "pointwise": "pointwise",
    "reductions": "norm reduce scan",
}  # fmt: skip
_HOMES: Final = {"Plan": "opwright_core.plans.plan"} | {
    name: f"{__name__}.{part}" for part, names in _PARTS.items() for name in names.split()
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _PARTS and name not in _HOMES:
        return import_late(f"{__name__}.{name}")
    if name in _HOMES:
        found = getattr(import_late(_HOMES[name]), name)
    elif name in _families():
        found = getattr(late_bound.tools().rules(), name)
    else:
        hint = "" if has_library() else ": rules of ATen's families need the library, pip install opwright"
        raise missing_attribute(f"module {__name__!r} has no attribute {name!r}", name, [*__all__, *_families()], hint)
    setattr(sys.modules[__name__], name, found)
    return found


def _families() -> Sequence[str]:
    """Return the names of the rules that the library has."""
    names: Sequence[str] = late_bound.tools().rules().__all__ if has_library() else ()
    return names


def __dir__() -> list[str]:
    return sorted([*__all__, *_families()])


sys.modules[__name__].__class__ = PackageOfFunctions
