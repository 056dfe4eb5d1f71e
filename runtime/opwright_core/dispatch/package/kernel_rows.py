"""Rows of kernels: a function on arrays, and how it is called. The runtime makes the shims of operators of them.

    sum_dim_IntList = kernel("TIVV", reductions_kernels.total, (-1, 0, 1, 2, 3), metas.sum_dim_IntList)
    sum_IntList_out = out_variant(sum_dim_IntList)

says that `total` gets NumPy (-1), then the arguments at positions 0 to 3 (the array of a tensor), and that the rule
`metas.sum_dim_IntList` reads them all. The letters, one for each argument, are those of `plans.plan_keys`:
a capital letter stands for an argument that the rule reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from opwright_core.core import fast
from opwright_core.keys import DENSE_CPU, DENSE_CUDA
from opwright_core.locks.interrupts import LONG, has_long
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan_cache import PlanCache
from opwright_core.plans.plan_keys import CACHED

__all__ = [
    "Row",
    "RowCall",
    "Ufunc",
    "bound_kernel",
    "call_in_parts",
    "call_in_thread",
    "dtype_position",
    "inplace_variant",
    "kernel",
    "out_variant",
    "picker",
]

Function = Callable[..., Any]
_KEYS: Final = {"CPU": DENSE_CPU, "CUDA": DENSE_CUDA}
_LISTS: Final = frozenset("LlPpQq")


class Ufunc(NamedTuple):
    """The ufunc that a kernel is of dense tensors: `letters` has one for each argument (`compiled.ufunc_shims`), and
    `dtypes` are those that it handles, by NumPy's letters of kinds."""

    function: Any
    letters: str
    dtypes: str


class Row:
    """A kernel of an operator. `results` says how many it returns, `writes` the positions of tensors that it writes
    instead, instead of the first tensor where it `is_inplace`."""

    __slots__ = (
        "cache", "fast", "function", "is_inplace", "is_native", "is_trusted", "key", "kinds", "meta", "name",
        "operands", "positions", "results", "takes_out", "ufunc", "writes", "xp",
    )  # fmt: skip

    def __init__(
        self,
        key: str,
        xp: ModuleType,
        kinds: str,
        function: Function,
        positions: tuple[int, ...],
        meta: Function,
        *,
        operands: tuple[int, ...] | None = None,
        results: int = 1,
        writes: tuple[int, ...] = (),
        is_inplace: bool = False,
        ufunc: Ufunc | None = None,
    ) -> None:
        self.key = key
        self.xp = xp
        self.kinds = kinds
        self.function = function
        self.positions = positions
        self.meta = meta
        self.operands = operands
        self.results = results
        self.writes = writes
        self.is_inplace = is_inplace
        self.ufunc = ufunc
        self.fast: Function | None = None
        self.is_native = False
        self.name = ""  # of the operator, once its kernel is loaded
        self.is_trusted = False  # the kernel is ours: results are as declared
        self.takes_out = _takes_out(function, len(positions))
        self.cache = self._cache()

    def _cache(self) -> PlanCache | None:
        """Return the plan cache; None where a plan is made for each call."""
        is_kept = self.key == "CPU" and not set(self.kinds) - CACHED and len(self.writes) <= 1
        if not is_kept:
            return None
        written = self.writes[0] if self.writes and self.takes_out else -1
        runs_in_core = not self.writes or self.takes_out
        return PlanCache(self.kinds, self.operands or (), written, runs_in_core=runs_in_core)

    @property
    def keys(self) -> int:
        """Return the keys of a dense tensor that it makes."""
        return _KEYS[self.key]

    def long_from(self) -> int:
        """Return from how many elements on the kernel runs in a helper thread; 0 if it never does: a user's kernel, one
        that draws random numbers, or one that the core calls, which does that itself. (Note [Long calls])"""
        is_compiled = fast is not None and isinstance(self.function, fast.Compiled)
        if self.key != "CPU" or self.is_native or not self.is_trusted or is_compiled:
            return 0
        return 0 if "generator" in _parameters(self.function) else getattr(self.function, "long_from", LONG)

    def passed_positions(self) -> tuple[int, ...]:
        """Return the positions of the arguments that the kernel gets, behind the array module if it takes that."""
        return self.positions[1:] if self.positions[:1] == (-1,) else self.positions

    def planned_positions(self) -> tuple[int, ...]:
        """Return the positions of the arguments that the rule reads."""
        return tuple([position for position, kind in enumerate(self.kinds) if kind.isupper()])

    def operand_positions(self) -> tuple[int, ...]:
        """Return the positions of the plan's operands: that of a list stands for all of its items."""
        if self.operands is not None:
            return self.operands
        return tuple([position for position, kind in enumerate(self.kinds) if kind in "TOL"])

    def variant(
        self, kinds: str, writes: tuple[int, ...], *, is_inplace: bool, function: Function | None = None
    ) -> Row:
        """Return the row of what writes the results of this kernel, or of another function that does the same, beside
        a cache of its own."""
        facts: Any = {"operands": self.operands, "results": self.results, "writes": writes, "is_inplace": is_inplace}
        facts |= {"ufunc": self.ufunc, "meta": self.meta, "positions": self.positions}
        return Row(self.key, self.xp, kinds, function or self.function, **facts)


