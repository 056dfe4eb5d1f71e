"""Backward functions of reductions, running reductions and selections along a dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import opwright
from opwright.autograd.quick import expanded, is_array_alone
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, as_dtype, opmath
from opwright_core.tensors.tensor import wrap

Tensor = Any
aten = opwright.ops.aten


def _dims(dim: Any, ndim: int) -> list[int]:
    """Return the dimensions reduced, from 0 upwards; none or None are all."""
    given = [dim] if isinstance(dim, int) else dim
    if given is None or len(given) == 0:
        return list(range(ndim))
    return sorted(each + ndim if each < 0 else each for each in given) if ndim else []


def restored(value: Tensor, ndim: int, dim: Any, keepdim: bool) -> Tensor:
    """Return a reduced value with the reduced dimensions of size 1 put back."""
    if not keepdim and ndim:
        if is_array_alone(value) and value.array.flags.c_contiguous:
            kept = iter(value.array.shape)
            dims = _dims(dim, ndim)
            return wrap(value.array.reshape([1 if position in dims else next(kept) for position in range(ndim)]))
        for position in _dims(dim, ndim):
            value = aten.unsqueeze(value, position)
    return value


def count_of(shape: Sequence[int], dim: Any) -> int:
    """Return how many elements one result is reduced from."""
    return math.prod(shape[position] for position in _dims(dim, len(shape)))


def add_gradients(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Return the sum of two gradients, either of which may be undefined."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def sum_backward(grad: Tensor, shape: Sequence[int], dim: Any, keepdim: bool) -> Tensor:
    """Return the gradient for each element that was added."""
    return expanded(restored(grad, len(shape), dim, keepdim), shape)


def mean_backward(grad: Tensor | None, shape: Sequence[int], dim: Any, keepdim: bool) -> Tensor | None:
    """Return the gradient for each element that was averaged, over their number."""
    return None if grad is None else sum_backward(grad, shape, dim, keepdim) / count_of(shape, dim)


def var_backward(grad: Tensor | None, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor | None:
    """Return 2 / (n - correction) * (self - mean): infinite without degrees of freedom, as the variance is."""
    if grad is None:
        return None
    freedom = max(count_of(self.shape, dim) - (1 if correction is None else correction), 0)
    dims = _dims(dim, self.ndim)
    mean = aten.mean(self, dims, True) if self.ndim else self
    distance = self - mean
    scale = 2.0 / freedom if freedom else math.inf
    return restored(grad, self.ndim, dim, keepdim) * (scale * distance)


def std_backward(
    grad: Tensor | None, self: Tensor, result: Tensor, dim: Any, correction: Any, keepdim: bool
) -> Tensor | None:
    """Return the gradient of the variance, over twice the deviation; 0 where there is no deviation."""
    if grad is None:
        return None
    return var_backward(aten.where(result == 0, 0, grad / (2 * result)), self, dim, correction, keepdim)


def _is_extreme(self: Tensor, extreme: Tensor) -> Tensor:
    return aten.where(extreme != extreme, self != self, self == extreme)


def extreme_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Return the gradient, in equal shares for all elements that equal the result; NaN for all where it is NaN."""
    grad, result = (restored(each, self.ndim, dim, keepdim) for each in (grad, result))
    chosen = self == result
    return grad / _count(chosen, dim) * chosen


def element_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Return the gradient, in equal shares for all elements that are the result, NaN among them."""
    chosen = _is_extreme(self, result)
    return aten.where(chosen, grad / _count(chosen, None), 0)


def _count(chosen: Tensor, dim: Any) -> Tensor:
    return aten.sum(chosen, _dims(dim, chosen.ndim), True) if chosen.ndim else 1


def extreme_forward(tangent: Tensor, self: Tensor, result: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the mean tangent of all elements that equal the result; NaN where it is NaN."""
    chosen = self == restored(result, self.ndim, dim, keepdim)
    if not self.ndim:
        return tangent
    dims = _dims(dim, self.ndim)
    return aten.sum(aten.where(chosen, tangent, 0), dims, keepdim) / aten.sum(chosen, dims, keepdim)


def aminmax_backward(
    grad_min: Tensor | None, grad_max: Tensor | None, self: Tensor, low: Tensor, high: Tensor, dim: Any, keepdim: bool
) -> Tensor | None:
    """Return the gradients of both."""
    of_low = None if grad_min is None else extreme_backward(grad_min, self, low, dim, keepdim)
    of_high = None if grad_max is None else extreme_backward(grad_max, self, high, dim, keepdim)
    return add_gradients(of_low, of_high)


