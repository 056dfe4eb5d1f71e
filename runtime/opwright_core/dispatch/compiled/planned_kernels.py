"""The kernels whose plans are kept, which the compiled core calls by itself (`fast/planned_kernel.c`).

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
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.package.row_shims import general_shim, name_error
from opwright_core.keys import DENSE_CPU, ODD
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan_cache import KnownViews, PlanCache
from opwright_core.tensors.results import known_result
from opwright_core.tensors.tensor import wrap_view

if TYPE_CHECKING:
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["planned_in_c", "shims_of_row", "with_plans", "with_views"]

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
# What the key of a kept view has of an argument, by its type.
_LETTERS: Final = {"int": "V", "SymInt": "V", "bool": "V", "int[]": "I", "SymInt[]": "I"}
if fast is not None:
    fast.configure(constant_classes=(Device, Layout, MemoryFormat))


def shims_of_row(row: Row, *, is_trusted: bool) -> tuple[Function, Function | None, Function | None]:
    """Return what serves the operator of a row: all calls, those of simple tensors, and those of plain arrays; None
    where the first does. What a kernel that `is_trusted` returned once lies so each time."""
    if row.cache is not None:
        row.cache.is_trusted = is_trusted
    if row.is_native:
        shims: tuple[Function, Function | None, Function | None]
        shims = import_late("opwright.user_kernels.native_rows").native_shims(row)
        return shims
    general = general_shim(row)
    served = _quick_call(row, general) if fast is None else _planned(row, general)
    if row.ufunc is None:
        return served, None, None
    ufuncs = import_late("opwright_core.dispatch.compiled.ufunc_shims")
    if row.key == "CPU":
        return served, *ufuncs.ufunc_shims(served, *row.ufunc)
    return served, ufuncs.ufunc_shim(served, *row.ufunc, row.keys), None


def _quick_call(row: Row, general: Function) -> Function:
    """Return what serves in the place of a row's general shim in Python alone."""
    made: Function = import_late("opwright_core.dispatch.package.row_calls").quick_call(row, general)
    return made


def _planned(row: Row, general: Function) -> Function:
    """Return what serves in the place of a row's general shim in the compiled core."""
    cache = row.cache
    if cache is None or not cache.is_served:
        return general
    # (what a kernel of ours does not take, Python computes; that of a user is called once)
    note = None if cache.is_trusted else partial(name_error, row=row)
    return planned_in_c(general, row.kinds, row.function, row.places, cache, note)


def planned_in_c(
    general: Function,
    kinds: str,
    kernel: Function,
    places: tuple[int, ...],
    cache: PlanCache,
    note: Callable[[Exception], None] | None = None,
    xp: Any = np,
) -> Function:
    """Return a kernel with a plan cache in C. `xp` is what it gets at place -1."""
    try:
        made: Any = fast.Planned(general, kinds, kernel, places, xp, cache.of_call, known_result, cache.writes, note)
    except ValueError:  # too many arguments
        return general
    depends_on_default(made)
    served: Function = made
    return served


def with_plans(general: Function, forms: Any) -> Function:
    """Return what serves in the place of a general kernel, by what is known of its plans or views."""
    if fast is not None and isinstance(forms, KnownViews):
        viewed: Function = fast.ViewCache(general, forms.kinds, wrap_view, ODD, forms.is_list, False)
        return viewed
    if fast is None or isinstance(forms, KnownViews) or forms.kernel is None:
        return general
    return planned_in_c(general, forms.kinds, forms.kernel, forms.places, forms)


def with_views(composite: Function, signature: Signature, keys: int) -> Function:
    """Return what serves in the place of a trusted composite that makes views of its first argument, going by numbers
    alone, in calls that nobody looks at: where its views lie is kept."""
    letters = ["T", *[_LETTERS.get(text, "") for text in signature.types[1:]]]
    is_view = signature.types[:1] == ("Tensor",) and signature.aliases == (0,) and not signature.written
    if fast is None or keys & ~(DENSE_CPU | ODD) or not is_view or "" in letters:
        return composite
    is_list = signature.returns == ("Tensor[]",)
    viewed: Function = fast.ViewCache(composite, "".join(letters), wrap_view, ODD, is_list, False)
    if not is_list:
        return viewed

    def views(*args: Any) -> Any:
        return fast.mark_views(viewed(*args))

    return views
