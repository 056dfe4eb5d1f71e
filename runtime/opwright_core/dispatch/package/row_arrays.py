"""Calls of rows with plain arrays alone: tensors are made of them for the shim, and an array of what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.arrays.dtypes import plain_dtypes
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.tensors.wrapping import wrap as wrap
from opwright_core.unrolling import Definition

__all__ = ["on_arrays"]

Function = Callable[..., Any]
PLAIN: Final = plain_dtypes("biufc")
_ARRAYS: Final = Definition(
    """\
def arrays({*: x#, }):
    if {T: x#.dtype in PLAIN and x#.flags.c_contiguous and }True:
        return shim({T: wrap(x#), |*: x#, }).array
    return otherwise({*: x#, })
""",
    globals(),
)


def on_arrays(row: Row, shim: Function, otherwise: Function) -> Function:
    """Return a shim for plain arrays around `shim`, which takes tensors: `otherwise` does so where an array is not
    row-major, or of an uncommon dtype, and for rows with tensors elsewhere than in front."""
    others = row.kinds.lstrip("T")
    if row.writes or row.results != 1 or len(others) == len(row.kinds) or set("TOLtolQqPp").intersection(others):
        return otherwise
    return _ARRAYS.make(row.kinds, shim=shim, otherwise=otherwise)
