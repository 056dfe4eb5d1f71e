"""Backward functions of what is scattered and reduced where it meets: sums, means, products and extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opwright

Tensor = Any
aten = opwright.ops.aten


def scatter_reduce_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of what was there and of what was scattered."""
    if 0 in index.shape:  # of any number of dimensions
        return grad, aten.zeros_like(src)

    def fetched(value: Tensor) -> Tensor:
        return aten.gather(value, dim, index)

    def added(value: Tensor, more: Tensor) -> Tensor:
        return aten.scatter_add(value, dim, index, more)

    def multiplied(value: Tensor, more: Tensor, include_self: bool = True) -> Tensor:
        return aten.scatter_reduce(value, dim, index, more, "prod", include_self=include_self)

    reached = src
    if tuple(index.shape) != tuple(src.shape):
        for position, size in enumerate(index.shape):
            reached = aten.narrow(reached, position, 0, size)
    of_self, of_source = _reduced_backward(
        grad, self, reached, reduce, include_self, result, fetched, added, multiplied
    )
    if reached is not src:
        pad = [each for have, want in zip(index.shape, src.shape, strict=True) for each in (want - have, 0)]
        of_source = aten.constant_pad_nd(of_source, pad[::-1], 0)
    return of_self if include_self else aten.scatter(of_self, dim, index, 0), of_source


def index_reduce_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the slices that were there and of those that were written."""

    def fetched(value: Tensor) -> Tensor:
        return aten.index_select(value, dim, index)

    def added(value: Tensor, more: Tensor) -> Tensor:
        return aten.index_add(value, dim, index, more)

    def multiplied(value: Tensor, more: Tensor, include_self: bool = True) -> Tensor:
        return aten.index_reduce(value, dim, index, more, "prod", include_self=include_self)

    of_self, of_source = _reduced_backward(grad, self, source, reduce, include_self, result, fetched, added, multiplied)
    return of_self if include_self else aten.index_fill(of_self, dim, index, 0), of_source


def scatter_reduce_forward(
    self_t: Tensor, src_t: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool,
    result: Tensor,
) -> Tensor:  # fmt: skip
    """Return the tangent of the result: both tangents, times what a gradient of 1 gives each element."""
    if 0 in index.shape:
        return self_t
    one = aten.ones_like(result)
    of_self, of_source = scatter_reduce_backward(one, self, dim, index, src, reduce, include_self, result)
    return aten.scatter_add(self_t * of_self.conj(), dim, index, src_t * of_source.conj())


def index_reduce_forward(
    self_t: Tensor, source_t: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str,
    include_self: bool, result: Tensor,
) -> Tensor:  # fmt: skip
    """Return the tangent of the result of `index_reduce`, slice by slice."""
    one = aten.ones_like(result)
    of_self, of_source = index_reduce_backward(one, self, dim, index, source, reduce, include_self, result)
    return aten.index_add(self_t * of_self.conj(), dim, index, source_t * of_source.conj())


def _reduced_backward(
    grad: Tensor,
    self: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
    fetched: Callable[[Tensor], Tensor],
    added: Callable[[Tensor, Tensor], Tensor],
    multiplied: Callable[..., Tensor],
) -> tuple[Tensor, Tensor]:
    """Return both gradients, given what fetches, adds to and multiplies into the positions that were written: all of a
    sum, equal shares of a mean or of all that are the extreme, and for a product the product of all other factors."""
    match reduce:
        case "sum":
            return grad, fetched(grad)
        case "mean":
            count = aten.ones_like(grad) if include_self else aten.zeros_like(grad)
            count = added(count, aten.ones_like(source))
            share = grad / aten.where(count == 0, 1, count)
            return share, fetched(share)
        case "amax" | "amin":
            is_self, is_source = (aten.to(each, grad.dtype) for each in (self == result, fetched(result) == source))
            share = grad / added(is_self, is_source)
            return share * is_self, fetched(share) * is_source
        case _:
            of_self = grad * aten.conj(multiplied(aten.ones_like(self), source))
            return of_self, _factor_backward(grad, self, source, include_self, result, fetched, added, multiplied)


def _factor_backward(
    grad: Tensor,
    self: Tensor,
    source: Tensor,
    include_self: bool,
    result: Tensor,
    fetched: Callable[[Tensor], Tensor],
    added: Callable[[Tensor, Tensor], Tensor],
    multiplied: Callable[..., Tensor],
) -> Tensor:
    """Return the gradient of factors: by division, and for a 0 by the product of all that are none instead, if it
    is the only 0 there. One of two zeros has that product times the other one: 0, with a slope."""
    is_zero = source == 0
    count = fetched(added(aten.zeros_like(self), aten.to(is_zero, self.dtype)))
    rest = fetched(grad * aten.conj(multiplied(self, aten.where(is_zero, 1, source), include_self)))
    of_zero = aten.where(count == 1, rest, 0)
    if opwright.is_grad_enabled():
        other = fetched(added(aten.zeros_like(self), aten.where(is_zero, source, 0))) - source
        of_zero = aten.where(count == 2, rest * aten.conj(other), of_zero)
    by_division = fetched(grad * aten.conj(result)) / aten.conj(aten.where(is_zero, 1, source))
    return aten.where(is_zero, of_zero, by_division)
