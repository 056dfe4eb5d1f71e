"""Calls of rows that are planned already, in as few steps as Python allows: up to three tensors, then other arguments.

Python calls a function for each number of arguments fastest. Each leaves what has no plan yet to the general shim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from opwright_core.dispatch.package.kernel_rows import Row, bound_kernel, picker
from opwright_core.dispatch.package.row_shims import name_error
from opwright_core.dispatch.package.row_writes import written_call
from opwright_core.plans.plan import cast_operands
from opwright_core.plans.plan_keys import leading_tensors, rest_key
from opwright_core.tensors.results import planned_result
from opwright_core.tensors.tensor import Tensor

__all__ = ["quick_call"]

Function = Callable[..., Any]
Parts = tuple[Function, Function, Function, Function]
_TENSORS: Final = frozenset("TOLtolPpQq")  # letters of tensors and lists of them


def quick_call(row: Row, general: Function) -> Function:
    """Return the shim of a row in Python: `general` itself where there is no faster one."""
    count = leading_tensors(row.kinds)
    if row.cache is None or row.is_native or row.results != 1 or (count == 0 and _TENSORS.intersection(row.kinds)):
        return general
    if row.writes:
        return written_call(row, general)
    made = _MAKERS.get((count, len(row.kinds) - count)) or _MORE.get(count)
    return general if made is None else made(row, general, _parts(row, count))


def _parts(row: Row, count: int) -> Parts:
    """Return four functions: look-up of a cached spec, kernel, cast of operands, key of the last arguments."""
    assert row.cache is not None
    return row.cache.get, _of_all(row), _caster(row.operand_positions()), rest_key(row.kinds[count:])


def _of_all(row: Row) -> Function:
    """Return the kernel as a function of all arguments."""
    kernel, passed = bound_kernel(row), row.passed_positions()
    if passed == tuple(range(len(row.kinds))):
        return kernel
    pick = picker(passed)
    return (lambda first, *others: kernel(first)) if passed == (0,) else lambda *values: kernel(*pick(values))


def _caster(operands: tuple[int, ...]) -> Function:
    """Return a function that casts the operands among the arguments, as a spec says."""
    pick, count = picker(operands), len(operands)
    are_first = operands == tuple(range(count))

    def cast(spec: Any, *values: Any) -> Sequence[Any]:
        if are_first and spec.numbers is not None:
            return values[0], *spec.numbers, *values[count:]
        found = list(values)
        for position, value in zip(operands, cast_operands(spec, pick(values)), strict=True):
            found[position] = value
        return found

    return cast


def _one(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, _ = parts

    def shim(self: Tensor) -> Any:
        x = self.array
        spec = find((x.shape, x.strides, x.dtype))
        if spec is None:
            return general(self)
        try:
            if spec.casts:
                (x,) = cast(spec, x)
            return planned_result(spec, kernel(x), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _one_and_one(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, a: Any) -> Any:
        x = self.array
        spec = find((x.shape, x.strides, x.dtype, rest_of(a)))
        if spec is None:
            return general(self, a)
        try:
            if spec.casts:
                x, a = cast(spec, x, a)
            return planned_result(spec, kernel(x, a), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _one_and_more(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, *rest: Any) -> Any:
        x = self.array
        spec = find((x.shape, x.strides, x.dtype, rest_of(*rest)))
        if spec is None:
            return general(self, *rest)
        try:
            if spec.casts:
                x, *rest = cast(spec, x, *rest)
            return planned_result(spec, kernel(x, *rest), x)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, _ = parts

    def shim(self: Tensor, other: Tensor) -> Any:
        x, y = self.array, other.array
        spec = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype))
        if spec is None:
            return general(self, other)
        try:
            if spec.casts:
                x, y = cast(spec, x, y)
            return planned_result(spec, kernel(x, y), x, y)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _two_and_one(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, other: Tensor, a: Any) -> Any:
        x, y = self.array, other.array
        spec = find((x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype, rest_of(a)))
        if spec is None:
            return general(self, other, a)
        try:
            if spec.casts:
                x, y, a = cast(spec, x, y, a)
            return planned_result(spec, kernel(x, y, a), x, y)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _three(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, cast, rest_of = parts

    def shim(self: Tensor, other: Tensor, third: Tensor, *rest: Any) -> Any:
        x, y, z = self.array, other.array, third.array
        seen = x.shape, x.strides, x.dtype, y.shape, y.strides, y.dtype, z.shape, z.strides, z.dtype
        spec = find((*seen, rest_of(*rest)) if rest else seen)
        if spec is None:
            return general(self, other, third, *rest)
        try:
            if spec.casts:
                x, y, z, *rest = cast(spec, x, y, z, *rest)
            return planned_result(spec, kernel(x, y, z, *rest), x, y, z)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _of_no_tensor(row: Row, general: Function, parts: Parts) -> Function:
    find, kernel, _, key_of = parts

    def shim(*args: Any) -> Any:
        spec = find(key_of(*args))
        if spec is None:
            return general(*args)
        try:
            return planned_result(spec, kernel(*args), None)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


# By how many tensors come first, and how many other arguments behind them.
_MAKERS: Final[dict[tuple[int, int], Callable[[Row, Function, Parts], Function]]] = {
    (1, 0): _one,
    (1, 1): _one_and_one,
    (2, 0): _two,
    (2, 1): _two_and_one,
}
# For other numbers of arguments, by how many tensors there are.
_MORE: Final = {0: _of_no_tensor, 1: _one_and_more, 3: _three}
