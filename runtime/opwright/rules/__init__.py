"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording.
"""

from opwright.rules.convolution import convolution
from opwright.rules.dropout import dropout_mask, native_dropout
from opwright.rules.embedding import embedding
from opwright.rules.factories import arange, empty, eye, full, like, linspace, overwritten
from opwright.rules.indexing import expand_masks, gather, index, index_select
from opwright.rules.joining import cat, stack
from opwright.rules.normalization import (
    batch_norm,
    batch_norm_statistics,
    group_norm,
    group_norm_statistics,
    layer_norm,
    layer_norm_statistics,
    normalized,
)
from opwright.rules.pointwise import masked, pointwise, power_of_number, power_to_number, where
from opwright.rules.products import addmm, gufunc
from opwright.rules.reductions import reduce, scan
from opwright.rules.scattering import index_copied, index_filled, index_written, masked_scattered, put, scattered, taken
from opwright.rules.windows import adaptive_pool, col2im, im2col, pool

__all__ = [
    "adaptive_pool",
    "addmm",
    "arange",
    "batch_norm",
    "batch_norm_statistics",
    "cat",
    "col2im",
    "convolution",
    "dropout_mask",
    "embedding",
    "empty",
    "expand_masks",
    "eye",
    "full",
    "gather",
    "group_norm",
    "group_norm_statistics",
    "gufunc",
    "im2col",
    "index",
    "index_copied",
    "index_filled",
    "index_select",
    "index_written",
    "layer_norm",
    "layer_norm_statistics",
    "like",
    "linspace",
    "masked",
    "masked_scattered",
    "native_dropout",
    "normalized",
    "overwritten",
    "pointwise",
    "pool",
    "power_of_number",
    "power_to_number",
    "put",
    "reduce",
    "scan",
    "scattered",
    "stack",
    "taken",
    "where",
]
