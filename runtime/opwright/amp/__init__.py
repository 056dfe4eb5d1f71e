"""The casts of Autocast kernels: `cached_cast`, `promote_type`. Semantics: `at::autocast` of PyTorch.

Such a kernel is registered at the key Autocast; it casts and goes on without that key:

    def myadd_autocast(x, y):
        with opwright.dispatch.exclude_keys("Autocast"):
            dtype = promote_type(opwright.bfloat16, x, y)
            return opwright.ops.myops.myadd(cached_cast(dtype, x), cached_cast(dtype, y))

It is reached within `opwright.dispatch.include_keys("Autocast")`.
"""

from __future__ import annotations

from typing import Any

from opwright.arrays.dtypes import FLOATING, DType, as_dtype, float32, float64
from opwright.tensors.results import tensors_of
from opwright.tensors.tensor import Tensor

__all__ = ["cached_cast", "promote_type"]


def cached_cast(dtype: object, value: Any, device_type: str | None = None) -> Any:
    """Return the value with the Tensors that autocast concerns cast, in lists and tuples too. Others are as they were,
    and so is what holds none.

    It concerns floating-point Tensors except float64, on the device, if one is named. Casts are recorded. (No region
    says yet how long a cast of a parameter may be kept, so that none is.)
    """
    wanted = as_dtype(dtype)
    if isinstance(value, Tensor):
        return value.to(wanted) if _is_eligible(value, device_type) and value.dtype != wanted else value
    if type(value) in (list, tuple):
        return type(value)(cached_cast(wanted, item, device_type) for item in value)
    return value


def promote_type(dtype: object, *values: Any, device_type: str | None = None) -> DType:
    """Return the dtype to run in, where Tensors may be of a lower precision `dtype` or float32: the wider of those
    there are, `dtype` if there are none. Raises RuntimeError for another floating-point dtype.
    """
    lower = as_dtype(dtype)
    if lower == float64:
        raise RuntimeError("promote_type: float64 is no dtype that autocast runs operators in")
    found = lower
    for tensor in tensors_of(values):
        if not _is_eligible(tensor, device_type):
            continue
        if float32 in (found, tensor.dtype):
            found = float32
        elif tensor.dtype != lower:
            raise RuntimeError(
                f"promote_type: a tensor of {tensor.dtype} is neither of the lower precision {lower} nor float32"
            )
    return found


def _is_eligible(tensor: Tensor, device_type: str | None) -> bool:
    return tensor.dtype in FLOATING and tensor.dtype != float64 and device_type in (None, tensor.device.type)
