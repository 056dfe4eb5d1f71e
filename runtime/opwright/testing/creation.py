"""`make_tensor`: a tensor of random numbers for a test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opwright.metadata.dtype_limits import finfo, iinfo
from opwright.namespaces import aten
from opwright_core.arrays.devices import as_device
from opwright_core.arrays.dtypes import COMPLEX, DType, as_dtype, bool_, dtype_name, int64, uint64
from opwright_core.arrays.dtypes import INEXACT as FLOATING_OR_COMPLEX
from opwright_core.tensors.tensor import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: int | Sequence[int],
    dtype: object,
    device: object,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of numbers drawn evenly from [low, high): of -9 to 9 if not given, False and True for bool.

    With `noncontiguous` it has gaps in memory, with `exclude_zero` zeros are replaced by the least number above. Raises
    ValueError for a range that is empty or outside the dtype, for integers that require grad, and for `noncontiguous`
    with a memory format. Semantics: `torch.testing.make_tensor`, down to the numbers of a seed.
    """
    kind = as_dtype(dtype)
    sizes = [int(size) for size in (shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)]  # type: ignore[arg-type]
    if noncontiguous and memory_format is not None:
        raise ValueError(f"noncontiguous=True and memory_format={memory_format} exclude each other")
    if requires_grad and kind not in FLOATING_OR_COMPLEX:
        raise ValueError(f"requires_grad=True needs a floating-point or complex dtype, got {dtype_name(kind)}")
    has_gaps = noncontiguous and math.prod(sizes) > 1
    drawn = [*sizes[:-1], 2 * sizes[-1]] if has_gaps else sizes
    result = _draw(drawn, kind, device, low, high)
    if has_gaps:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = float(finfo(kind).tiny) if kind in FLOATING_OR_COMPLEX else 1
    return result.requires_grad_() if requires_grad else result


def _draw(shape: list[int], dtype: DType, device: object, low: float | None, high: float | None) -> Tensor:
    made: Tensor
    if dtype in FLOATING_OR_COMPLEX:
        info = finfo(dtype)
        low, high = _bounds(dtype, low, high, (info.min, info.max), (-9, 9))
        place = as_device(device)
        made = aten["empty"](shape, dtype=dtype, device=place)
        parts = aten["view_as_real"](made) if dtype in COMPLEX else made
        parts.uniform_(low, high)
        return made
    limits = (0, 2) if dtype == bool_ else _limits(dtype)
    low, high = _bounds(dtype, low, high, limits, (0, 2) if dtype == bool_ else (-9, 10))
    made = aten["randint"](math.ceil(low), math.ceil(high), shape, dtype=dtype, device=as_device(device))
    return made


def _limits(dtype: DType) -> tuple[int, int]:
    """Return the least number, and one more than the greatest, where that can be drawn."""
    info = iinfo(dtype)
    return info.min, info.max + (dtype not in (int64, uint64))


def _bounds(
    dtype: DType, low: float | None, high: float | None, limits: tuple[float, float], usual: tuple[float, float]
) -> tuple[float, float]:
    """Return the range to draw from, within what the dtype holds. Raises ValueError."""
    first, last = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(first) or math.isnan(last):
        raise ValueError(f"low and high cannot be NaN, got low={first}, high={last}")
    if first > last or (first == last and dtype not in FLOATING_OR_COMPLEX):
        raise ValueError(f"low must be less than high, got low={first}, high={last}")
    if last < limits[0] or first >= limits[1]:
        raise ValueError(f"no number of {dtype_name(dtype)} is in [{first}, {last}): its range is {limits}")
    return min(max(first, limits[0]), limits[1]), min(max(last, limits[0]), limits[1])