def dtype_position(meta: Function, positions: tuple[int, ...]) -> int:
    """Return which of the arguments at `positions`, those of a rule, is its `dtype`; -1 if it has none."""
    names = meta.__code__.co_varnames[: meta.__code__.co_argcount] if isinstance(meta, FunctionType) else ()
    return positions[names.index("dtype")] if "dtype" in names else -1


def _takes_out(function: Function, count: int) -> bool:
    """Whether a kernel that is passed `count` arguments may also be told to write to an array."""
    if isinstance(function, np.ufunc):
        return True
    if not isinstance(function, FunctionType):
        return type(function).__name__ == "ufunc"  # (CuPy's)
    return "out" in _parameters(function)[count:]


def _parameters(function: Function) -> tuple[str, ...]:
    """Return the names of a Python function's parameters; none of other functions."""
    if not isinstance(function, FunctionType):
        return ()
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def kernel(
    kinds: str,
    function: Function,
    positions: tuple[int, ...],
    meta: Function,
    *,
    operands: tuple[int, ...] | None = None,
    results: int = 1,
    ufunc: tuple[Function, str, str] | None = None,
) -> Row:
    """Return the row of a kernel on NumPy's arrays. `operands` are the positions of the plan's operands, where these
    are not its tensors in their order, `results` says how many there are, and `ufunc` what it is of dense tensors."""
    made = None if ufunc is None else Ufunc(*ufunc)
    return Row("CPU", np, kinds, function, positions, meta, operands=operands, results=results, ufunc=made)


def out_variant(row: Row) -> Row:
    """Return the row of the out variant: the results are written to the tensors behind the arguments of `row`."""
    count = len(row.kinds)
    writes = tuple(range(count, count + row.results))
    return row.variant(row.kinds + "t" * row.results, writes, is_inplace=False)


def inplace_variant(row: Row, position: int = 0) -> Row:
    """Return the row of the in-place variant: the result is written to the tensor at a position."""
    return row.variant(row.kinds, (position,), is_inplace=True)


def call_in_thread(kernel: Function, *args: Any) -> Any:
    """Call a kernel in a helper thread (Note [Long calls]), whose module is loaded for the first long call."""
    return import_late("opwright_core.locks.long_calls").call_in_thread(kernel, *args)


def call_in_parts(ufunc: Function, *args: Any) -> Any:
    """Call a ufunc for one part of the last argument, `out`, after another (Note [Long calls])."""
    return import_late("opwright_core.locks.long_calls").call_in_parts(ufunc, *args)


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


_array: Final = attrgetter("array")


def _arrays(tensors: Any) -> Any:
    return [tensor.array for tensor in tensors]


def _or_none(unwrap: Function) -> Function:
    return lambda given: None if given is None else unwrap(given)


def _each_or_none(tensors: Any) -> Any:
    return [None if tensor is None else tensor.array for tensor in tensors]


_OF_KINDS: Final = (
    ("Tt", _array),
    ("Oo", _or_none(_array)),
    ("Ll", _arrays),
    ("Pp", _or_none(_arrays)),
    ("Qq", _each_or_none),
)
_UNWRAP: Final = {kind: unwrap for kinds, unwrap in _OF_KINDS for kind in kinds}
