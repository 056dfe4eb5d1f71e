"""Factories that are made of others. They see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import opwright
from opwright.autograd.quick import is_fast_path
from opwright.context_managers.keys import below_adinplaceorview
from opwright_core import rules
from opwright_core.arrays.devices import Device, as_device, backend_of
from opwright_core.arrays.dtypes import COMPLEX, INTEGRAL, as_dtype, bool_
from opwright_core.arrays.layouts import broadcast_shapes, contiguous_strides
from opwright_core.arrays.promotion import NUMBERS
from opwright_core.core import compiled
from opwright_core.keys import META, NONDENSE
from opwright_core.plans.plan import Plan, cast_array
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_kernels.composites.views_and_comparisons import lies_in
from opwright_kernels.factories import filled

Operand = Any  # a Tensor
Number = complex
OWN_DEVICES = ("cpu", "cuda", "meta")


# Written into a tensor that keeps its shape if it has as many elements


def arange_out(start: Number, end: Number, step: Number, out: Operand) -> Operand:
    """Compute `arange` in the dtype of `out`."""
    return _written(out, opwright.arange(start, end, step, dtype=out.dtype, device=_device(out)))


def linspace_out(start: Number, end: Number, steps: int, out: Operand) -> Operand:
    """Compute `linspace` in the dtype of `out`."""
    return _written(out, opwright.linspace(start, end, steps, dtype=out.dtype, device=_device(out)))


def logspace_out(start: Number, end: Number, steps: int, base: float, out: Operand) -> Operand:
    """Compute `logspace` in the dtype of `out`."""
    return _written(out, opwright.logspace(start, end, steps, base, dtype=out.dtype, device=_device(out)))


def _device(out: Operand) -> Any:
    return getattr(out, "device", None)


def _written(out: Operand, made: Operand) -> Operand:
    aten = opwright.ops.aten
    if prod(out.shape) != prod(made.shape):
        aten.resize_(out, made.shape)
    return aten.copy_(out, aten.view(made, out.shape))


# Ends that are tensors


def linspace_between(
    start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Operand:
    """Compute `linspace` with ends that are 0-dim tensors."""
    first, last = _ends("linspace", start, end)
    return opwright.linspace(first, last, steps, dtype=dtype, device=device)


def logspace_between(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Operand:
    """Compute `logspace` with ends that are 0-dim tensors."""
    first, last = _ends("logspace", start, end)
    return opwright.logspace(first, last, steps, base, dtype=dtype, device=device)


def _ends(name: str, *ends: Any) -> list[Any]:
    from opwright.fake import is_fake

    numbers: list[Any] = []
    for end in ends:
        if isinstance(end, NUMBERS):
            numbers.append(end)
            continue
        if len(end.shape):
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {len(end.shape)}D")
        if is_fake(end):  # whose value changes nothing about the result but its dtype
            numbers.append(0j if as_dtype(end.dtype) in COMPLEX else 0.0)
        else:
            numbers.append(opwright.ops.aten.item(end))
    return numbers


# Like another


def randint_like_below(
    self: Operand,
    high: Operand,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    memory_format: Any,
    generator: Any = None,
) -> Operand:
    """Draw integers below the only element of `high`, in the layout of another tensor."""
    from opwright.fake import is_fake

    made = empty_like(self, dtype, layout, device, pin_memory, memory_format)
    below: Any = 1 if is_fake(high) else opwright.ops.aten.item(high)  # the bound of a fake tensor is not to be known
    return opwright.ops.aten.random_(made, 0, int(below), generator=generator)


def randint_like_below_of(
    self: Operand,
    high: Operand,
    generator: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    memory_format: Any,
) -> Operand:
    """Draw as `randint_like_below` does, from a generator."""
    return randint_like_below(self, high, dtype, layout, device, pin_memory, memory_format, generator)


@compiled
def empty_like(self: Operand, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Operand:
    """Return a new tensor of the shape and strides of another, dtype and device too unless they are given."""
    if _is_fast_path(self, dtype, device, memory_format):
        return wrap(np.empty(self.array.shape, self.array.dtype))
    return _empty(self, rules.like(_seen_of(self), dtype=dtype, memory_format=memory_format), device)


def _seen_of(self: Operand) -> Any:
    """Return an array that says how the tensor lies in memory: a stand-in where the backend's own has no strides."""
    array = self.array
    if hasattr(array, "strides"):
        return array
    from opwright.fake.arrays import meta_array, place_on

    backend = backend_of(array)
    place = place_on(backend.device(array))
    return meta_array(backend.shape(array), backend.strides(array), backend.dtype(array), place)


