"""The casts of Autocast kernels: `cached_cast`, `promote_type`, and the casts of parameters that a region keeps.

Note [Kept casts]
A parameter is often used many times within a region, and cast to the lower precision each time. So the outermost region
keeps such casts until it ends: of float32 leaves that require grad and are no views. Gradients of all uses meet at the
one cast. A cast is used again only for the same tensor over the same memory, which nobody has written to since, and
under the same modes: one that was made within `no_grad` has no history. Where a mode or a transform sees every operator
(a tracer, a handler, vmap) nothing is kept, so that it sees the cast where it is used.
"""

from __future__ import annotations

from operator import is_not
from typing import Any, Final

from numpy import ndarray

from opwright.amp.settings import current
from opwright.pytree import tensors_of
from opwright_core.arrays.dtypes import FLOATING, DType, as_dtype, float32, float64
from opwright_core.arrays.storage import storage_of
from opwright_core.keys import AUTOCAST, GRAD, META, RUNTIME, TANGENT, VIEW
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["cached_cast", "cast_each", "is_eligible", "is_on", "promote_type", "promoted"]

_CAST: Final = FLOATING - {float64}
_SEEING: Final = RUNTIME & ~(AUTOCAST | META)  # included keys of modes that see operators


def cached_cast(dtype: object, value: Any, device_type: str | None = None) -> Any:
    """Return the value with the Tensors that autocast concerns cast, in lists and tuples too. Others are as they were,
    and so is what holds none.

    It concerns floating-point Tensors except float64, on the device, if one is named. Casts are recorded. Within a
    region, one of a float32 parameter to the device's lower precision is made once and kept until the region ends.
    """
    return cast_each(as_dtype(dtype), value, device_type)


def cast_each(wanted: DType, value: Any, device_type: str | None) -> Any:
    """Return the value as `cached_cast` does: itself where nothing in it is cast."""
    if isinstance(value, Tensor):
        dtype = value.dtype
        if dtype is wanted or dtype == wanted or not is_eligible(value, device_type):
            return value
        if dtype == float32 and value.keys & (GRAD | VIEW | TANGENT) == GRAD:
            return _kept_cast(wanted, value)
        return value.to(wanted)
    if type(value) in (list, tuple):
        made = [cast_each(wanted, item, device_type) for item in value]
        return type(value)(made) if any(map(is_not, made, value)) else value
    return value


def _kept_cast(wanted: DType, value: Tensor) -> Tensor:
    """Return the cast of a float32 tensor that requires grad: the one that the region keeps, where it may keep one."""
    settings = current()
    casts = settings.casts
    if casts is None or not settings.keeps_casts or not value.is_leaf or wanted != settings.dtype(value.device.type):
        return value.to(wanted)
    modes = active_modes()
    include, mask = (0, -1) if modes is None else (modes.include & ~AUTOCAST, modes.mask | AUTOCAST)
    if include & _SEEING or (modes is not None and modes.top is not None) or type(value) is not Tensor:
        return value.to(wanted)
    storage = storage_of(value)
    key = id(value), wanted, include, mask
    known = casts.get(key)
    if known is not None and known[1] is storage and known[2] == storage.version:
        return known[3]
    made = value.to(wanted)
    casts[key] = value, storage, storage.version, made  # (the tensor too, so that its id is no other's)
    return made


def promote_type(dtype: object, *values: Any, device_type: str | None = None) -> DType:
    """Return the dtype to run in, where Tensors may be of a lower precision `dtype` or float32: the wider of those
    there are, `dtype` if there are none. Raises RuntimeError for another floating-point dtype.
    """
    lower = as_dtype(dtype)
    if lower == float64:
        raise RuntimeError("promote_type: float64 is no dtype that autocast runs operators in")
    return promoted(lower, values, device_type, "promote_type")


def promoted(lower: DType, values: Any, device_type: str | None, name: str) -> DType:
    """Return the dtype as `promote_type` does; errors are about `name`."""
    found = lower
    for tensor in tensors_of(values):
        if not is_eligible(tensor, device_type):
            continue
        if float32 in (found, tensor.dtype):
            found = float32
        elif tensor.dtype != lower:
            raise RuntimeError(
                f"{name}: a tensor of {tensor.dtype} is neither of the lower precision {lower} nor float32"
            )
    return found


def is_eligible(tensor: Tensor, device_type: str | None) -> bool:
    """Whether autocast may cast a tensor."""
    return tensor.dtype in _CAST and (device_type is None or is_on(tensor, device_type))


def is_on(tensor: Tensor, device_type: str) -> bool:
    """Whether a tensor is on a device of that type."""
    return device_type == "cpu" if type(tensor.array) is ndarray else tensor.device.type == device_type
