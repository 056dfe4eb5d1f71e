"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording.
"""

from opwright.rules.activations import glu, like_contiguous
from opwright.rules.convolution import convolution
from opwright.rules.dropout import dropout_mask, native_dropout
from opwright.rules.embedding import embedding
from opwright.rules.factories import arange, empty, eye, full, like, linspace, overwritten, window
from opwright.rules.indexing import expand_masks, gather, index, index_select
from opwright.rules.joining import cat, stack
from opwright.rules.linear_algebra import coefficients, decomposed, lu_solution, not_computed, qr, solution, svd
from opwright.rules.losses import (
    binary_loss,
    class_loss,
    image_class_loss,
    loss,
    loss_like_self,
    margin_loss,
    multilabel_loss,
    multilabel_marks,
)
from opwright.rules.normalization import (
    batch_norm,
    batch_norm_statistics,
    group_norm,
    group_norm_statistics,
    layer_norm,
    layer_norm_statistics,
    normalized,
)
from opwright.rules.padding import padded, reflected, replicated
from opwright.rules.pointwise import (
    complex_of,
    masked,
    membership,
    pointwise,
    power_of_number,
    power_to_number,
    same_dtypes,
    scaled,
    where,
)
from opwright.rules.products import added_outer, added_product, cross, gufunc, trace
from opwright.rules.random import binomial, multinomial
from opwright.rules.rearranging import (
    block_diagonal,
    channels_from_pixels,
    flipped,
    narrowed,
    overlaid,
    pixels_from_channels,
    repeated,
    rolled,
    rotated,
    shuffled,
    triangle,
    triangle_indices,
    with_diagonal,
)
from opwright.rules.reductions import norm, reduce, scan
from opwright.rules.scattering import index_copied, index_filled, index_written, masked_scattered, put, scattered, taken
from opwright.rules.sorting import bucketize, histc, histogram, kthvalue, searchsorted, sort, topk
from opwright.rules.upsampling import upsample
from opwright.rules.windows import adaptive_pool, col2im, im2col, pool

__all__ = [
    "adaptive_pool",
    "added_outer",
    "added_product",
    "arange",
    "batch_norm",
    "batch_norm_statistics",
    "binary_loss",
    "binomial",
    "block_diagonal",
    "bucketize",
    "cat",
    "channels_from_pixels",
    "class_loss",
    "coefficients",
    "col2im",
    "complex_of",
    "convolution",
    "cross",
    "decomposed",
    "dropout_mask",
    "embedding",
    "empty",
    "expand_masks",
    "eye",
    "flipped",
    "full",
    "gather",
    "glu",
    "group_norm",
    "group_norm_statistics",
    "gufunc",
    "histc",
    "histogram",
    "im2col",
    "image_class_loss",
    "index",
    "index_copied",
    "index_filled",
    "index_select",
    "index_written",
    "kthvalue",
    "layer_norm",
    "layer_norm_statistics",
    "like",
    "like_contiguous",
    "linspace",
    "loss",
    "loss_like_self",
    "lu_solution",
    "margin_loss",
    "masked",
    "masked_scattered",
    "membership",
    "multilabel_loss",
    "multilabel_marks",
    "multinomial",
    "narrowed",
    "native_dropout",
    "norm",
    "normalized",
    "not_computed",
    "overlaid",
    "overwritten",
    "padded",
    "pixels_from_channels",
    "pointwise",
    "pool",
    "power_of_number",
    "power_to_number",
    "put",
    "qr",
    "reduce",
    "reflected",
    "repeated",
    "replicated",
    "rolled",
    "rotated",
    "same_dtypes",
    "scaled",
    "scan",
    "scattered",
    "searchsorted",
    "shuffled",
    "solution",
    "sort",
    "stack",
    "svd",
    "taken",
    "topk",
    "trace",
    "triangle",
    "triangle_indices",
    "upsample",
    "where",
    "window",
    "with_diagonal",
]