def _empty(self: Operand, plan: Plan, device: Any) -> Operand:
    device = self.device if device is None else device
    if plan.strides == contiguous_strides(plan.shape):
        return opwright.empty(list(plan.shape), dtype=plan.dtype, device=device)
    return opwright.empty_strided(list(plan.shape), list(plan.strides), dtype=plan.dtype, device=device)


def _is_fast_path(self: Operand, dtype: Any, device: Any, memory_format: Any) -> bool:
    """Whether a tensor like this one is dense on the CPU, and how it is made is not recorded."""
    is_asked = dtype is not None or device is not None or memory_format is not None
    return not is_asked and is_fast_path(self) and not self.keys & NONDENSE


@compiled
def zeros_like(self: Operand, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Operand:
    """Return zeros in the shape and strides of another tensor."""
    if _is_fast_path(self, dtype, device, memory_format):
        return wrap(np.zeros(self.array.shape, self.array.dtype))
    plan = rules.like(_seen_of(self), dtype=dtype, memory_format=memory_format)
    if plan.strides == contiguous_strides(plan.shape):
        device = self.device if device is None else device
        return opwright.zeros(list(plan.shape), dtype=plan.dtype, device=device)
    return opwright.zero_(_empty(self, plan, device))


def ones_like(self: Operand, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Operand:
    """Return ones in the shape and strides of another tensor."""
    if _is_fast_path(self, dtype, device, memory_format):
        return wrap(filled(np, self.array.shape, 1, self.array.dtype))
    return full_like(self, 1, dtype, layout, device, pin_memory, memory_format)


def full_like(
    self: Operand, fill_value: Number, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Operand:
    """Return one value in the shape and strides of another tensor."""
    is_real = type(fill_value) in (int, float) and self.array.dtype in (np.float32, np.float64)
    if is_real and _is_fast_path(self, dtype, device, memory_format) and abs(fill_value) < 1e38:
        return wrap(filled(np, self.array.shape, fill_value, self.array.dtype))
    plan = rules.like(_seen_of(self), dtype=dtype, memory_format=memory_format)
    if plan.strides == contiguous_strides(plan.shape):
        device = self.device if device is None else device
        return opwright.full(list(plan.shape), fill_value, dtype=plan.dtype, device=device)
    return opwright.fill_(_empty(self, plan, device), fill_value)


# Others


def full_of_empty(
    size: Sequence[int], fill_value: complex, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Operand:
    """Compute `full` by filling an empty tensor."""
    plan = rules.full(size, fill_value, dtype=dtype)
    return opwright.fill_(opwright.empty(size, dtype=plan.dtype, device=device), fill_value)


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Operand:
    """Return a dense tensor with arbitrary contents whose dimensions lie in memory in this order, the slowest first."""
    if len(size) != len(physical_layout):
        raise RuntimeError(
            f"Number of dimensions in size ({len(size)}) does not match the length of the physical_layout "
            f"({len(physical_layout)})"
        )
    strides = [-1] * len(size)
    for place, dim in enumerate(physical_layout):
        if not 0 <= dim < len(size):
            raise RuntimeError(f"Dimension out of range (expected 0 to {len(size) - 1}, but got {dim} at {place})")
        if strides[dim] != -1:
            raise RuntimeError(f"Duplicate dim not allowed: {dim}")
        strides[dim] = 0
    steps = contiguous_strides(tuple([size[dim] for dim in physical_layout]))
    for dim, step in zip(physical_layout, steps, strict=True):
        strides[dim] = step
    return opwright.empty_strided(size, strides, dtype=dtype, device=device)


def vander(x: Operand, N: int | None, increasing: bool) -> Operand:
    """Return the powers of a vector's elements from 0 to N - 1, a row each; falling unless `increasing`."""
    aten = opwright.ops.aten
    if len(x.shape) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    kept = as_dtype(x.dtype)
    dtype = opwright.int64 if kept in INTEGRAL or kept == bool_ else kept
    if not count:
        return aten.new_empty(x, [x.shape[0], 0], dtype=dtype)
    base = aten.expand(aten.unsqueeze(x, 1), [x.shape[0], count - 1])
    powers = [aten.new_ones(x, [x.shape[0], 1], dtype=dtype), aten.cumprod(base, 1, dtype=dtype)]
    made = aten.cat(powers, 1)
    if increasing:
        return made
    return aten.stack(list(aten.unbind(made, 1))[::-1], 1)


def fill_diagonal_(self: Operand, fill_value: Number, wrap: bool) -> Operand:
    """Write a value to the positions whose indices are all equal; `wrap` starts again below in a tall matrix."""
    aten = opwright.ops.aten
    shape = tuple(self.shape)
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and any(size != shape[0] for size in shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    if wrap and len(shape) == 2:
        for first in range(0, shape[0], shape[1] + 1):
            aten.fill_(aten.diagonal(aten.slice(self, 0, first, first + shape[1])), fill_value)
        return self
    found = aten.diagonal(self)
    for _ in shape[2:]:
        found = aten.diagonal(found, 0, 0, -1)
    aten.fill_(found, fill_value)
    return self


# Random numbers around others


def normal_around(mean: Any, std: Any, generator: Any) -> Operand:
    """Draw normal numbers, each with its own mean or standard deviation; one of them may be a number."""
    like = std if isinstance(mean, float) else mean
    return _around(opwright.ops.aten.new_empty(like, _shape_of(mean, std)), mean, std, generator)


def normal_around_out(mean: Any, std: Any, generator: Any, out: Operand) -> Operand:
    """Draw as `normal_around` does, into `out`, of the means' shape where `std` is a number, as in PyTorch."""
    if not isinstance(std, float):
        opwright.ops.aten.resize_(out, _shape_of(mean, std))
    return _around(out, mean, std, generator)


def _shape_of(*given: Any) -> list[int]:
    return list(broadcast_shapes([tuple(each.shape) for each in given if not isinstance(each, float)]))


def _around(made: Operand, mean: Any, std: Any, generator: Any) -> Operand:
    aten = opwright.ops.aten
    if isinstance(std, float):
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    elif as_dtype(std.dtype) in COMPLEX:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    else:
        aten._assert_async(aten.all(aten.ge(std, 0)), "normal expects all elements of std >= 0.0")
    aten.normal_(made, 0.0, 1.0, generator=generator)
    return aten.add_(aten.mul_(made, std), mean)


# Casts and copies


def to(
    self: Operand,
    dtype: Any,
    layout: Any,
    device: Any,
    pin_memory: Any,
    non_blocking: bool,
    copy: bool,
    memory_format: Any,
) -> Operand:
    """Return the tensor with another dtype, device or memory format: itself where it has all of them and no copy is
    asked for."""
    array = self.array
    wanted = None if device is None else as_device(device)
    same_format = memory_format in (None, opwright.preserve_format) or lies_in(self, memory_format)
    if (
        not copy
        and (dtype is None or as_dtype(dtype) == array.dtype)
        and (wanted is None or _is_on(array, wanted))
        and same_format
    ):
        return self
    return opwright._to_copy(self, dtype=dtype, device=wanted, non_blocking=non_blocking, memory_format=memory_format)


def _is_on(array: Any, device: Device) -> bool:
    """Whether an array is on a device; on any of its kind where the device has no index."""
    found = backend_of(array).device(array)
    return found == device or (device.index is None and found.type == device.type)


def copy_to(
    self: Operand, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, memory_format: Any
) -> Operand:
    """Return a copy with another dtype, device or memory format."""
    if (
        layout is None
        and memory_format is None
        and not pin_memory
        and _is_plainly_laid_out(self.array)
        and (device is None or _is_on(self.array, as_device(device)))
    ):
        array = self.array
        return wrap(array.copy() if dtype is None or dtype == array.dtype else cast_array(array, dtype))
    if device is not None and _goes_by_numpy(self, device):
        return opwright.tensor(self, dtype=dtype, device=device)
    made = empty_like(self, dtype, layout, device, pin_memory, memory_format)
    with below_adinplaceorview():  # nobody wrote to a new tensor
        return opwright.ops.aten.copy_(made, self, non_blocking)


def _is_plainly_laid_out(array: Any) -> bool:
    """Whether an array's copy is row-major, too, made by NumPy, and no mode makes it a fake one."""
    modes = active_modes()
    if type(array) is not np.ndarray or (modes is not None and modes.include & META):
        return False
    return bool(array.flags.c_contiguous) and array.size != 0 and 1 not in array.shape


def _goes_by_numpy(self: Tensor, device: Any) -> bool:
    """Whether a copy leaves or reaches a backend that was registered from outside: no kernel knows both arrays."""
    source, target = backend_of(self.array), as_device(device).type
    if source.key == META or source.name == target:
        return False
    return source.name not in OWN_DEVICES or target not in OWN_DEVICES


def to_dtype(self: Operand, dtype: Any, non_blocking: bool, copy: bool, memory_format: Any) -> Operand:
    """Return the tensor with another dtype: itself where it has that and no copy is asked for."""
    if memory_format is None:
        if not copy and self.dtype is dtype:
            return self
        return opwright._to_copy(self, dtype=dtype, non_blocking=non_blocking)
    return to(self, dtype, None, None, None, non_blocking, copy, memory_format)
