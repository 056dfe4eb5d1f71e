"""General shims of rows: tensors in, arrays to the kernel, tensors out, whatever the tensors look like.

They plan what is new, and handle what is cast, written or not as planned. A shim keeps `row` among its variables, by
which an error finds the operator (`dispatch.kernel_sources`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from types import MethodType
from typing import Any, Final

from opwright_core.core import fast
from opwright_core.dispatch.package.kernel_rows import Row, dtype_position
from opwright_core.hooks import has_library, hooks
from opwright_core.locks.long_calls import LONG, call_in_parts, call_in_thread, has_long
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan import cast_operands
from opwright_core.plans.plan_cache import PlanCache
from opwright_core.plans.writing import Plan
from opwright_core.tensors.results import new_result, planned_result, results_of

__all__ = ["RowCall", "bound_kernel", "general_shim", "name_error", "picker"]

Function = Callable[..., Any]
_LISTS: Final = frozenset("LlPpQq")


def general_shim(row: Row) -> Function:
    """Return the function that serves every call of a row's operator, but for one of a C kernel."""
    if len(row.writes) > 1:
        return _writes_several(row)
    if row.writes:
        return _writes_one(row)
    if row.cache is not None:
        return _known_one(row) if row.results == 1 else _known_several(row)
    return _planned(row)


def bound_kernel(row: Row) -> Function:
    """Return the kernel without the array module, if that comes first."""
    return MethodType(row.function, row.xp) if row.positions[:1] == (-1,) else row.function


def name_error(error: Exception, row: Row) -> None:
    """Note on an error which operator's kernel raised it, where the kernel may not say so by itself."""
    import_late("opwright_core.texts.kernel_sources").name_row(error, row)


class RowCall:
    """The ways of a row's arguments: to the rule, the plan's operands and the kernel."""

    __slots__ = ("arrays", "cast", "is_ufunc", "kernel", "long_from", "operands", "pick", "plan", "values")

    def __init__(self, row: Row) -> None:
        passed, planned = row.passed_positions(), row.planned_positions()
        taken = {*passed, *planned}
        self.kernel = bound_kernel(row)
        self.long_from = row.long_from()
        self.is_ufunc = row.ufunc is not None and row.key == "CPU"
        self.values = _unwrapper([(p, _UNWRAP[k]) for p, k in enumerate(row.kinds) if k in _UNWRAP and p in taken])
        self.pick = picker(passed, len(row.kinds))
        self.plan = _planner(row.meta, picker(planned, len(row.kinds)))
        positions = row.operand_positions()
        is_list = len(positions) == 1 and row.kinds[positions[0]] in _LISTS
        self.operands = itemgetter(positions[0]) if is_list else picker(positions)
        self.cast = _caster(positions, is_list)
        tensors = [position for position, kind in enumerate(row.kinds) if kind in _UNWRAP and position in taken]
        has_lists = any(row.kinds[position] in _LISTS for position in tensors)
        self.arrays = _flattener(tensors, row.kinds) if has_lists else picker(tuple(tensors))

    def kernel_for(self, values: Sequence[Any]) -> Function:
        """Return what calls the kernel: in a helper thread if an array is long (Note [Long calls])."""
        if self.long_from and has_long(values, self.long_from):
            return partial(call_in_thread, self.kernel)
        return self.kernel

    def written(self, values: Sequence[Any], out: Any) -> Any:
        """Return what the kernel writes to `out`, a long ufunc part by part; a new result if `out` is None."""
        passed = self.pick(values)
        if out is None:
            return self.kernel_for(values)(*passed)
        if self.is_ufunc and out.size >= LONG:
            return call_in_parts(self.kernel, *passed, out)
        return self.kernel(*passed, out=out)

    def is_kept(self, kernel: Function) -> bool:
        """Return whether a new spec is cached: by a cached one, calls run where they are made. The core has loops for
        ufuncs, which look at signals."""
        return kernel is self.kernel or (fast is not None and self.is_ufunc)


def _unwrapper(unwraps: Sequence[tuple[int, Function]]) -> Callable[[tuple[Any, ...]], list[Any]]:
    """Return a function that unwraps arguments: arrays for tensors."""
    if not unwraps:
        return list

    def values(args: tuple[Any, ...]) -> list[Any]:
        found = list(args)
        for position, unwrap in unwraps:
            found[position] = unwrap(found[position])
        return found

    return values


def _planner(meta: Function, pick: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes the plan, or one for each result."""
    return lambda values: meta(*pick(values))


def _caster(positions: tuple[int, ...], is_list: bool) -> Callable[[list[Any], Sequence[Any]], None]:
    """Return a function that replaces arguments by cast operands."""

    def cast(values: list[Any], operands: Sequence[Any]) -> None:
        if is_list:
            values[positions[0]] = operands
        else:
            for position, operand in zip(positions, operands, strict=True):
                values[position] = operand

    return cast


def _flattener(positions: Sequence[int], kinds: str) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that returns all arrays, also those in lists."""

    def arrays(values: Sequence[Any]) -> Sequence[Any]:
        found: list[Any] = []
        for position in positions:
            if kinds[position] in _LISTS:
                found += values[position] or ()
            else:
                found.append(values[position])
        return found

    return arrays


def picker(positions: tuple[int, ...], total: int = -1) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that picks the values at some positions; all of them if these are a `total`."""
    if not positions:
        return lambda values: ()
    if positions == tuple(range(total)):
        return tuple
    if len(positions) == 1:
        (position,) = positions
        return lambda values: (values[position],)
    found: Callable[[Sequence[Any]], Sequence[Any]] = itemgetter(*positions)
    return found


def _array(tensor: Any) -> Any:
    return tensor.array


def _array_or_none(tensor: Any) -> Any:
    return None if tensor is None else tensor.array


def _arrays(tensors: Any) -> Any:
    return [tensor.array for tensor in tensors]


def _arrays_or_none(tensors: Any) -> Any:
    return None if tensors is None else [tensor.array for tensor in tensors]


def _arrays_and_none(tensors: Any) -> Any:
    return [None if tensor is None else tensor.array for tensor in tensors]


_UNWRAP: Final[dict[str, Callable[[Any], Any]]] = {
    "T": _array,
    "t": _array,
    "O": _array_or_none,
    "o": _array_or_none,
    "L": _arrays,
    "l": _arrays,
    "P": _arrays_or_none,
    "p": _arrays_or_none,
    "Q": _arrays_and_none,
    "q": _arrays_and_none,
}


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


def _check_of(row: Row) -> Callable[[Any, Any], None] | None:
    """Return what refuses dtypes of `out=`, None where results are cast to them."""
    if row.is_inplace or not row.name.startswith("aten::") or not has_library():
        return None
    return hooks.tools().check_of_out(row.name)


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
