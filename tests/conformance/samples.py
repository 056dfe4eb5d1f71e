"""The table: which samples each operator is called with. In-place and out variants get those of their functional
operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import samples_creation
import samples_linear_algebra
import samples_pointwise
import samples_reductions
import samples_shapes
from sampling import Sample

SAMPLES: dict[str, Callable[[], Iterable[Sample]]] = {
    **samples_pointwise.SAMPLES,
    **samples_reductions.SAMPLES,
    **samples_linear_algebra.SAMPLES,
    **samples_shapes.SAMPLES,
    **samples_creation.SAMPLES,
}

# Operators without samples of their own, and why.
NO_SAMPLES: dict[str, str] = {
    "normal": "PyTorch calls it normal_functional; normal_ and normal.out have samples",
}
