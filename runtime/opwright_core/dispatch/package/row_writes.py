"""Calls of in-place variants that are planned already, and whose kernel writes to the array itself.

Each leaves to the general shim what has no plan yet, what is cast, and tensors that may share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.package.row_shims import bound_kernel, name_error
from opwright_core.plans.plan import Plan
from opwright_core.plans.plan_keys import leading_tensors, rest_key
from opwright_core.tensors.tensor import Tensor

__all__ = ["written_call"]

Function = Callable[..., Any]


def written_call(row: Row, general: Function) -> Function:
    """Return the shim of a row that writes in place: `general` itself where there is no faster one."""
    count = leading_tensors(row.kinds)
    is_straight = row.takes_out and row.is_inplace and row.writes == (0,)
    if not is_straight or row.passed_positions() != tuple(range(len(row.kinds))) or count > 2:
        return general
    operands = row.operand_positions()
    if operands != tuple(range(len(operands))) or len(row.kinds) - count > 2:
        return general
    return (_one if count == 1 else _two)(row, general)


def _parts(row: Row) -> tuple[Function, Function, Function]:
    """Return three functions: look-up of a spec by which the kernel may write, kernel, key of the last arguments."""
    assert row.cache is not None
    return row.cache.straight.get, bound_kernel(row), rest_key(row.kinds[leading_tensors(row.kinds) :])


def _one(row: Row, general: Function) -> Function:
    find, kernel, rest_of = _parts(row)

    def shim(self: Tensor, *rest: Any) -> Any:
        x = self.array
        seen = x.shape, x.strides, x.dtype
        spec = find((*seen, rest_of(*rest)) if rest else seen)
        if spec is None or not (spec.is_laid_out or spec.is_that_of(x)):
            return general(self, *rest)
        try:
            if spec.numbers is not None:
                rest = (*spec.numbers, *rest[len(spec.numbers) :])
            if (returned := kernel(x, *rest, out=x)) is not x:
                Plan(spec).store(returned, x)
            return self
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two(row: Row, general: Function) -> Function:
    find, kernel, rest_of = _parts(row)

    def shim(self: Tensor, other: Tensor, *rest: Any) -> Any:
        x, y = self.array, other.array
        seen = x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype
        spec = find((*seen, rest_of(*rest)) if rest else seen)
        # (arrays that share memory have one owner, or one owns the other's)
        is_apart = x.base is None and y.base is None and y is not x
        if spec is None or not is_apart or not (spec.is_laid_out or spec.is_that_of(x)):
            return general(self, other, *rest)
        try:
            if (returned := kernel(x, y, *rest, out=x)) is not x:
                Plan(spec).store(returned, x)
            return self
        except Exception as error:
            name_error(error, row)
            raise

    return shim
