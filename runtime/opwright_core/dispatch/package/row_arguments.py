"""The arguments of a row's calls: which of them its rule, its plan and its kernel receive, and in what form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from types import MethodType
from typing import Any, Final

from opwright_core.core import fast
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.locks.long_calls import LONG, call_in_parts, call_in_thread, has_long

__all__ = ["RowCall", "bound_kernel", "picker"]

Function = Callable[..., Any]
_LISTS: Final = frozenset("LlPpQq")


def bound_kernel(row: Row) -> Function:
    """Return the kernel without the array module, if that comes first."""
    return MethodType(row.function, row.xp) if row.positions[:1] == (-1,) else row.function


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
