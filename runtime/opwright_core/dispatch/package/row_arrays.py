"""Calls of rows with plain arrays alone: tensors are made of them for the shim, and an array of what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.arrays.dtypes import plain_dtypes
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.plans.plan_keys import leading_tensors
from opwright_core.tensors.wrapping import wrap

__all__ = ["on_arrays"]

Function = Callable[..., Any]
_PLAIN: Final = plain_dtypes("biufc")


def on_arrays(row: Row, shim: Function, otherwise: Function) -> Function:
    """Return a shim for plain arrays around `shim`, which takes tensors: `otherwise` does so where an array is not
    row-major, or of an uncommon dtype, and for rows with tensors elsewhere than in front."""
    count = leading_tensors(row.kinds)
    if row.writes or row.results != 1 or not 0 < count < 3:
        return otherwise
    return _of_one(shim, otherwise) if count == 1 else _of_two(shim, otherwise)


def _of_one(shim: Function, otherwise: Function) -> Function:
    def arrays(self: Any, *rest: Any) -> Any:
        if self.dtype not in _PLAIN or not self.flags.c_contiguous:
            return otherwise(self, *rest)
        return shim(wrap(self), *rest).array

    return arrays


def _of_two(shim: Function, otherwise: Function) -> Function:
    def arrays(self: Any, other: Any, *rest: Any) -> Any:
        is_plain = self.dtype in _PLAIN and other.dtype in _PLAIN
        if not is_plain or not self.flags.c_contiguous or not other.flags.c_contiguous:
            return otherwise(self, other, *rest)
        return shim(wrap(self), wrap(other), *rest).array

    return arrays
