"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording. Here are those that operators of many kinds share; the rules of ATen's families
are in `opwright_kernels.rules`, and are names of this module, too.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opwright.names.packages import PackageOfFunctions, names_of_parts

if TYPE_CHECKING:
    from opwright.plans.plan import Plan
    from opwright.rules.factories import (
        arange,
        copied,
        empty,
        eye,
        filled,
        full,
        like,
        linspace,
        overwritten,
        sized,
        window,
    )
    from opwright.rules.joining import cat, stack
    from opwright.rules.pointwise import (
        clamped,
        complex_of,
        divided,
        masked,
        membership,
        pointwise,
        pointwise_with,
        polygamma,
        power_of_number,
        power_to_number,
        same_dtypes,
        scaled,
        where,
    )
    from opwright.rules.products import added_outer, added_product, cross, distances, gufunc, trace
    from opwright.rules.rearranging import (
        block_diagonal,
        channels_from_pixels,
        diagonal_overlaid,
        flipped,
        narrowed,
        pixels_from_channels,
        repeated,
        rolled,
        rotated,
        selection_overlaid,
        shuffled,
        slice_overlaid,
        triangle,
        triangle_indices,
        with_diagonal,
    )
    from opwright.rules.reductions import norm, reduce, scan
    from opwright_kernels.rules import *  # noqa: F403

__all__ = [
    "Plan",
    "added_outer",
    "added_product",
    "arange",
    "block_diagonal",
    "cat",
    "channels_from_pixels",
    "clamped",
    "complex_of",
    "copied",
    "cross",
    "diagonal_overlaid",
    "distances",
    "divided",
    "empty",
    "eye",
    "filled",
    "flipped",
    "full",
    "gufunc",
    "like",
    "linspace",
    "masked",
    "membership",
    "narrowed",
    "norm",
    "overwritten",
    "pixels_from_channels",
    "pointwise",
    "pointwise_with",
    "polygamma",
    "power_of_number",
    "power_to_number",
    "reduce",
    "repeated",
    "rolled",
    "rotated",
    "same_dtypes",
    "scaled",
    "scan",
    "selection_overlaid",
    "shuffled",
    "sized",
    "slice_overlaid",
    "stack",
    "trace",
    "triangle",
    "triangle_indices",
    "where",
    "window",
    "with_diagonal",
]

_find, _ = names_of_parts(
    __name__, __all__, "factories", "joining", "pointwise", "products", "rearranging", "reductions"
)


def __getattr__(name: str) -> Any:
    families = import_module("opwright_kernels.rules").__all__
    if name not in families:
        return _find(name)
    found = globals()[name] = getattr(import_module("opwright_kernels.rules"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("opwright_kernels.rules").__all__])


sys.modules[__name__].__class__ = PackageOfFunctions
