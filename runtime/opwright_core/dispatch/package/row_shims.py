"""General shims of rows: tensors in, arrays to the kernel, tensors out, whatever the tensors look like.

They plan what is new, and handle what is cast, written or not as planned. A shim keeps `row` among its variables, by
which an error finds the operator (`dispatch.kernel_sources`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.dispatch.package.kernel_rows import Row, RowCall
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan import cast_operands
from opwright_core.tensors.results import new_result, planned_result, results_of

__all__ = ["general_shim", "name_error"]

Function = Callable[..., Any]


def general_shim(row: Row) -> Function:
    """Return the function that serves every call of a row's operator, but for one of a C kernel."""
    if row.writes:
        return import_late("opwright_core.dispatch.package.writing_shims").writing_shim(row)  # type: ignore[no-any-return]
    if row.cache is not None:
        return _known_one(row) if row.results == 1 else _known_several(row)
    return _planned(row)


def name_error(error: Exception, row: Row) -> None:
    """Note on an error which operator's kernel raised it, where the kernel may not say so by itself."""
    import_late("opwright_core.texts.kernel_sources").name_row(error, row)


def _known_one(row: Row) -> Function:
    """Return the shim of a kernel with one result and a plan cache."""
    cache = row.cache
    assert cache is not None
    call, key_of, find = RowCall(row), cache.key_of, cache.get
    kernel, pick, arrays, values_of = call.kernel, call.pick, call.arrays, call.values

    def shim(*args: Any) -> Any:
        try:
            values = values_of(args)
            key = key_of(*values)
            spec, run = find(key), kernel
            if spec is None:
                run = call.kernel_for(values)
                spec = cache.fill(key, call.plan(values), *call.operands(values), is_kept=call.is_kept(run))
            if spec.casts:
                call.cast(values, cast_operands(spec, call.operands(values)))
            return planned_result(spec, run(*pick(values)), *arrays(values))
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _known_several(row: Row) -> Function:
    """Return the shim of a kernel with several results and a plan cache."""
    cache, count = row.cache, row.results
    assert cache is not None
    call, key_of, find = RowCall(row), cache.key_of, cache.get
    kernel, pick = call.kernel, call.pick

    def shim(*args: Any) -> Any:
        try:
            values = call.values(args)
            key = key_of(*values)
            specs, run = find(key), kernel
            if specs is None:
                run = call.kernel_for(values)
                specs = cache.fill(key, call.plan(values), *call.operands(values), is_kept=call.is_kept(run))
            if specs[0].casts:
                call.cast(values, cast_operands(specs[0], call.operands(values)))
            results = results_of(run(*pick(values)), count)
            given, made = call.arrays(values), []
            for index, result in enumerate(results):  # (an error shows the expression of that `index`)
                made.append(planned_result(specs[index], result, *given))
            return tuple(made)
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _planned(row: Row) -> Function:
    """Return the shim of a kernel that is planned for each call."""
    call, count = RowCall(row), row.results
    pick = call.pick
    is_cast = {*row.operand_positions()} & {*row.passed_positions()}

    def shim(*args: Any) -> Any:
        try:
            values = call.values(args)
            plans = call.plan(values)
            if is_cast:
                call.cast(values, (plans if count == 1 else plans[0]).operands)
            returned = call.kernel_for(values)(*pick(values))
            if count == 1:
                return new_result(plans, returned)
            made = []
            for index, result in enumerate(results_of(returned, count)):
                made.append(new_result(plans[index], result))
            return tuple(made)
        except Exception as error:
            name_error(error, row)
            raise

    return shim
