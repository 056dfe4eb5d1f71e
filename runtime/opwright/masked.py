"""Reductions and normalisations of the elements that a mask has, by the names that `torch.masked` has.

`mask` broadcasts to the input's shape; None: all elements are there. A reduction of nothing is that of an empty
tensor: 0 of `sum`, 1 of `prod`, an infinity of `amax`, NaN of `mean`. Results have the input's dtype unless `dtype`
says another; sums and products of whole numbers are int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import opwright
from opwright.facade import missing_from
from opwright.metadata.dtype_limits import iinfo
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, INEXACT, INTEGRAL, DType, as_dtype, bool_, float32, int64, to_real
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the sum over `dim` of the elements that `mask` has."""
    return opwright.sum(_filled(input, mask, 0), _axes(dim, input), keepdim, dtype=_widened(input, dtype))


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the product over `dim` of the elements that `mask` has."""
    result = _filled(input, mask, 1).to(_widened(input, dtype))
    for each in reversed(_axes(dim, input)):
        result = opwright.prod(result, each, keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return running sums along `dim`, to which what `mask` leaves out adds nothing."""
    wanted = _kept(input, dtype)
    return opwright.cumsum(_filled(input, mask, 0), _axes(dim, input)[0], dtype=wanted).to(wanted)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return running products along `dim`, in which what `mask` leaves out counts as 1."""
    wanted = _kept(input, dtype)
    return opwright.cumprod(_filled(input, mask, 1), _axes(dim, input)[0], dtype=wanted).to(wanted)


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the maximum over `dim` of the elements that `mask` has."""
    return opwright.amax(_filled(input, mask, _lowest(input)), _axes(dim, input), keepdim).to(_kept(input, dtype))


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the minimum over `dim` of the elements that `mask` has."""
    return opwright.amin(_filled(input, mask, _highest(input)), _axes(dim, input), keepdim).to(_kept(input, dtype))


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return where the maximum of the elements that `mask` has is, as a number of the input's dtype."""
    return opwright.argmax(_filled(input, mask, _lowest(input)), dim, keepdim).to(_kept(input, dtype))


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return where the minimum of the elements that `mask` has is, as a number of the input's dtype."""
    return opwright.argmin(_filled(input, mask, _highest(input)), dim, keepdim).to(_kept(input, dtype))


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the mean over `dim` of the elements that `mask` has.

    Raises ValueError for a dtype of whole numbers.
    """
    wanted = _kept(input, dtype)
    if wanted not in INEXACT:
        raise ValueError(f"mean: expected a floating-point or complex dtype, but got {wanted}; pass dtype=")
    return sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask) / _number(input, dim, keepdim, mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the median along `dim` of the elements that `mask` has, the lower of two.

    Raises ValueError where `mask` has none of a row of whole numbers.
    """
    wanted = _kept(input, dtype)
    is_real = as_dtype(input.dtype) in INEXACT
    found = opwright.nanmedian(
        _filled(input if is_real else input.to(float32), mask, nan), _axes(dim, input)[0], keepdim
    ).values
    if is_real:
        return found
    if bool(opwright.isnan(found).any()):
        raise ValueError("median: the mask leaves a row without elements, which whole numbers have no median for")
    return found.to(wanted)


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the logarithm of the sum over `dim` of the exponentials of the elements that `mask` has."""
    found = opwright.logsumexp(_filled(input, mask, _lowest(input)), _axes(dim, input), keepdim)
    return found.to(_kept(input, dtype))


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return log(exp(input) + exp(other)), where each counts if its mask has it."""
    first, second = _filled(input, input_mask, -inf), _filled(other, other_mask, -inf)
    return opwright.logaddexp(first, second).to(_kept(input, dtype))


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the norm over `dim` of the elements that `mask` has."""
    order = 2.0 if ord is None else ord
    filled = _filled(input, mask, inf if order == -inf else 0)
    return opwright.linalg.vector_norm(filled, order, _axes(dim, input), keepdim, dtype=_kept(input, dtype))


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variance over `dim` of the elements that `mask` has: sums of squares are divided by their number less
    `correction`, 1 unless `unbiased` is False.

    Raises RuntimeError if both are given.
    """
    if unbiased is not None and correction is not None:
        raise RuntimeError("var: only one of unbiased and correction may be given")
    less = correction if correction is not None else float(unbiased is not False)
    given = as_dtype(input.dtype)
    wanted = as_dtype(dtype) if dtype is not None else given if given in INEXACT else float32
    compute = wanted if wanted in INEXACT else float32
    whole = _number(input, dim, True, mask)
    away = input - sum(input, dim, keepdim=True, dtype=wanted, mask=mask) / whole
    squares = away * away.conj() if compute in COMPLEX else away * away
    total = sum(squares, dim, keepdim=keepdim, dtype=compute, mask=mask)
    number = whole.reshape(total.shape)
    if less:
        number = opwright.clamp(number.to(to_real(compute)) - less, min=0)
    return (total / number).to(wanted)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the root of `var`."""
    return opwright.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the exponentials along `dim` divided by their sum; 0 where `mask` has nothing."""
    return opwright.softmax(_filled(input, mask, _lowest(input)), dim, dtype=_kept(input, dtype))


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of `softmax`."""
    return opwright.log_softmax(_filled(input, mask, _lowest(input)), dim, dtype=_kept(input, dtype))


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the softmax of the negated elements."""
    return opwright.softmax(-_filled(input, mask, _highest(input)), dim, dtype=_kept(input, dtype))


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the elements divided by their norm along `dim`, which is held above `eps`; 0 where `mask` has nothing."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return opwright.div(_filled(input, mask, 0), opwright.clamp(length, min=eps))


def _filled(input: Tensor, mask: Tensor | None, value: complex) -> Tensor:
    """Return the input with `value` where the mask has nothing."""
    if mask is None:
        return input
    return opwright.where(_shaped(input, mask), input, opwright.full([], value, dtype=input.dtype, device=input.device))


def _shaped(input: Tensor, mask: Tensor) -> Tensor:
    """Return the mask in the input's shape.

    Raises IndexError for a mask of more dimensions.
    """
    if mask.ndim > input.ndim:
        raise IndexError(f"a mask of {mask.ndim} dimensions does not fit an input of {input.ndim}")
    return opwright.broadcast_to(mask, input.shape).to(bool_)


def _number(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    """Return how many elements each result is made of."""
    there = opwright.ones(input.shape, dtype=bool_, device=input.device) if mask is None else _shaped(input, mask)
    return opwright.sum(there, _axes(dim, input), keepdim)


def _axes(dim: Dims, input: Tensor) -> list[int]:
    """Return the dimensions in order, all for None and `()`."""
    listed = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    wrapped = [layouts.wrap_dim(each, input.ndim) for each in listed]
    for each in wrapped:
        if wrapped.count(each) > 1:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
    return sorted(wrapped) if wrapped else list(range(input.ndim))


def _kept(input: Tensor, dtype: Any) -> DType:
    return as_dtype(input.dtype if dtype is None else dtype)


def _widened(input: Tensor, dtype: Any) -> DType:
    given = _kept(input, dtype)
    return int64 if dtype is None and (given in INTEGRAL or given == bool_) else given


def _lowest(input: Tensor) -> complex:
    given = as_dtype(input.dtype)
    return -inf if given in INEXACT else int(iinfo(given).min)


def _highest(input: Tensor) -> complex:
    given = as_dtype(input.dtype)
    return inf if given in INEXACT else int(iinfo(given).max)


__getattr__ = missing_from(__name__, __all__)
