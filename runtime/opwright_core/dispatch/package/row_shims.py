"""General shims of rows: tensors in, arrays to the kernel, tensors out, whatever the tensors look like.

They plan what is new, and handle what is cast, written or not as planned. A shim keeps `row` among its variables, by
which an error finds the operator (`dispatch.kernel_sources`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from opwright_core.dispatch.package.kernel_rows import Row, RowCall
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan import cast_operands
from opwright_core.plans.plan_keys import KEY
from opwright_core.tensors.results import new_result, planned_result, results_of
from opwright_core.unrolling import Definition

__all__ = ["caster", "general_shim", "name_error"]

Function = Callable[..., Any]


def general_shim(row: Row) -> Function:
    """Return the function that serves every call of a row's operator, but for one of a C kernel."""
    if row.writes:
        return import_late("opwright_core.dispatch.package.writing_shims").writing_shim(row)  # type: ignore[no-any-return]
    if row.cache is not None:
        return _known(row)
    return _planned(row)


def name_error(error: Exception, row: Row) -> None:
    """Note on an error which operator's kernel raised it, where the kernel may not say so by itself."""
    import_late("opwright_core.texts.kernel_sources").name_row(error, row)


# What of an argument is in the key has the letter that the row's `kinds` have for it, what the kernel is passed has p.
# One result is 1, a kernel that is passed arguments in another order is R. (An error finds `row` here.)
_SHIM: Final = Definition(
    f"""\
def shim({{*: x#, }}):
    try:
        {{Tt}} x# = x#.array
        {{Oo}} x# = None if x# is None else x#.array
        {{Ll}} x# = [each.array for each in x#]
        key = {KEY}
        spec, run = find(key), kernel
        if spec is None:
            spec, run = planned(key, {{*: x#, }})
        if {{1: spec}}{{S: spec[0]}}.casts:
            {{*: x#, }} = cast({{1: spec}}{{S: spec[0]}}, {{*: x#, }})
        return {{1: planned_result}}{{S: several}}(
            spec, run({{p: x#, }}{{R: *pick(({{*: x#, }})), }}), {{TtOo: x#, |Ll: *x#, }}
        )
    except Exception as error:
        name_error(error, row)
        raise
""",
    globals(),
)


def _known(row: Row) -> Function:
    """Return the shim of a kernel with a plan cache."""
    cache, call, passed = row.cache, RowCall(row), row.passed_positions()
    assert cache is not None
    own = cache

    def planned(key: Any, *values: Any) -> tuple[Any, Function]:
        run = call.kernel_for(values)
        return own.fill(key, call.plan(values), *call.operands(values), is_kept=call.is_kept(run)), run

    is_sorted = list(passed) == sorted(set(passed))
    letters = [
        f"{kind if kind.isupper() or at in passed else '.'}{'p' if is_sorted and at in passed else ''}"
        for at, kind in enumerate(row.kinds)
    ]
    flags = ("1" if row.results == 1 else "S") + ("" if is_sorted else "R")
    return _SHIM.make(
        letters, flags, row=row, find=cache.get, kernel=call.kernel, planned=planned, cast=caster(row, call),
        pick=call.pick, several=partial(_several, row),
    )  # fmt: skip


def caster(row: Row, call: RowCall) -> Callable[..., Sequence[Any]]:
    """Return a function that returns the arguments with operands cast as a spec says."""
    operands = row.operand_positions()
    count = len(operands)
    are_first = operands == tuple(range(count))

    def cast(spec: Any, *values: Any) -> Sequence[Any]:
        if are_first and spec.numbers is not None:
            return values[0], *spec.numbers, *values[count:]
        found = list(values)
        call.cast(found, cast_operands(spec, call.operands(values)))
        return found

    return cast


def _several(row: Row, specs: Sequence[Any], returned: Any, *operands: Any) -> tuple[Any, ...]:
    """Return new tensors of the results of a row's kernel."""
    made = []
    for index, result in enumerate(results_of(returned, row.results)):  # (an error shows the one of `index`)
        made.append(planned_result(specs[index], result, *operands))
    return tuple(made)


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
