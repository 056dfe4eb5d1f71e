"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording.
"""

from opwright.rules.factories import arange, empty, eye, full, like, linspace, overwritten
from opwright.rules.indexing import expand_masks, gather, index, index_select
from opwright.rules.joining import cat, stack
from opwright.rules.normalization import layer_norm, layer_norm_statistics, normalized
from opwright.rules.pointwise import masked, pointwise, power_of_number, power_to_number, where
from opwright.rules.products import addmm, gufunc
from opwright.rules.reductions import norm, reduce, scan
from opwright.rules.sorting import bucketize, histc, kthvalue, searchsorted, sort, topk

__all__ = [
    "addmm",
    "arange",
    "bucketize",
    "cat",
    "empty",
    "expand_masks",
    "eye",
    "full",
    "gather",
    "gufunc",
    "histc",
    "index",
    "index_select",
    "kthvalue",
    "layer_norm",
    "layer_norm_statistics",
    "like",
    "linspace",
    "masked",
    "norm",
    "normalized",
    "overwritten",
    "pointwise",
    "power_of_number",
    "power_to_number",
    "reduce",
    "scan",
    "searchsorted",
    "sort",
    "stack",
    "topk",
    "where",
]
