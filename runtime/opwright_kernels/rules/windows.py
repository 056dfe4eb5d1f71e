"""Operators that look at windows of an image: convolution, pooling, `im2col` and `col2im`.

Sizes are found with `+ - * //` alone: they may be symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Columns, Images, Spatial
from opwright_core.arrays.dtypes import as_dtype, int64, opmath
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_kernels.rules.memory_formats import suggested_strides

_pooled = SpecCache()


def per_dimension(name: str, values: Sequence[int], ndim: int) -> Shape:
    """Return one value for each of `ndim` dimensions; one is for all. Raises RuntimeError for other numbers."""
    if len(values) == 1:
        return (values[0],) * ndim
    if len(values) != ndim:
        raise RuntimeError(f"{name} must be one int or {ndim} of them, but got {list(values)}")
    return tuple(values)


def check_at_least(least: int, **named: Shape) -> None:
    """Raise RuntimeError for a value below `least`, by name."""
    for name, values in named.items():
        if any(each < least for each in values):
            raise RuntimeError(f"{name} must be at least {least}, but got {list(values)}")


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> int:
    """Return how many windows fit into `size` with `padding` on both sides; with `ceil_mode` the last one may hang
    over, but not begin in the padding."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return free // stride + 1
    found = (free + stride - 1) // stride + 1
    return found - 1 if (found - 1) * stride >= size + padding else found


def pool(
    self: Images,
    ndim: Spatial,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
    *,
    name: str,
    accepts: str,
    positions: bool = False,
    divisor: int | None = None,
) -> Plan:
    """Plan one element for each window over the last `ndim` dimensions, after channels and maybe a batch.

    `name` is the operator's, for messages; `accepts` as for `pointwise`, or names of dtypes; `positions`: the result
    holds int64 indices. Raises RuntimeError where windows, sizes and padding do not fit.
    """
    given = (tuple(kernel_size), tuple(stride), tuple(padding), tuple(dilation), ceil_mode, name, positions)
    key = (self.shape, self.strides, self.dtype, given, divisor)
    spec = _pooled.get(key)
    if spec is None:
        sizes = _pooled_sizes(self, ndim, kernel_size, stride, padding, dilation, ceil_mode, name)
        if divisor == 0:
            raise RuntimeError(f"{name}(): divisor_override must not be zero")
        spec = _pooled.keep(key, _pooled_spec(self, sizes, name, accepts, positions))
    return Plan(spec, (self,))


def _pooled_sizes(
    self: Any,
    ndim: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    name: str,
) -> Shape:
    kernel = per_dimension("kernel_size", kernel_size, ndim)
    steps = per_dimension("stride", stride, ndim) if stride else kernel
    pads = per_dimension("padding", padding, ndim)
    spread = per_dimension("dilation", dilation, ndim)
    check_at_least(1, kernel_size=kernel, stride=steps, dilation=spread)
    check_at_least(0, padding=pads)
    for pad, extent, gap in zip(pads, kernel, spread, strict=True):
        if 2 * pad > (extent - 1) * gap + 1:
            raise RuntimeError(
                f"padding must be at most half of the effective kernel size, but got padding {list(pads)} and "
                f"kernel_size {list(kernel)}"
            )
    check_image(self, ndim, name)
    windows = zip(self.shape[-ndim:], kernel, steps, pads, spread, strict=True)
    sizes = tuple([window_count(*window, ceil_mode) for window in windows])
    if not all(holds(size >= 1) for size in sizes):
        raise RuntimeError(
            f"{name}(): windows of {list(kernel)} over {list(self.shape[-ndim:])} would give {list(sizes)} elements"
        )
    return (*self.shape[:-ndim], *sizes)


def check_image(self: Any, ndim: int, name: str, *, any_channels: bool = False) -> None:
    """Raise RuntimeError unless there are channels and `ndim` dimensions, none empty, and maybe a batch before them.

    With `any_channels` there may be no channel."""
    sizes = self.shape[-ndim:] if any_channels else self.shape[-ndim - 1 :]
    if self.ndim not in (ndim + 1, ndim + 2) or layouts.is_empty(sizes):
        raise RuntimeError(
            f"{name}(): expected {ndim + 1} dimensions or {ndim + 2} with a batch, none but the batch empty, "
            f"but got an input of size {list(self.shape)}"
        )


