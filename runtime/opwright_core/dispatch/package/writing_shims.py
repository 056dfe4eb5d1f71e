"""General shims of rows whose results are written to tensors: in place, or to `out=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.dispatch.package.kernel_rows import Row, RowCall, bound_kernel, dtype_position
from opwright_core.dispatch.package.row_shims import caster, name_error
from opwright_core.late_bound import has_library, late_bound
from opwright_core.plans.plan_cache import PlanCache
from opwright_core.plans.plan_keys import KEY
from opwright_core.plans.writing import Plan
from opwright_core.tensors.results import results_of
from opwright_core.unrolling import Definition

__all__ = ["straight_shim", "writing_shim"]

Function = Callable[..., Any]
# A call whose kernel writes to the first tensor itself. W is a tensor behind it: arrays that share memory have one
# owner, or one owns the other's.
_STRAIGHT: Final = Definition(
    f"""\
def shim({{*: t#, }}):
    try:
        {{TW}} x# = t#.array
        {{IFNV.}} x# = t#
        spec = find({KEY.replace("{T:", "{TW:")})
        if spec is not None and (spec.is_laid_out or spec.is_that_of(x0)) and (
            {{W}} x#.base is None and x0.base is None and x# is not x0 and
            True
        ):
            if spec.numbers is not None:
                {{*: x#, }} = cast(spec, {{*: x#, }})
            if (returned := kernel({{*: x#, }}out=x0)) is not x0:
                Plan(spec).store(returned, x0)
            return t0
    except Exception as error:
        name_error(error, row)
        raise
    return general({{*: t#, }})
""",
    globals(),
)


def writing_shim(row: Row) -> Function:
    """Return the function that serves every call of a row that writes to one tensor or to several."""
    return _writes_one(row) if len(row.writes) == 1 else _writes_several(row)


def straight_shim(row: Row, general: Function) -> Function:
    """Return the shim of a row in Python: `general` itself where its kernel cannot write to the first tensor itself."""
    cache, is_first = row.cache, row.takes_out and row.is_inplace and row.writes == (0,)
    others = row.kinds.lstrip("T")
    is_straight = is_first and row.passed_positions() == tuple(range(len(row.kinds))) and not set("TOLtol") & {*others}
    if cache is None or row.is_native or not is_straight:
        return general
    letters = row.kinds[:1] + row.kinds[1:].replace("T", "W")
    return _STRAIGHT.make(
        letters, row=row, general=general, find=cache.straight.get, kernel=bound_kernel(row),
        cast=caster(row, RowCall(row)),
    )  # fmt: skip


def _check_of(row: Row) -> Callable[[Any, Any], None] | None:
    """Return what refuses dtypes of `out=`, None where results are cast to them."""
    if row.is_inplace or not row.name.startswith("aten::") or not has_library():
        return None
    return late_bound.tools().check_of_out(row.name)


def _writes_one(row: Row) -> Function:
    """Return the shim of a kernel whose result is written to a tensor."""
    cache, takes_out, is_inplace, (written,) = row.cache, row.takes_out, row.is_inplace, row.writes
    call = RowCall(row)
    values_of = call.values
    plan_of = _planner_of(call, cache, bool({*row.operand_positions()} & {*row.passed_positions()}))
    check = _check_of(row)
    at = -1 if is_inplace or check is not None else dtype_position(row.meta, row.planned_positions())

    def shim(*args: Any) -> Any:
        try:
            values = values_of(args)
            plan = plan_of(values)
            tensor = args[written]
            if at >= 0 and args[at] is None and plan.dtype != tensor.dtype:  # computed in that of `out`
                plan = plan_of(values := values_of((*args[:at], tensor.dtype, *args[at + 1 :])))
            if check is not None and tensor.dtype is not plan.dtype:
                check(plan.dtype, tensor.dtype)
            target = plan.inplace(tensor) if is_inplace else plan.target(tensor)
            plan.store(call.written(values, plan.out(target) if takes_out else None), target)
            return tensor
        except Exception as error:
            name_error(error, row)
            raise

    return shim


def _planner_of(call: RowCall, cache: PlanCache | None, is_cast: bool) -> Callable[[list[Any]], Any]:
    """Return a function that plans, by the cached spec if there is one, and casts the operands."""

    def planned(values: list[Any]) -> Any:
        plan = call.plan(values)
        if is_cast:
            call.cast(values, plan.operands)
        return plan

    if cache is None:
        return planned
    key_of, find, operands_of = cache.key_of, cache.get, call.operands

    def plan_of(values: list[Any]) -> Any:
        key = key_of(*values)
        spec = find(key)
        operands = operands_of(values)
        if spec is None:
            plan = planned(values)
            cache.fill_from_plan(key, plan, *operands)
            return plan
        plan = Plan(spec, operands)
        if is_cast and spec.casts:
            call.cast(values, plan.operands)
        return plan

    return plan_of


def _writes_several(row: Row) -> Function:
    """Return the shim of a kernel whose results are written to several tensors."""
    call, count, writes = RowCall(row), row.results, row.writes
    pick, is_inplace = call.pick, row.is_inplace
    is_cast = {*row.operand_positions()} & {*row.passed_positions()}
    check = _check_of(row)

    def shim(*args: Any) -> Any:
        try:
            values = call.values(args)
            plans = call.plan(values)
            if is_cast:
                call.cast(values, plans[0].operands)
            written = tuple([args[position] for position in writes])
            if check is not None:
                for plan, tensor in zip(plans, written, strict=True):
                    check(plan.dtype, tensor.dtype)
            targets = [
                plan.inplace(tensor) if is_inplace else plan.target(tensor)
                for plan, tensor in zip(plans, written, strict=True)
            ]
            results = results_of(call.kernel_for(values)(*pick(values)), count)
            for index, result in enumerate(results):
                plans[index].store(result, targets[index])
            return written
        except Exception as error:
            name_error(error, row)
            raise

    return shim
