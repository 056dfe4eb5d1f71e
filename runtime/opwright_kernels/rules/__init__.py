"""The rules of ATen's families of operators: what their results look like, without computing them.

Those that operators of many kinds share are in `opwright.rules`.
"""

import sys
from typing import TYPE_CHECKING

from opwright.names.packages import PackageOfFunctions, names_of_parts

if TYPE_CHECKING:
    from opwright_kernels.rules.activations import celu, gelu, glu, hardtanh, like_contiguous, rrelu, softshrink
    from opwright_kernels.rules.bags import alignment_gradients, alignments, bags, pair_distances
    from opwright_kernels.rules.convolution import convolution
    from opwright_kernels.rules.dropout import dropout_mask, native_dropout
    from opwright_kernels.rules.embedding import embedding, embedding_renorm
    from opwright_kernels.rules.factors import exponentials, ldl_solution, lu_unpacked, reflected_matrices, reflections
    from opwright_kernels.rules.indexing import (
        expand_masks,
        first_positions,
        gather,
        index,
        index_select,
        positions_of,
        put_at,
    )
    from opwright_kernels.rules.linear_algebra import (
        coefficients,
        decomposed,
        hermitian_values,
        lu_factors,
        lu_parts,
        lu_solution,
        not_computed,
        qr,
        solution,
        svd,
    )
    from opwright_kernels.rules.losses import (
        binary_loss,
        class_loss,
        huber_loss,
        image_class_loss,
        loss,
        margin_loss,
        multilabel_loss,
        multilabel_marks,
        smooth_l1_loss,
    )
    from opwright_kernels.rules.normalization import (
        batch_norm,
        batch_norm_statistics,
        group_norm,
        group_norm_statistics,
        layer_norm,
        layer_norm_statistics,
        normalized,
    )
    from opwright_kernels.rules.padding import padded, reflected, replicated
    from opwright_kernels.rules.random import (
        bernoulli,
        binomial,
        geometric,
        integers,
        multinomial,
        normal,
        permutation,
        positive,
        uniform,
    )
    from opwright_kernels.rules.scattering import (
        index_copied,
        index_filled,
        index_written,
        masked_scattered,
        put,
        scattered,
        taken,
    )
    from opwright_kernels.rules.sorting import (
        bucketize,
        grid_counts,
        histc,
        histogram,
        kthvalue,
        searchsorted,
        sort,
        topk,
    )
    from opwright_kernels.rules.spectra import real_of_spectrum, spectrum, spectrum_of_real
    from opwright_kernels.rules.unpooling import fractional_pool, unpool
    from opwright_kernels.rules.upsampling import upsample
    from opwright_kernels.rules.windows import adaptive_pool, col2im, im2col, pool

__all__ = [
    "adaptive_pool",
    "alignment_gradients",
    "alignments",
    "bags",
    "batch_norm",
    "batch_norm_statistics",
    "bernoulli",
    "binary_loss",
    "binomial",
    "bucketize",
    "celu",
    "class_loss",
    "coefficients",
    "col2im",
    "convolution",
    "decomposed",
    "dropout_mask",
    "embedding",
    "embedding_renorm",
    "expand_masks",
    "exponentials",
    "first_positions",
    "fractional_pool",
    "gather",
    "gelu",
    "geometric",
    "glu",
    "grid_counts",
    "group_norm",
    "group_norm_statistics",
    "hardtanh",
    "hermitian_values",
    "histc",
    "histogram",
    "huber_loss",
    "im2col",
    "image_class_loss",
    "index",
    "index_copied",
    "index_filled",
    "index_select",
    "index_written",
    "integers",
    "kthvalue",
    "layer_norm",
    "layer_norm_statistics",
    "ldl_solution",
    "like_contiguous",
    "loss",
    "lu_factors",
    "lu_parts",
    "lu_solution",
    "lu_unpacked",
    "margin_loss",
    "masked_scattered",
    "multilabel_loss",
    "multilabel_marks",
    "multinomial",
    "native_dropout",
    "normal",
    "normalized",
    "not_computed",
    "padded",
    "pair_distances",
    "permutation",
    "pool",
    "positions_of",
    "positive",
    "put",
    "put_at",
    "qr",
    "real_of_spectrum",
    "reflected",
    "reflected_matrices",
    "reflections",
    "replicated",
    "rrelu",
    "scattered",
    "searchsorted",
    "smooth_l1_loss",
    "softshrink",
    "solution",
    "sort",
    "spectrum",
    "spectrum_of_real",
    "svd",
    "taken",
    "topk",
    "uniform",
    "unpool",
    "upsample",
]

_PARTS = (
    "activations",
    "bags",
    "convolution",
    "dropout",
    "embedding",
    "factors",
    "indexing",
    "linear_algebra",
    "losses",
    "normalization",
    "padding",
    "random",
    "scattering",
    "sorting",
    "spectra",
    "unpooling",
    "upsampling",
    "windows",
)
if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of_parts(__name__, __all__, *_PARTS)
sys.modules[__name__].__class__ = PackageOfFunctions
