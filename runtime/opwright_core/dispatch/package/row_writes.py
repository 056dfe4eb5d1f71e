"""Calls of in-place variants that are planned already, and whose kernel writes to the array itself.

Each leaves to the general shim what has no plan yet, what is cast, and tensors that may share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.dispatch.package.kernel_rows import Row, bound_kernel
from opwright_core.dispatch.package.row_shims import name_error
from opwright_core.plans.plan import Plan
from opwright_core.plans.plan_keys import leading_tensors, rest_key
from opwright_core.tensors.tensor import Tensor

__all__ = ["written_call"]

Function = Callable[..., Any]


def written_call(row: Row, general: Function) -> Function:
    """Return the shim of a row that writes in place: `general` itself where there is no faster one."""
    count = leading_tensors(row.kinds)
    others = len(row.kinds) - count
    is_straight = row.takes_out and row.is_inplace and row.writes == (0,)
    if not is_straight or row.passed_positions() != tuple(range(len(row.kinds))) or count > 2 or others > 1:
        return general
    makers = {(1, 0): _one, (1, 1): _one_and_one, (2, 0): _two, (2, 1): _two_and_one}
    return makers[count, others](row, general)


def _parts(row: Row) -> tuple[Function, Function, Function]:
    """Return three functions: look-up of a spec by which the kernel may write, kernel, key of the last argument."""
    assert row.cache is not None
    return row.cache.straight.get, bound_kernel(row), rest_key(row.kinds[leading_tensors(row.kinds) :])


def _one(row: Row, general: Function) -> Function:
    find, kernel, _ = _parts(row)

    def shim(self: Tensor) -> Any:
        x = self.array
        spec = find((x.shape, x.strides, x.dtype))
        if spec is None or not (spec.is_laid_out or spec.is_that_of(x)):
            return general(self)
        try:
            if (returned := kernel(x, out=x)) is not x:
                Plan(spec).store(returned, x)
            return self
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _one_and_one(row: Row, general: Function) -> Function:
    find, kernel, rest_of = _parts(row)

    def shim(self: Tensor, a: Any) -> Any:
        x = self.array
        spec = find((x.shape, x.strides, x.dtype, rest_of(a)))
        if spec is None or not (spec.is_laid_out or spec.is_that_of(x)):
            return general(self, a)
        try:
            if spec.numbers is not None:
                (a,) = spec.numbers
            if (returned := kernel(x, a, out=x)) is not x:
                Plan(spec).store(returned, x)
            return self
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two(row: Row, general: Function) -> Function:
    find, kernel, _ = _parts(row)

    def shim(self: Tensor, other: Tensor) -> Any:
        x, y = self.array, other.array
        spec = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype))
        # (arrays that share memory have one owner, or one owns the other's)
        is_apart = x.base is None and y.base is None and y is not x
        if spec is None or not is_apart or not (spec.is_laid_out or spec.is_that_of(x)):
            return general(self, other)
        try:
            if (returned := kernel(x, y, out=x)) is not x:
                Plan(spec).store(returned, x)
            return self
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two_and_one(row: Row, general: Function) -> Function:
    find, kernel, rest_of = _parts(row)

    def shim(self: Tensor, other: Tensor, a: Any) -> Any:
        x, y = self.array, other.array
        spec = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype, rest_of(a)))
        is_apart = x.base is None and y.base is None and y is not x
        if spec is None or not is_apart or not (spec.is_laid_out or spec.is_that_of(x)):
            return general(self, other, a)
        try:
            if (returned := kernel(x, y, a, out=x)) is not x:
                Plan(spec).store(returned, x)
            return self
        except Exception as error:
            name_error(error, row)
            raise

    return shim
