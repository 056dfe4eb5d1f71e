"""Rows of kernels that need more than NumPy: in C, which get the plan before the arguments, and may make their results
themselves; and on CuPy's arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opwright_core.core import fast
from opwright_core.dispatch.compiled.planned_kernels import planned_in_c
from opwright_core.dispatch.package.kernel_rows import Row, RowCall, Ufunc, kernel, picker
from opwright_core.dispatch.package.row_shims import name_error
from opwright_core.plans.plan import cast_operands
from opwright_core.tensors.results import new_result, planned_result, results_of
from opwright_core.tensors.wrapping import wrap

__all__ = ["cuda_kernel", "native_kernel", "native_shims"]

Function = Callable[..., Any]


def _native_shim(row: Row) -> Function:
    """Return the shim of a C kernel, which gets the plan, or the cached spec."""
    cache, count, call = row.cache, row.results, RowCall(row)
    kernel, pick = call.kernel, call.pick
    key_of = None if cache is None else cache.key_of
    is_cast = {*row.operand_positions()} & {*row.passed_positions()}

    def shim(*args: Any) -> Any:
        try:
            values = call.values(args)
            key = None if key_of is None else key_of(*values)
            found = None if cache is None else cache.get(key)
            if found is None:
                found = call.plan(values)
                found = found if cache is None else cache.fill(key, found, *call.operands(values))
            specs = (found,) if count == 1 else found
            first = getattr(specs[0], "spec", specs[0])
            if is_cast and first.casts:
                call.cast(values, cast_operands(first, call.operands(values)))
            returned = kernel(found, *pick(values))
            made = []
            for index, result in enumerate((returned,) if count == 1 else results_of(returned, count)):
                wrapped = new_result if cache is None else planned_result
                made.append(wrapped(specs[index], result))
            return made[0] if count == 1 else tuple(made)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _native_calls(row: Row, general: Function) -> tuple[Function, Function]:
    """Return the shims for dense tensors and for plain arrays of a C kernel that makes the result."""
    fast, values_of = row.fast, RowCall(row).values
    pick = picker(row.positions, len(row.kinds))
    assert fast is not None

    def computed(values: Sequence[Any]) -> Any:
        try:
            return fast(*pick(values), None)
        except (TypeError, ValueError, OverflowError):
            return NotImplemented

    def dense(*args: Any) -> Any:
        found = computed(values_of(args))
        return general(*args) if found is NotImplemented else wrap(found)

    def arrays(*args: Any) -> Any:
        found = computed(args)
        if found is not NotImplemented:
            return found
        return general(*[wrap(each) if isinstance(each, np.ndarray) else each for each in args]).array

    return dense, arrays


def native_shims(row: Row) -> tuple[Function, Function | None, Function | None]:
    """Return what serves the operator of a C kernel: the compiled core calls it with operands that are cast."""
    general = _native_shim(row)
    if row.fast is None:
        return general, None, None
    if fast is None or row.cache is None:
        return general, *_native_calls(row, general)
    shim = planned_in_c(general, row.kinds, row.fast, (*row.positions, -1), row.cache, xp=None)
    return shim, None, _native_calls(row, shim)[1]


def native_kernel(
    kinds: str,
    function: Any,
    places: tuple[int, ...],
    meta: Function,
    *,
    operands: tuple[int, ...] | None = None,
    results: int = 1,
    makes_result: bool = False,
) -> Row:
    """Return the row of a C kernel, which gets the plan before the arguments. One that `makes_result` does so by itself
    where arrays are as it takes them: `function.fast` then gets the arguments, and None for the result."""
    row = kernel(kinds, function, places, meta, operands=operands, results=results)
    row.fast = function.fast if makes_result else None
    row.is_native = True
    return row


def cuda_kernel(
    kinds: str,
    function: Function,
    places: tuple[int, ...],
    meta: Function,
    *,
    operands: tuple[int, ...] | None = None,
    results: int = 1,
    ufunc: tuple[Function, str, str] | None = None,
) -> Row:
    """Return the row of a kernel on CuPy's arrays, as `kernel` does."""
    made = None if ufunc is None else Ufunc(*ufunc)
    xp = importlib.import_module("cupy")
    return Row("CUDA", xp, kinds, function, places, meta, operands=operands, results=results, ufunc=made)
