"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording.
"""

from opwright.rules.factories import arange, empty, eye, full, like, linspace, overwritten
from opwright.rules.indexing import expand_masks, gather, index, index_select
from opwright.rules.joining import cat, stack
from opwright.rules.linear_algebra import coefficients, decomposed, lu_solution, not_computed, qr, solution, svd
from opwright.rules.normalization import layer_norm, layer_norm_statistics, normalized
from opwright.rules.pointwise import masked, pointwise, power_of_number, power_to_number, where
from opwright.rules.products import added_outer, added_product, cross, gufunc, trace
from opwright.rules.reductions import reduce, scan

__all__ = [
    "added_outer",
    "added_product",
    "arange",
    "cat",
    "coefficients",
    "cross",
    "decomposed",
    "empty",
    "expand_masks",
    "eye",
    "full",
    "gather",
    "gufunc",
    "index",
    "index_select",
    "layer_norm",
    "layer_norm_statistics",
    "like",
    "linspace",
    "lu_solution",
    "masked",
    "normalized",
    "not_computed",
    "overwritten",
    "pointwise",
    "power_of_number",
    "power_to_number",
    "qr",
    "reduce",
    "scan",
    "solution",
    "stack",
    "svd",
    "trace",
    "where",
]
