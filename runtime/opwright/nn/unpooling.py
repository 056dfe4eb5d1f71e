"""The inverse of max pooling, and maxima of windows at random positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.nn.annotations import A, Ints
from opwright_core.arrays.sizes import sym_int

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Ratios = float | Sequence[float]
Size = Sequence[int] | None


def max_unpool1d(
    input: A, indices: A, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Size = None
) -> A:
    """Return rows of zeros with the maxima at their positions before `max_pool1d`."""
    size: list[int] = _unpooled(input, kernel_size, stride, padding, output_size, 1)[0]
    found: Any = opwright.max_unpool2d(opwright.unsqueeze(input, -1), opwright.unsqueeze(indices, -1), [*size, 1])
    result: A = opwright.ops.aten.squeeze.dim(found, -1)
    return result


def max_unpool2d(
    input: A, indices: A, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Size = None
) -> A:
    """Return images of zeros with the maxima at their positions before `max_pool2d`."""
    size = _unpooled(input, kernel_size, stride, padding, output_size, 2)[0]
    return opwright.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: A, indices: A, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Size = None
) -> A:
    """Return volumes of zeros with the maxima at their positions before `max_pool3d`."""
    size, steps, pads = _unpooled(input, kernel_size, stride, padding, output_size, 3)
    return opwright.max_unpool3d(input, indices, size, steps, pads)


def _unpooled(
    input: A, kernel_size: Ints, stride: Ints | None, padding: Ints, output_size: Size, ndim: int
) -> tuple[list[int], list[int], list[int]]:
    """Return the size before pooling, stride and padding. Raises ValueError for an impossible `output_size`."""
    kernel, pads = _each(kernel_size, ndim), _each(padding, ndim)
    steps = kernel if stride is None else _each(stride, ndim)
    parts = zip(input.shape[-ndim:], kernel, steps, pads, strict=True)
    least = [(size - 1) * step + extent - 2 * pad for size, extent, step, pad in parts]
    if output_size is None:
        return least, steps, pads
    wanted = list(output_size)[2:] if len(output_size) == ndim + 2 else list(output_size)
    if len(wanted) != ndim:
        raise ValueError(f"output_size should have {ndim} or {ndim + 2} sizes, but has {len(output_size)}")
    for size, middle, step in zip(wanted, least, steps, strict=True):
        if not middle - step < size < middle + step:
            raise ValueError(
                f"output_size {list(output_size)} was not pooled to {list(input.shape)}: {size} is not between "
                f"{middle - step} and {middle + step}"
            )
    return wanted, steps, pads


def _each(given: Ints, ndim: int) -> list[int]:
    return [given] * ndim if isinstance(given, int) else list(given)


def fractional_max_pool2d(
    input: A,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: A | None = None,
) -> A | tuple[A, A]:
    """Return the maxima of windows at random positions, and their positions if `return_indices`."""
    found = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return found if return_indices else found[0]


def fractional_max_pool2d_with_indices(
    input: A,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: A | None = None,
) -> tuple[A, A]:
    """Return the maxima of windows at random positions, and their positions."""
    size, samples = _chosen(input, output_size, output_ratio, _random_samples, 2)
    return opwright.fractional_max_pool2d(input, _each(kernel_size, 2), size, samples)


def fractional_max_pool3d(
    input: A,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: A | None = None,
) -> A | tuple[A, A]:
    """Return the maxima of windows at random positions, and their positions if `return_indices`."""
    found = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return found if return_indices else found[0]


def fractional_max_pool3d_with_indices(
    input: A,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: A | None = None,
) -> tuple[A, A]:
    """Return the maxima of windows at random positions, and their positions."""
    size, samples = _chosen(input, output_size, output_ratio, _random_samples, 3)
    return opwright.fractional_max_pool3d(input, _each(kernel_size, 3), size, samples)


def _chosen(
    input: A, output_size: Ints | None, output_ratio: Ratios | None, samples: A | None, ndim: int
) -> tuple[list[int], A]:
    """Return the size of the result and the random numbers. Raises ValueError if neither size nor ratio is given."""
    name = f"fractional_max_pool{ndim}d"
    if output_size is not None:
        size = _each(output_size, ndim)
    elif output_ratio is not None:
        ratios = [output_ratio] * ndim if isinstance(output_ratio, int | float) else output_ratio
        size = [sym_int(have * ratio) for have, ratio in zip(input.shape[-ndim:], ratios, strict=True)]
    else:
        raise ValueError(f"{name} needs an output_size or an output_ratio")
    if samples is None:
        batch = 1 if len(input.shape) == ndim + 1 else input.shape[0]
        shape = [batch, input.shape[-ndim - 1], ndim]
        drawn: Any = opwright.rand(shape, dtype=input.dtype, device=getattr(input, "device", None))
        return size, drawn
    return size, samples
