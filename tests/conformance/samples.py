"""The table: which samples each operator is called with. In-place and out variants get those of their functional
operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import samples_activations
import samples_arithmetic
import samples_backward
import samples_bags
import samples_convolution
import samples_creation
import samples_factors
import samples_indexing
import samples_linear_algebra
import samples_losses
import samples_more_backward
import samples_nn
import samples_normalization
import samples_numerics
import samples_places
import samples_pointwise
import samples_pooling
import samples_random
import samples_rearranging
import samples_reductions
import samples_segments
import samples_shapes
import samples_sorting
import samples_special
import samples_spectra
import samples_upsampling
import samples_views
from declared import functional_of, of_kind
from sampling import Sample

from opwright_codegen.schema.model import SchemaKind

SAMPLES: dict[str, Callable[[], Iterable[Sample]]] = {
    **samples_pointwise.SAMPLES,
    **samples_arithmetic.SAMPLES,
    **samples_special.SAMPLES,
    **samples_reductions.SAMPLES,
    **samples_linear_algebra.SAMPLES,
    **samples_factors.SAMPLES,
    **samples_numerics.SAMPLES,
    **samples_spectra.SAMPLES,
    **samples_sorting.SAMPLES,
    **samples_shapes.SAMPLES,
    **samples_rearranging.SAMPLES,
    **samples_views.SAMPLES,
    **samples_creation.SAMPLES,
    **samples_activations.SAMPLES,
    **samples_losses.SAMPLES,
    **samples_bags.SAMPLES,
    **samples_convolution.SAMPLES,
    **samples_pooling.SAMPLES,
    **samples_places.SAMPLES,
    **samples_upsampling.SAMPLES,
    **samples_normalization.SAMPLES,
    **samples_nn.SAMPLES,
    **samples_indexing.SAMPLES,
    **samples_segments.SAMPLES,
    **samples_random.SAMPLES,
    **samples_backward.SAMPLES,
    **samples_more_backward.SAMPLES,
}

# Operators without samples of their own, and why.
NO_SAMPLES: dict[str, str] = {
    "_linalg_check_errors": "it gives nothing; linalg_inv, linalg_solve and linalg_cholesky raise its errors",
}


def samples_of(name: str) -> list[Sample]:
    """The samples of an operator; those of its functional operator for a variant without its own."""
    return list((SAMPLES.get(name) or SAMPLES[functional_of(name)])())


def takes_an_array(name: str) -> bool:
    """Whether the first argument of an operator's samples is an array: an in-place variant writes to no number."""
    return isinstance(next(iter(samples_of(name))).args[0], np.ndarray)


def sampled(*kinds: SchemaKind) -> list[str]:
    """The operators of these kinds that have samples."""
    return [name for name in of_kind(*kinds) if functional_of(name) not in NO_SAMPLES]
