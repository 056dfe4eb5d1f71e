"""The kernels whose plans are kept, which the compiled core calls by itself (`runtime/fast/planned.c`).

A generated package says how (`KnownForms`). The generated functions do the same, plan what is new, and serve what is
uncommon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opwright.arrays.devices import Device
from opwright.arrays.dtypes import depends_on_default
from opwright.arrays.formats import Layout, MemoryFormat
from opwright.core import fast
from opwright.keys import ODD
from opwright.plans.known import KnownForms, KnownViews
from opwright.tensors.results import known_result
from opwright.tensors.tensor import wrap_view

__all__ = ["with_plans"]

Function = Callable[..., Any]
if fast is not None:
    fast.configure_keys((Device, Layout, MemoryFormat))


def with_plans(general: Function, forms: KnownForms | KnownViews) -> Function:
    """Return what serves in the place of a general kernel, by what is known of its plans or views."""
    if fast is not None and isinstance(forms, KnownViews):
        viewed: Function = fast.Viewed(general, forms.kinds, wrap_view, ODD, forms.is_list)
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
