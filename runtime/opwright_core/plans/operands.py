"""Questions of rules to operands and options: accepted dtypes, one device, casts, and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from opwright_core.arrays import layouts
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, DType, bool_, check_fits
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.promotion import NUMBERS as NUMBERS
from opwright_core.arrays.sizes import is_symbolic
from opwright_core.errors import DispatchError

# Note [Undecided comparisons] in `layouts`.
UNDECIDED_IS_FALSE = True


def check_accepted(accepts: str | None, *found: DType) -> None:
    """Raise DispatchError for a dtype that `accepts` names neither itself nor by its kind (`bool integer floating
    complex`)."""
    for dtype in found:
        if accepts is not None and not _is_accepted(accepts, dtype):
            kinds = accepts.split()
            hint = "; convert it first, for example to float32" if "floating" in kinds and dtype.kind in "biu" else ""
            raise DispatchError(f"not implemented for {dtype}: expected a dtype of these: {', '.join(kinds)}{hint}")


@lru_cache(maxsize=1024)
def _is_accepted(accepts: str, dtype: DType) -> bool:
    return bool({category(dtype), str(dtype)} & set(accepts.split()))


def category(dtype: DType) -> str:
    """Return the kind of a dtype in the words of `accepts`."""
    if dtype in FLOATING:
        return "floating"
    return "complex" if dtype in COMPLEX else "bool" if dtype is bool_ else "integer"


def check_number(value: Any, dtype: DType) -> None:
    """Raise RuntimeError where a dtype cannot hold a number. Nothing is known of symbolic ones."""
    if (type(value) is int and -100 < value < 100) or (type(value) is float and 0 <= value < 100):
        return  # fits any dtype; a negative float fits no unsigned one
    if not is_symbolic(value):
        check_fits(value, dtype)


def needs_cast(operand: Any, compute: DType) -> bool:
    """Whether a kernel that computes in `compute` needs the operand in another dtype, or a number as a scalar."""
    return isinstance(operand, NUMBERS) or operand.dtype != compute or operand.dtype is not compute


def check_devices(operands: Sequence[Any]) -> None:
    """Raise RuntimeError where arrays, 0-dim ones aside, are on different devices."""
    kinds = {type(operand) for operand in operands if hasattr(operand, "strides") and operand.ndim}
    if len(kinds) > 1 and not all(issubclass(kind, np.ndarray) for kind in kinds):
        names = sorted("cpu" if issubclass(kind, np.ndarray) else "cuda" for kind in kinds)
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {' and '.join(names)}!"
        )


def kept_strides(array: Any) -> Shape:
    """Return the strides `empty_like` gives a result: those of a dense array, TensorIterator's order for others."""
    return kept_strides_of(array.shape, element_strides(array))


def kept_strides_of(shape: Shape, strides: Shape) -> Shape:
    """Return `kept_strides` of an array of this shape and these strides."""
    if (layouts.is_empty(shape) or layouts.is_dense(shape, strides)) and all(stride >= 0 for stride in strides):
        return strides
    return layouts.pointwise_strides(shape, [(shape, strides)])


def extent(operand: Any, common: DType) -> tuple[Shape, Shape]:
    """Return shape and strides of an operand, after the cast to the promoted dtype that PyTorch makes first."""
    if isinstance(operand, NUMBERS):
        return (), ()
    return operand.shape, element_strides(operand) if operand.dtype == common else kept_strides(operand)


def memory_format_name(chosen: object) -> str | None:
    """Return the name of a memory format, in any spelling."""
    return None if chosen is None else str(getattr(chosen, "name", chosen)).removeprefix("torch.")


def formatted_strides(shape: Shape, chosen: str | None) -> Shape:
    """Return the strides of a new array in a memory format. Raises RuntimeError for another rank than it has."""
    ranks = {"channels_last": 4, "channels_last_3d": 5}
    if chosen in ranks:
        if len(shape) != ranks[chosen]:
            raise RuntimeError(f"required rank {ranks[chosen]} tensor to use {chosen} format")
        return layouts.channels_last_strides(shape)
    if chosen not in (None, "contiguous_format"):
        raise RuntimeError(f"unsupported memory format option {chosen}")
    return layouts.contiguous_strides(shape)
