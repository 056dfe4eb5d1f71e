"""The kernels with a plan cache, which the compiled core calls by itself (`fast/plan/planned_kernel.c`).

A generated package says how, by its rows (`kernel_rows`). General shims do the same, plan what is new, and handle
what is uncommon.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import depends_on_default
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.core import fast
from opwright_core.dispatch.package.kernel_rows import Row, RowCall, call_in_parts, call_in_thread
from opwright_core.dispatch.package.row_shims import general_shim, name_error
from opwright_core.keys import DENSE_CPU, NONDENSE
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan_cache import PlanCache, ViewCache
from opwright_core.tensors.results import planned_result
from opwright_core.tensors.tensor import wrap_view

if TYPE_CHECKING:
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["planned_in_c", "shims_of_row", "with_plans", "with_views"]

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
# What the key of a cached view has of an argument, by its type.
_LETTERS: Final = {"int": "V", "SymInt": "V", "bool": "V", "int[]": "I", "SymInt[]": "I"}
if fast is not None:
    fast.configure(constant_classes=(Device, Layout, MemoryFormat))
    fast.configure(call_in_thread=call_in_thread, call_in_parts=call_in_parts)


def shims_of_row(row: Row, *, is_trusted: bool) -> tuple[Function, Function | None, Function | None]:
    """Return the shims of a row: for all calls, for dense tensors, and for plain arrays; None where the first does for
    these, too. A kernel that `is_trusted` returns results of the same layout each time."""
    row.is_trusted = is_trusted
    if row.cache is not None:
        row.cache.is_trusted = is_trusted
    if row.is_native:
        return import_late("opwright_core.user_kernels.native_rows").native_shims(row)  # type: ignore[no-any-return]
    general = general_shim(row)
    if fast is not None and is_trusted and "Q" in row.kinds and row.key == "CPU" and row.writes in ((), (0,)):
        call, written = RowCall(row), 0 if row.writes else -1  # (planned by positions alone: what masks say is data)
        shim = fast.Planned(
            general, row.kinds, row.function, row.positions, np,
            lambda a: ((call.plan(call.values(a)).spec,), None) if written else None, planned_result, written, None,
            True,
        )  # fmt: skip
    elif fast is None and row.writes:
        shim = import_late("opwright_core.dispatch.package.writing_shims").straight_shim(row, general)
    elif fast is None:
        shim = general
    else:
        shim = _planned(row, general)
    is_inplace = fast is None and row.is_inplace and row.key == "CPU"
    if row.ufunc is None or (row.writes and not is_inplace):
        return shim, None, None
    ufuncs = import_late("opwright_core.dispatch.compiled.ufunc_shims")
    if is_inplace:
        return shim, ufuncs.inplace_shim(shim, *row.ufunc), None
    if row.key == "CPU":
        return shim, *ufuncs.ufunc_shims(shim, *row.ufunc)
    return shim, ufuncs.ufunc_shim(shim, *row.ufunc, row.keys), None


def _planned(row: Row, general: Function) -> Function:
    """Return a row's shim in the compiled core, in front of the general one."""
    if (cache := row.cache) is None or not cache.runs_in_core:
        return general
    kernel, made = row.function, row.ufunc
    if made is not None and row.key == "CPU" and row.positions == tuple(range(len(made.letters))):
        at = tuple([i if letter == "T" else -1 - i for i, letter in enumerate(made.letters) if letter in "TN"])
        kernel = fast.Kernel(kernel, made.function, at, len(made.letters), made.dtypes, "arrays", False)
    return planned_in_c(general, row.kinds, kernel, row.positions, cache, partial(name_error, row=row))


def planned_in_c(
    general: Function,
    kinds: str,
    kernel: Function,
    positions: tuple[int, ...],
    cache: PlanCache,
    note: Callable[[Exception], None] | None = None,
    xp: Any = np,
) -> Function:
    """Return a kernel with a plan cache in C. `xp` is what it gets at position -1; `note` is called with its errors."""
    by_blocks = note is None or cache.is_trusted
    try:
        made = fast.Planned(
            general, kinds, kernel, positions, xp, cache.of_call, planned_result, cache.writes, note, by_blocks
        )
    except ValueError:  # too many arguments
        return general
    depends_on_default(made)
    return made  # type: ignore[no-any-return]


def with_plans(general: Function, cache: Any) -> Function:
    """Return a general kernel with its plan cache or view cache in the compiled core."""
    if fast is not None and isinstance(cache, ViewCache):
        return fast.ViewCache(general, cache.kinds, wrap_view, NONDENSE, cache.is_list, False)  # type: ignore[no-any-return]
    if fast is None or isinstance(cache, ViewCache) or cache.kernel is None:
        return general
    return planned_in_c(general, cache.kinds, cache.kernel, cache.positions, cache)


def with_views(composite: Function, signature: Signature, keys: int) -> Function:
    """Return a trusted composite with a view cache, if it makes views of its first argument by numbers alone: for calls
    on the fast path."""
    letters = ["T", *[_LETTERS.get(text, "") for text in signature.types[1:]]]
    is_view = signature.types[:1] == ("Tensor",) and signature.aliases == (0,) and not signature.written
    if fast is None or keys & ~(DENSE_CPU | NONDENSE) or not is_view or "" in letters:
        return composite
    is_list = signature.returns == ("Tensor[]",)
    viewed: Function = fast.ViewCache(composite, "".join(letters), wrap_view, NONDENSE, is_list, False)
    if not is_list:
        return viewed

    def views(*args: Any) -> Any:
        return fast.mark_views(viewed(*args))

    return views
