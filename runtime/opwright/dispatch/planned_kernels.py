"""The kernels whose plans are kept, which the compiled core calls by itself (`runtime/fast/planned_kernel.c`).

A generated package says how (`KnownForms`). The generated functions do the same, plan what is new, and serve what is
uncommon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from opwright.arrays.devices import Device
from opwright.arrays.dtypes import depends_on_default
from opwright.arrays.formats import Layout, MemoryFormat
from opwright.core import fast
from opwright.keys import DENSE_CPU, ODD
from opwright.plans.known import KnownForms, KnownViews
from opwright.tensors.results import known_result
from opwright.tensors.tensor import wrap_view

if TYPE_CHECKING:
    from opwright.dispatch.signature import Signature

__all__ = ["indexing", "with_plans", "with_views"]

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
# What the key of a kept view has of an argument, by its type.
_LETTERS: Final = {"int": "V", "SymInt": "V", "bool": "V", "int[]": "I", "SymInt[]": "I"}
if fast is not None:
    fast.configure(constant_classes=(Device, Layout, MemoryFormat))


def with_plans(general: Function, forms: KnownForms | KnownViews) -> Function:
    """Return what serves in the place of a general kernel, by what is known of its plans or views."""
    if fast is not None and isinstance(forms, KnownViews):
        viewed: Function = fast.ViewCache(general, forms.kinds, wrap_view, ODD, forms.is_list, False)
        return viewed
    if fast is None or isinstance(forms, KnownViews) or forms.kernel is None:
        return general
    try:
        made: Any = fast.Planned(
            general, forms.kinds, forms.kernel, forms.places, np, forms.of_call, known_result, forms.writes
        )
    except ValueError:  # too many arguments
        return general
    depends_on_default(made)
    served: Function = made
    return served


def indexing(method: F) -> F:
    """Return what serves in the place of `tensor[...]`: where the views that ints and slices make lie is kept, of
    tensors and in calls that nobody looks at."""
    if fast is None:
        return method
    served: F = fast.ViewCache(method, "TX", wrap_view, ODD, False, True)
    return served


def with_views(composite: Function, signature: Signature, keys: int) -> Function:
    """Return what serves in the place of a composite of ours that makes views of its first argument, going by numbers
    alone, in calls that nobody looks at: where its views lie is kept."""
    letters = ["T", *[_LETTERS.get(text, "") for text in signature.types[1:]]]
    is_view = signature.types[:1] == ("Tensor",) and signature.aliases == (0,) and not signature.written
    is_ours = (getattr(composite, "__module__", None) or "").startswith("opwright")
    if fast is None or keys & ~(DENSE_CPU | ODD) or not is_ours or not is_view or "" in letters:
        return composite
    is_list = signature.returns == ("Tensor[]",)
    viewed: Function = fast.ViewCache(composite, "".join(letters), wrap_view, ODD, is_list, False)
    if not is_list:
        return viewed

    def views(*args: Any) -> Any:
        return fast.mark_views(viewed(*args))

    return views
