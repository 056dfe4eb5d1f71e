"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording.
"""

from opwright.rules.factories import arange, empty, eye, full, like, linspace, overwritten
from opwright.rules.indexing import expand_masks, gather, index, index_select
from opwright.rules.joining import cat, stack
from opwright.rules.normalization import layer_norm, layer_norm_statistics, normalized
from opwright.rules.padding import padded, reflected, replicated
from opwright.rules.pointwise import masked, pointwise, power_of_number, power_to_number, where
from opwright.rules.products import addmm, gufunc
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
from opwright.rules.reductions import reduce, scan
from opwright.rules.scattering import index_copied, index_filled, index_written, masked_scattered, put, scattered, taken

__all__ = [
    "addmm",
    "arange",
    "block_diagonal",
    "cat",
    "channels_from_pixels",
    "empty",
    "expand_masks",
    "eye",
    "flipped",
    "full",
    "gather",
    "gufunc",
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
    "narrowed",
    "normalized",
    "overlaid",
    "overwritten",
    "padded",
    "pixels_from_channels",
    "pointwise",
    "power_of_number",
    "power_to_number",
    "put",
    "reduce",
    "reflected",
    "repeated",
    "replicated",
    "rolled",
    "rotated",
    "scan",
    "scattered",
    "shuffled",
    "stack",
    "taken",
    "triangle",
    "triangle_indices",
    "where",
    "with_diagonal",
]
