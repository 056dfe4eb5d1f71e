"""Results of kernels as arrays: scalars of NumPy, foreign arrays, Python numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from opwright_core.arrays.devices import Array
from opwright_core.arrays.dtypes import wrapped_scalar
from opwright_core.arrays.promotion import castable, scalar_dtype
from opwright_core.plans.kernel_errors import shown, wrong_result
from opwright_core.plans.specs import TensorSpec

__all__ = ["as_array"]


def as_array(result: Any, spec: TensorSpec) -> Array:
    """Return a scalar of NumPy, a foreign array or a Python number as an array: the number has the planned dtype if
    that can hold it. Raises ContractError for anything else, such as a list."""
    if hasattr(result, "__array__"):
        return np.asarray(result)
    if isinstance(result, (int, float, complex)) and (spec.converts or castable(scalar_dtype(result), spec.dtype)):
        return np.asarray(result if spec.converts else wrapped_scalar(result, spec.dtype))
    raise wrong_result(f"must return an array, but returned {shown(result)}")
