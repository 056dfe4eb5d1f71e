"""Calls of rows that are planned already, in as few steps as Python allows: up to three tensors, then other arguments.

A function for each number of arguments is what Python calls fastest. Each leaves to the general shim what has no plan
yet. What the compiled core does for all rows, these do for most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from numpy import ndarray

from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.package.row_shims import bound_kernel, name_error
from opwright_core.dispatch.package.row_writes import written_call
from opwright_core.plans.plan import cast_operands
from opwright_core.plans.plan_keys import leading_tensors, rest_key
from opwright_core.tensors.results import known_result
from opwright_core.tensors.tensor import Tensor

__all__ = ["quick_call"]

Function = Callable[..., Any]
Parts = tuple[Function, Function, Function, Function]


def quick_call(row: Row, general: Function) -> Function:
    """Return what serves the calls of a row in Python: `general` itself where nothing is quicker."""
    count = leading_tensors(row.kinds)
    operands = row.operand_places()
    if row.cache is None or row.is_native or row.results != 1 or count == 0 or operands != tuple(range(len(operands))):
        return general
    if row.writes:
        return written_call(row, general)
    made = _MAKERS.get((count, len(row.kinds) - count))
    return general if made is None else made(row, general, _parts(row, count))


def _parts(row: Row, count: int) -> Parts:
    """Return what finds a plan, the kernel of all arguments, what casts them, and what makes the key of the last."""
    assert row.cache is not None
    return row.cache.get, _of_all(row), _caster(len(row.operand_places())), rest_key(row.kinds[count:])


def _of_all(row: Row) -> Function:
    """Return the kernel as a function of all arguments."""
    kernel, passed = bound_kernel(row), row.passed_places()
    if passed == tuple(range(len(row.kinds))):
        return kernel
    if passed == (0,):
        return lambda first, *others: kernel(first)
    return lambda *values: kernel(*[values[place] for place in passed])


def _caster(count: int) -> Function:
    """Return what casts the first arguments, which are the operands, as a form says."""

    def cast(form: Any, *values: Any) -> Sequence[Any]:
        return (*cast_operands(form, values[:count]), *values[count:])

    return cast


def _made(form: Any, answer: Any, x: Any, y: Any = None, z: Any = None) -> Any:
    """Return a new tensor of an answer of the kernel, which got these operands."""
    if (
        type(answer) is ndarray
        and answer.dtype is form.dtype
        and answer.base is None
        and answer is not x
        and answer is not y
        and answer is not z
        and (form.is_laid_out or (answer.shape == form.shape and form.lies_as_planned(answer)))
    ):
        made = Tensor()
        made.array = answer
        made.keys = form.keys
        made.edge = None
        made.extra = None
        return made
    return known_result(form, answer, x, y, z)


def _one(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, _ = parts

    def shim(self: Tensor) -> Any:
        x = self.array
        form = find((x.shape, x.strides, x.dtype))
        if form is None:
            return general(self)
        try:
            if form.casts:
                (x,) = cast(form, x)
            return _made(form, kernel(x), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _one_and_one(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, a: Any) -> Any:
        x = self.array
        form = find((x.shape, x.strides, x.dtype, rest_of(a)))
        if form is None:
            return general(self, a)
        try:
            if form.casts:
                x, a = cast(form, x, a)
            return _made(form, kernel(x, a), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _one_and_two(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, a: Any, b: Any) -> Any:
        x = self.array
        form = find((x.shape, x.strides, x.dtype, rest_of(a, b)))
        if form is None:
            return general(self, a, b)
        try:
            if form.casts:
                x, a, b = cast(form, x, a, b)
            return _made(form, kernel(x, a, b), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _one_and_three(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, a: Any, b: Any, c: Any) -> Any:
        x = self.array
        form = find((x.shape, x.strides, x.dtype, rest_of(a, b, c)))
        if form is None:
            return general(self, a, b, c)
        try:
            if form.casts:
                x, a, b, c = cast(form, x, a, b, c)
            return _made(form, kernel(x, a, b, c), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, _ = parts

    def shim(self: Tensor, other: Tensor) -> Any:
        x, y = self.array, other.array
        form = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype))
        if form is None:
            return general(self, other)
        try:
            if form.casts:
                x, y = cast(form, x, y)
            return _made(form, kernel(x, y), x, y)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two_and_one(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, other: Tensor, a: Any) -> Any:
        x, y = self.array, other.array
        form = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype, rest_of(a)))
        if form is None:
            return general(self, other, a)
        try:
            if form.casts:
                x, y, a = cast(form, x, y, a)
            return _made(form, kernel(x, y, a), x, y)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _three(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, _ = parts

    def shim(self: Tensor, other: Tensor, third: Tensor) -> Any:
        x, y, z = self.array, other.array, third.array
        form = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype, z.shape, z.strides, z.dtype))
        if form is None:
            return general(self, other, third)
        try:
            if form.casts:
                x, y, z = cast(form, x, y, z)
            return _made(form, kernel(x, y, z), x, y, z)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _three_and_two(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, other: Tensor, third: Tensor, a: Any, b: Any) -> Any:
        x, y, z = self.array, other.array, third.array
        seen = x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype, z.shape, z.strides, z.dtype
        form = find((*seen, rest_of(a, b)))
        if form is None:
            return general(self, other, third, a, b)
        try:
            if form.casts:
                x, y, z, a, b = cast(form, x, y, z, a, b)
            return _made(form, kernel(x, y, z, a, b), x, y, z)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


# By how many tensors come first, and how many other arguments behind them.
_MAKERS: Final[dict[tuple[int, int], Callable[[Row, Function, Parts], Function]]] = {
    (1, 0): _one,
    (1, 1): _one_and_one,
    (1, 2): _one_and_two,
    (1, 3): _one_and_three,
    (2, 0): _two,
    (2, 1): _two_and_one,
    (3, 0): _three,
    (3, 2): _three_and_two,
}
