"""Shims of rows of C kernels, which get the plan before the arguments, and may make their results themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.package.row_shims import RowCall, name_error, picker
from opwright_core.plans.plan import cast_operands
from opwright_core.tensors.results import new_result, planned_result, results_of
from opwright_core.tensors.wrapping import wrap

__all__ = ["native_calls", "native_shim"]

Function = Callable[..., Any]


def native_shim(row: Row) -> Function:
    """Return the shim of a C kernel, which gets the plan, or the cached spec."""
    cache, count, call = row.cache, row.results, RowCall(row)
    kernel, pick = call.kernel, call.pick
    is_cast = {*row.operand_positions()} & {*row.passed_positions()}

    def shim(*args: Any) -> Any:
        try:
            values = call.values(args)
            key = None if cache is None else cache.key_of(*values)
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


def native_calls(row: Row, general: Function) -> tuple[Function, Function]:
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
        tensors = [wrap(each) if kind in "tT" else each for kind, each in zip(row.kinds, args, strict=True)]
        return general(*tensors).array

    return dense, arrays