def selected_backward(grad: Tensor, dim: int, indices: Tensor, shape: Sequence[int], keepdim: bool = True) -> Tensor:
    """Return the gradient at the positions that were selected along a dimension."""
    if not keepdim and len(shape):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return aten.scatter(aten.new_zeros(grad, shape), dim, indices, grad)


def selected_forward(tangent: Tensor, dim: int, indices: Tensor, keepdim: bool = True) -> Tensor:
    """Return the tangents at these positions."""
    if keepdim or not tangent.ndim:
        return aten.gather(tangent, dim, indices)
    return aten.gather(tangent, dim, indices.unsqueeze(dim)).squeeze(dim)


def reverse_cumsum(value: Tensor, dim: int) -> Tensor:
    """Return running sums from the end."""
    return aten.flip(aten.cumsum(aten.flip(value, [dim]), dim), [dim]) if value.ndim else value


def cumprod_backward(grad: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    """Return sums of products without one factor each: by division, except where that is the first that is 0.

    Behind that one all products are 0, and without it they are those of the other factors. What is to be differentiated
    again has all products, without a division.
    """
    if not self.ndim:
        return grad
    if opwright.is_grad_enabled():
        return _products_without_one(grad, self, dim)
    is_zero = self == 0
    seen = aten.cumsum(is_zero, dim)
    is_first = is_zero & (seen == 1)
    others = aten.cumprod(aten.where(is_first, 1, self), dim)
    # What is not finite behind a zero does not count: the products there are constant.
    before = aten.where(seen > 0, 0, grad * aten.conj(result))
    by_division = reverse_cumsum(before, dim) / aten.conj(aten.where(is_zero, 1, self))
    at_first = reverse_cumsum(aten.where(seen > 1, 0, grad * aten.conj(others)), dim)
    return aten.where(is_first, at_first, aten.where(seen > 0, 0, by_division))


def _products_without_one(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """Return the gradient of `cumprod` from a row of products for each element, of the factors behind it."""
    factors, grad = aten.movedim(self, dim, -1), aten.movedim(grad, dim, -1)
    size = factors.shape[-1]
    positions = aten.arange(size, device=self.device)
    own = aten.unsqueeze(positions, -1)
    behind = aten.cumprod(aten.where(positions > own, aten.unsqueeze(factors, -2), 1), -1)
    summed = aten.sum(aten.where(positions >= own, aten.unsqueeze(grad, -2) * aten.conj(behind), 0), [-1])
    before = aten.cat([aten.ones_like(factors), factors], -1).narrow(-1, size - 1, size) if size else factors
    before = aten.cumprod(aten.where(positions == 0, 1, before), -1)
    return without_base(aten.movedim(summed * aten.conj(before), -1, dim))


def prod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the gradient times the result over each factor; where any factor is 0, times the product of the others,
    and 0 with several of them, whatever the others are."""
    if not self.ndim:
        return grad
    if dim is not None:
        grad, result = (restored(each, self.ndim, dim, keepdim) for each in (grad, result))
    is_zero = self == 0
    quotient = result / aten.where(is_zero, 1, self)
    slope = aten.where(aten.any(is_zero), product_of_others(self, dim), quotient)
    if dim is None and not opwright.is_grad_enabled():
        slope = aten.where(aten.sum(is_zero) > 1, 0, slope)
    return grad * aten.conj(slope)


def product_of_others(self: Tensor, dim: int | None = None) -> Tensor:
    """Return, for each element, the product of all others (along `dim`), without a division."""
    if not self.ndim:
        return aten.ones_like(self)
    if dim is None:
        return aten.reshape(product_of_others(aten.reshape(self, [-1]), 0), self.shape)
    if not self.shape[dim]:
        return self
    ones = aten.ones_like(aten.narrow(self, dim, 0, 1))
    before = aten.cat([ones, aten.narrow(self, dim, 0, self.shape[dim] - 1)], dim)
    turned = aten.flip(self, [dim])
    behind = aten.cat([ones, aten.narrow(turned, dim, 0, self.shape[dim] - 1)], dim)
    return aten.cumprod(before, dim) * aten.flip(aten.cumprod(behind, dim), [dim])


def logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Return the gradient in the shares that softmax gives."""
    grad, result = (restored(each, self.ndim, dim, keepdim) for each in (grad, result))
    return grad * aten.conj(aten.exp(self - result))


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Return shares of softmax of each prefix, added: in logarithms, of positive and of negative gradients."""
    if not self.ndim:
        return grad

    def part(values: Tensor, has_logarithm: Tensor) -> Tensor:
        logarithms = aten.where(has_logarithm, aten.log(aten.where(has_logarithm, values, 1)), least)
        return aten.exp(aten.flip(aten.logcumsumexp(aten.flip(logarithms - result, [dim]), dim), [dim]) + self)

    least = opwright.finfo(grad.dtype).min
    if as_dtype(self.dtype) in COMPLEX:
        return aten.conj(part(aten.conj(grad), grad != 0))
    return part(grad, grad > 0) - part(-grad, grad < 0)


def norm_backward(
    grad: Tensor, self: Tensor, p: Any, result: Tensor, dim: Any = None, keepdim: bool = False
) -> Tensor | None:
    """Return the gradient of the p-norm, as `norm_slope` does; None for p = 0, where the norm is a count."""
    return None if p == 0 else norm_slope(grad, self, p, result, dim, keepdim)


def norm_slope(grad: Tensor, self: Tensor, p: Any, result: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the gradient of the p-norm; 0 where the norm is 0, or for p < 1 the element."""
    p = 2.0 if p is None else float(p)
    grad, result = (restored(each, self.ndim, dim, keepdim) for each in (grad, result))
    if p == 0.0:
        return aten.zeros_like(self)
    if p == 1.0:
        return aten.sgn(self) * grad
    if p == 2.0:
        return aten.masked_fill(self * (grad / _not_zero(result)), result == 0, 0)
    if math.isinf(p):
        size = aten.abs(self)
        chosen = _is_extreme(size, result)
        return aten.masked_fill(aten.sgn(self) * (grad / _count(chosen, dim)), aten.logical_not(chosen), 0)
    size = aten.abs(self)
    if p < 1.0:
        slope = aten.where(self == 0, 0, aten.sgn(self) * aten.pow(size, p - 1))
        return slope * grad * aten.pow(result, 1 - p)
    slope = aten.sgn(self) * aten.pow(size, p - 1) if p < 2.0 else self * aten.pow(size, p - 2)
    return aten.masked_fill(slope * (grad / aten.pow(_not_zero(result), p - 1)), result == 0, 0)


def _not_zero(divisor: Tensor) -> Tensor:
    """Put 1 for 0: what is divided by it is chosen neither here nor in a further derivative, where it would be NaN."""
    return aten.masked_fill(divisor, divisor == 0, 1)


def renorm_backward(grad: Tensor, self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    """Return the gradient of slices that are scaled down where their norm is larger than `maxnorm`."""
    x, norm, others = _sliced_norm(self, p, dim)
    inverse = aten.reciprocal(norm + 1e-7)
    product = aten.conj(x) * grad
    of_norm = aten.sum(aten.real(product) if as_dtype(product.dtype) in COMPLEX else product, others, True)
    slope = norm_slope(of_norm, x, p, norm, others, True)
    scaled = maxnorm * inverse * (grad - inverse * slope)
    return aten.to(aten.where(norm > maxnorm, scaled, grad), self.dtype)


def renorm_forward(self_t: Tensor, self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    """Return the tangent of slices that are scaled down where their norm is larger than `maxnorm`."""
    x, norm, others = _sliced_norm(self, p, dim)
    inverse = aten.reciprocal(norm + 1e-7)
    product = aten.conj(norm_slope(aten.ones_like(norm), x, p, norm, others, True)) * self_t
    of_norm = aten.sum(aten.real(product) if as_dtype(product.dtype) in COMPLEX else product, others, True)
    scaled = maxnorm * inverse * (self_t - inverse * of_norm * x)
    return aten.to(aten.where(norm > maxnorm, scaled, self_t), self.dtype)


def _sliced_norm(self: Tensor, p: Any, dim: int) -> tuple[Tensor, Tensor, list[int]]:
    """Return the tensor in the dtype that norms are computed in, the norms of its slices, and what is reduced."""
    kept = layouts.wrap_dim(dim, self.ndim)
    others = [each for each in range(self.ndim) if each != kept]
    x = aten.to(self, opmath(as_dtype(self.dtype)))
    return x, aten.linalg_vector_norm(x, p, others, True), others
