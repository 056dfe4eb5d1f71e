"""The array module (`xp`) of kernels for arrays without data: views and new memory, nothing that computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.errors import FakeKernelError
from opwright.fake.arrays import WANTS_RULE, MetaArray, meta_array
from opwright.symbolic.questions import statically_known_true
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import DType, as_dtype
from opwright_core.arrays.sizes import guard_or_false, guard_or_true

__all__ = [
    "broadcast_to",
    "empty_like",
    "lib",
    "may_share_memory",
    "ndarray",
    "split",
    "squeeze",
    "swapaxes",
    "transpose",
]


def ndarray(shape: Sequence[int], dtype: DType, data: Any, strides: Sequence[int]) -> MetaArray:
    """Return a view from an address on, as CuPy's constructor makes it."""
    made: MetaArray = data.root.lying(shape, strides, data.offset)
    made.dtype = dtype
    return made


def empty_like(prototype: MetaArray, dtype: Any = None, *, shape: Sequence[Any] | None = None) -> MetaArray:
    """Return a row-major array beside another: of its dtype and shape, where none are given.

    Sizes may be symbolic, such as `opwright.library.get_ctx().new_dynamic_size()`.
    """
    sizes = tuple(prototype.shape if shape is None else shape)
    found = prototype.dtype if dtype is None else as_dtype(dtype)
    return meta_array(sizes, layouts.contiguous_strides(sizes), found, prototype.place)


def swapaxes(array: MetaArray, axis1: int, axis2: int) -> MetaArray:
    """Return the array with two dimensions swapped."""
    return array.swapaxes(axis1, axis2)


def transpose(array: MetaArray, axes: Sequence[int] | None = None) -> MetaArray:
    """Return the array with its dimensions in another order, reversed if none is given."""
    return array.T if axes is None else array.transpose(axes)


def squeeze(array: MetaArray, axis: Any = None) -> MetaArray:
    """Return the array without the dimensions of size 1, or those of them that `axis` names."""
    return array.squeeze((axis,) if isinstance(axis, int) else axis)


def broadcast_to(array: MetaArray, shape: Sequence[int]) -> MetaArray:
    """Return the array repeated to a shape, with strides of 0."""
    new = len(shape) - array.ndim
    strides = [
        0 if guard_or_false(have == 1) and guard_or_true(want != 1) else step
        for have, want, step in zip(array.shape, shape[new:], array.strides, strict=True)
    ]
    return array.lying(shape, (*[0] * new, *strides), array.offset)


def split(array: MetaArray, parts: int | Sequence[int], axis: int = 0) -> list[MetaArray]:
    """Return that many equal parts along an axis, or parts that end at the places given. Raises ValueError where they
    cannot be equal."""
    size = array.shape[axis]
    if isinstance(parts, int):
        if size % parts:
            raise ValueError("array split does not result in an equal division")
        ends = [size // parts * place for place in range(1, parts + 1)]
    else:
        ends = [*parts, size]
    before = (slice(None),) * (axis % array.ndim)
    return [array[(*before, slice(start, end))] for start, end in zip([0, *ends], ends, strict=False)]


class _NoFunctionError(FakeKernelError, AttributeError):
    """A function of the array module that is not here."""


def __getattr__(name: str) -> Any:
    """Raise an error: a name that is not here computes, or is not known."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise _NoFunctionError(f"a kernel called xp.{name} on arrays without data, which have views alone: {WANTS_RULE}")


def may_share_memory(first: MetaArray, second: MetaArray) -> bool:
    """Whether the elements' ranges meet in one memory; where they are symbolic, whether they may for some sizes."""
    if first.root is not second.root:
        return False
    if first.is_symbolic or second.is_symbolic:
        return not (_is_before(first, second) or _is_before(second, first))
    (low, high), (other_low, other_high) = (layouts.span(array.shape, array.strides) for array in (first, second))
    return first.offset + low <= second.offset + other_high and second.offset + other_low <= first.offset + high


def _is_before(first: MetaArray, second: MetaArray) -> bool:
    """Whether all elements of one array surely come before those of another in their memory."""
    last = first.offset
    for size, stride in zip(first.shape, first.strides, strict=True):
        last = last + (size - 1) * stride
    return statically_known_true(last < second.offset)  # (strides of symbolic arrays are not negative)


class lib:
    """The part of `numpy.lib` that view kernels use."""

    class stride_tricks:
        """The module of views of any shape and strides."""

        @staticmethod
        def as_strided(array: MetaArray, shape: Sequence[int], strides: Sequence[int]) -> MetaArray:
            """Return a view from the first element on."""
            return array.lying(shape, strides, array.offset)