def _pooled_spec(self: Any, shape: Shape, name: str, accepts: str, positions: bool) -> TensorSpec:
    given = as_dtype(self.dtype)
    check_accepted(accepts, given)
    if name in ("avg_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d"):
        strides = layouts.contiguous_strides(shape)
    elif name == "max_pool3d_with_indices" and len(shape) == 4:
        strides = _unbatched_strides(shape, self)
    else:
        strides = suggested_strides(shape, self)
    if positions:
        return TensorSpec(shape, strides, int64, given, given, int64)
    compute = opmath(given)
    return TensorSpec(shape, strides, given, given, compute, None, (compute is not given,))


def _unbatched_strides(shape: Shape, self: Any) -> Shape:
    """Return the strides of a batch of one, without it: channels last only where the input is so without gaps."""
    steps = tuple([step // self.dtype.itemsize for step in self.strides])
    sizes, batched = (1, *self.shape), (0, *steps)
    if layouts.is_channels_last(sizes, batched) and not layouts.is_contiguous(self.shape, steps):
        return layouts.channels_last_strides((1, *shape))[1:]
    return layouts.contiguous_strides(shape)


def adaptive_pool(
    self: Images, ndim: Spatial, output_size: Sequence[int], *, name: str, positions: bool = False
) -> Plan:
    """Plan as many windows of about equal size as asked for, over the last `ndim` dimensions."""
    wanted = tuple(output_size)
    if len(wanted) != ndim:
        raise RuntimeError(f"{name}(): output_size must be {ndim} ints, but got {list(output_size)}")
    check_image(self, ndim, name, any_channels="avg_pool2d" in name)
    check_at_least(0, output_size=wanted)
    return Plan(_pooled_spec(self, (*self.shape[:-ndim], *wanted), name.lstrip("_"), "floating", positions), (self,))


def im2col(
    self: Images, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Plan:
    """Plan an image's windows as columns: (N, C * kernel elements, windows). Raises RuntimeError where none fits."""
    kernel, spread, pads, steps = _window_lists(kernel_size, dilation, padding, stride)
    check_image(self, 2, "im2col")
    counts = [window_count(*each) for each in zip(self.shape[-2:], kernel, steps, pads, spread, strict=True)]
    if not all(holds(count >= 1) for count in counts):
        raise RuntimeError(
            f"im2col(): windows of {list(kernel)}, dilation {list(spread)}, do not fit into {list(self.shape[-2:])} "
            f"with padding {list(pads)}: there would be {counts} of them"
        )
    shape = (*self.shape[:-3], self.shape[-3] * layouts.count(kernel), counts[0] * counts[1])
    return _columns_plan(self, shape)


def col2im(
    self: Columns,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Plan:
    """Plan the image of (N, C * kernel elements, windows), where windows overlap their sum. Raises RuntimeError unless
    the sizes are those of `im2col`."""
    kernel, spread, pads, steps = _window_lists(kernel_size, dilation, padding, stride)
    size = per_dimension("output_size", output_size, 2)
    check_at_least(1, output_size=size)
    if self.ndim not in (2, 3) or layouts.is_empty(self.shape[-2:]):
        raise RuntimeError(f"col2im(): expected 2 or 3 dimensions, none but the batch empty, got {list(self.shape)}")
    counts = [window_count(*each) for each in zip(size, kernel, steps, pads, spread, strict=True)]
    if not holds(self.shape[-2] % layouts.count(kernel) == 0):
        raise RuntimeError(
            f"col2im(): the {self.shape[-2]} rows of {list(self.shape)} are no multiple of the {layouts.count(kernel)} "
            f"elements of a window"
        )
    if not (all(holds(count >= 1) for count in counts) and holds(self.shape[-1] == counts[0] * counts[1])):
        raise RuntimeError(
            f"col2im(): an image of {list(size)} has {counts} windows, but the input's size is {list(self.shape)}"
        )
    return _columns_plan(self, (*self.shape[:-2], self.shape[-2] // layouts.count(kernel), *size))


def _window_lists(*lists: Sequence[int]) -> list[Shape]:
    names = ("kernel_size", "dilation", "padding", "stride")
    found = [per_dimension(name, values, 2) for name, values in zip(names, lists, strict=True)]
    check_at_least(1, kernel_size=found[0], dilation=found[1], stride=found[3])
    check_at_least(0, padding=found[2])
    return found


def _columns_plan(self: Any, shape: Shape) -> Plan:
    given = as_dtype(self.dtype)
    check_accepted("bool floating complex", given)
    compute = opmath(given)
    return Plan(
        TensorSpec(shape, layouts.contiguous_strides(shape), given, given, compute, None, (compute is not given,)),
        (self,),
    )
