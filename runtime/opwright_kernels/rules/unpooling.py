"""Maxima put back to where they came from, and maxima of windows at random positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype, int64
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_kernels.rules.memory_formats import suggested_strides
from opwright_kernels.rules.windows import check_at_least, check_image


def unpool(
    self: Any, indices: Any, ndim: int, output_size: Sequence[int], stride: Sequence[int] = (), *, name: str
) -> Plan:
    """Plan images of `output_size` for maxima and their positions, which have one shape; the positions are int64.

    Raises RuntimeError unless that is so, and there are `ndim` sizes.
    """
    wanted = tuple(output_size)
    if len(wanted) != ndim or (stride and len(stride) != ndim):
        raise RuntimeError(f"{name}(): expected an output_size of {ndim} ints, but got {list(wanted)}, {list(stride)}")
    check_at_least(1, stride=tuple(stride))
    check_at_least(0, output_size=wanted)
    if indices.dtype != int64:
        raise RuntimeError(f"{name}(): expected int64 indices, but got {indices.dtype}")
    check_image(self, ndim, name)
    if not layouts.same_shape(self.shape, indices.shape):
        raise RuntimeError(f"{name}(): indices of size {list(indices.shape)} do not fit {list(self.shape)}")
    given = as_dtype(self.dtype)
    check_accepted("floating", given)
    shape = (*self.shape[:-ndim], *wanted)
    strides = suggested_strides(shape, self) if ndim == 2 else layouts.contiguous_strides(shape)
    return Plan(TensorSpec(shape, strides, given, given, given), (self, indices))


def fractional_pool(
    self: Any,
    ndim: int,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    random_samples: Any,
    *,
    name: str,
    positions: bool = False,
) -> Plan:
    """Plan as many windows as asked for; `random_samples` has `ndim` numbers for each channel of each image, of the
    dtype of `self`. Raises RuntimeError where sizes do not fit. `positions`: the result holds int64 indices."""
    if len(kernel_size) != ndim or len(output_size) != ndim:
        raise RuntimeError(f"{name}(): expected {ndim} ints, but got {list(kernel_size)} and {list(output_size)}")
    check_at_least(0, output_size=tuple(output_size))
    check_image(self, ndim, name)
    for size, extent, count in zip(self.shape[-ndim:], kernel_size, output_size, strict=True):
        if not holds(count + extent - (ndim == 2) <= size):
            raise RuntimeError(f"{name}(): {count} windows of {extent} do not fit into {list(self.shape[-ndim:])}")
    given = as_dtype(self.dtype)
    _check_samples(self, ndim, random_samples, name)
    check_accepted("floating", given)
    shape: Shape = (*self.shape[:-ndim], *output_size)
    dtype = int64 if positions else given
    return Plan(
        TensorSpec(shape, layouts.contiguous_strides(shape), dtype, given, given, dtype), (self, random_samples)
    )


def _check_samples(self: Any, ndim: int, random_samples: Any, name: str) -> None:
    batch = self.shape[0] if self.ndim == ndim + 2 else 1
    wanted = (batch, self.shape[-ndim - 1], ndim)
    if random_samples.dtype != self.dtype:
        raise RuntimeError(f"{name}(): random samples are {random_samples.dtype}, but the input is {self.dtype}")
    sizes = tuple(random_samples.shape)
    if len(sizes) != 3 or not layouts.same_shape(sizes[1:], wanted[1:]) or not holds(sizes[0] >= batch):
        raise RuntimeError(f"{name}(): expected random samples of size {list(wanted)}, but got {list(sizes)}")
