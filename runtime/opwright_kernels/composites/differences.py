"""Derivatives of sampled functions, from differences of neighbours (`gradient`): they see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import as_dtype, uint8
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import NUMBERS

Operand = Any  # a Tensor
Spacing = Any  # a number, or a vector of positions


def gradient(
    self: Operand, spacing: Spacing | Sequence[Spacing] | None, dim: int | Sequence[int] | None, edge_order: int
) -> list[Operand]:
    """Return the derivatives along each of the dimensions, or along all: of samples that are `spacing` apart, or for
    each dimension so far apart, or at such positions. Raises RuntimeError unless there are as many of both."""
    dims = _dims(self, dim)
    if spacing is None or isinstance(spacing, NUMBERS):
        spacing = [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list with an element for each "
            f"dimension, but got {len(spacing)} for {len(dims)} dimensions"
        )
    return _derivatives(self, spacing, dims, edge_order)


def _dims(self: Operand, dim: int | Sequence[int] | None) -> list[int]:
    if dim is None:
        return list(range(len(self.shape)))
    dims = [layouts.wrap_dim(each, len(self.shape)) for each in ([dim] if isinstance(dim, int) else dim)]
    for position, each in enumerate(dims):
        if each in dims[:position]:
            raise RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return dims


def _derivatives(self: Operand, spacings: Sequence[Spacing], dims: list[int], edge_order: int) -> list[Operand]:
    if as_dtype(self.dtype) is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if not all(holds(self.shape[dim] >= edge_order + 1) for dim in dims):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    found = []
    for spacing, dim in zip(spacings, dims, strict=True):
        is_even = isinstance(spacing, NUMBERS)
        made = _even(self, spacing, dim, edge_order) if is_even else _uneven(self, spacing, dim, edge_order)
        found.append(opwright.ops.aten.cat(list(made), dim))
    return found


def _at(self: Operand, dim: int, position: int) -> Operand:
    """Return the samples at one position, counted from the end where it is below 0."""
    start = position if position >= 0 else self.shape[dim] + position
    return opwright.ops.aten.narrow(self, dim, start, 1)


def _neighbours(self: Operand, dim: int) -> tuple[Operand, Operand, Operand]:
    """Return the samples before, at and after all positions but the first and the last."""
    aten = opwright.ops.aten
    inside = self.shape[dim] - 2
    first, second, third = (aten.narrow(self, dim, start, inside) for start in range(3))
    return first, second, third


def _even(self: Operand, distance: complex, dim: int, edge_order: int) -> tuple[Operand, Operand, Operand]:
    """Return the derivatives at the first position, between, and at the last one."""
    before, _, after = _neighbours(self, dim)
    center = (after - before) / (distance * 2)
    if edge_order == 1:
        first = (_at(self, dim, 1) - _at(self, dim, 0)) / distance
        return first, center, (_at(self, dim, -1) - _at(self, dim, -2)) / distance
    first = (_at(self, dim, 0) * -1.5 + _at(self, dim, 1) * 2 - _at(self, dim, 2) * 0.5) / distance
    last = (_at(self, dim, -3) * 0.5 - _at(self, dim, -2) * 2 + _at(self, dim, -1) * 1.5) / distance
    return first, center, last


def _uneven(self: Operand, positions: Operand, dim: int, edge_order: int) -> tuple[Operand, Operand, Operand]:
    """Return the derivatives of the parabolas through three neighbours each; of lines at both ends, for order 1."""
    aten = opwright.ops.aten
    if len(positions.shape) != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{len(positions.shape)} dimensions!"
        )
    if not holds(positions.shape[0] == self.shape[dim]):
        raise RuntimeError(
            f"torch.gradient expected a place for each of {self.shape[dim]} samples of dimension {dim}, but got "
            f"{positions.shape[0]}"
        )
    apart = aten.diff(positions)
    steps = aten.reshape(apart, [-1 if at == dim else 1 for at in range(len(self.shape))])
    inside = self.shape[dim] - 2
    left, right = aten.narrow(steps, dim, 0, inside), aten.narrow(steps, dim, 1, inside)
    before, here, after = _neighbours(self, dim)
    center = (
        before * (-right / (left * (left + right)))
        + here * ((right - left) / (left * right))
        + after * (left / (right * (left + right)))
    )
    if edge_order == 1:
        first = (_at(self, dim, 1) - _at(self, dim, 0)) / apart[0]
        return first, center, (_at(self, dim, -1) - _at(self, dim, -2)) / apart[-1]
    first = _at_end([_at(self, dim, each) for each in (0, 1, 2)], apart[0], apart[1])
    last = _at_end([_at(self, dim, each) for each in (-1, -2, -3)], -apart[-1], -apart[-2])
    return first, center, last


def _at_end(samples: list[Operand], near: Operand, far: Operand) -> Operand:
    """Return the derivative at the first of three samples; `near` and `far` are the steps to the second and third."""
    first, second, third = samples
    both = near + far
    return first * (-(near + both) / (near * both)) + second * (both / (near * far)) - third * (near / (far * both))
