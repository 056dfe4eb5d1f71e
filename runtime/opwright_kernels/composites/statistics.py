"""Statistics that are made of other operators: they see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from operator import truediv
from typing import Any

import opwright
from opwright.metadata.view_layouts import without_base
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, INEXACT, INTEGRAL, as_dtype, bool_, float32, float64
from opwright_core.arrays.sizes import guard_or_false, guard_or_true, holds
from opwright_core.plans.operands import NUMBERS

Operand = Any  # a Tensor


def nanmean(self: Operand, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Operand:
    """Return the sum over `dim` divided by the number of elements, NaN left out of both."""
    given = as_dtype(self.dtype)
    if given not in INEXACT:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {given}")
    aten = opwright.ops.aten
    numbers = aten.sum(aten.logical_not(aten.isnan(self)), dim, keepdim)
    return aten.div(aten.nansum(self, dim, keepdim, dtype=dtype), numbers)


def frobenius_norm(self: Operand, dim: Sequence[int], keepdim: bool) -> Operand:
    """Return the root of the sum of squares over one or two dimensions."""
    if len(dim) > 2:
        raise RuntimeError(f"frobenius_norm takes at most 2 dimensions, but got {len(dim)}")
    return opwright.ops.aten.linalg_vector_norm(self, 2, dim, keepdim)


# Covariances


def cov(self: Operand, correction: int, fweights: Operand | None, aweights: Operand | None) -> Operand:
    """Return the covariances of the rows of a matrix, whose columns are observations: how often each was made, or how
    much each counts, are weights. Raises RuntimeError for weights that do not fit, that are negative, or sum to 0."""
    aten = opwright.ops.aten
    if len(self.shape) > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {len(self.shape)} dimensions"
        )
    if as_dtype(self.dtype) is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self if len(self.shape) == 2 else aten.reshape(self, [1, -1])
    count = rows.shape[1]
    weights = _weights(rows, fweights, aweights)
    if layouts.is_empty(rows.shape):
        total, mean = count, aten.mean(aten.to(rows, opwright.result_type(rows, 1.0)), 1)
    elif weights is None:
        total = count
        mean = aten.div(aten.sum(rows, 1), count)
    else:
        total = aten.sum(weights)
        aten._assert_async(aten.ne(total, 0), "cov(): weights sum to zero, can't be normalized")
        mean = aten.div(aten.sum(aten.mul(rows, weights), 1), total)
    if weights is None:
        norm = max(total - correction, 0)
    elif aweights is not None and correction:
        squares = aten.mul(weights, aweights)
        norm = aten.sub(total, aten.div(aten.mul(aten.sum(squares), correction), total))
    else:
        norm = aten.sub(total, correction)
    if weights is not None:
        norm = aten.clamp(norm, min=0)
    centred = aten.sub(rows, aten.unsqueeze(mean, 1))
    weighted = centred if weights is None else aten.mul(centred, weights)
    found = aten.div(aten.mm(centred, aten.conj(aten.t(weighted))), norm)
    return aten.squeeze(found)


def _weights(rows: Operand, fweights: Operand | None, aweights: Operand | None) -> Operand | None:
    """Return the product of both weights."""
    aten = opwright.ops.aten
    for name, kind, accepted, given in (
        ("fweights", "integral", INTEGRAL, fweights),
        ("aweights", "floating point", FLOATING, aweights),
    ):
        if given is None:
            continue
        if len(given.shape) > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(given.shape)} "
                "dimensions"
            )
        if as_dtype(given.dtype) not in accepted:
            raise RuntimeError(
                f"cov(): expected {name} to have {kind} dtype but got {name} with {as_dtype(given.dtype)} dtype"
            )
        if not holds(given.numel() == rows.shape[1]):
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{given.numel()} != {rows.shape[1]}"
            )
        aten._assert_async(aten.all(aten.ge(given, 0)), f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return aten.mul(fweights, aweights)


def corrcoef(self: Operand) -> Operand:
    """Return the correlation coefficients of the rows of a matrix, between -1 and 1."""
    aten = opwright.ops.aten
    if len(self.shape) > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{len(self.shape)} dimensions"
        )
    found = aten.cov(self)
    if not found.shape:  # of one row: 1, or NaN
        return aten.div(found, found)
    deviations = aten.sqrt(aten.diagonal(found))
    if as_dtype(found.dtype) in COMPLEX:
        deviations = aten.real(deviations)
    found = aten.div(aten.div(found, aten.unsqueeze(deviations, 1)), aten.unsqueeze(deviations, 0))
    if as_dtype(found.dtype) in COMPLEX:
        return aten.complex(aten.clip(aten.real(found), -1, 1), aten.clip(aten.imag(found), -1, 1))
    return aten.clip(found, -1, 1)


# Histograms over several dimensions


def histogramdd(
    self: Operand, bins: Sequence[Any], range: Sequence[float] | None, weight: Operand | None, density: bool
) -> tuple[Operand, list[Operand]]:
    """Return how many rows fall in each cell of a grid, and the grid's edges: `bins` are these, or how many equal
    parts each dimension has."""
    aten = opwright.ops.aten
    if bins and not isinstance(bins[0], int):
        counts = aten._histogramdd_from_bin_tensors(self, bins, weight=weight, density=density)
        return counts, [aten.clone(each) for each in bins]
    edges = aten._histogramdd_bin_edges(self, bins, range=range, weight=weight, density=density)
    return aten._histogramdd_from_bin_cts(self, bins, range=range, weight=weight, density=density), list(edges)


# Differences and sums of neighbours


def diff(self: Operand, n: int, dim: int, prepend: Operand | None, append: Operand | None) -> Operand:
    """Return the `n`-th differences of neighbours along `dim`, of `self` between what is put before and after it."""
    aten = opwright.ops.aten
    if not self.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = layouts.wrap_dim(dim, len(self.shape))
    given = [each for each in (prepend, self, append) if each is not None]
    for each in given:
        if len(each.shape) != len(self.shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    joined = aten.cat(given, dim) if len(given) > 1 else self
    if not n:
        return aten.clone(self)  # without what is put around it, as PyTorch has it
    for _ in range(n):
        if guard_or_false(joined.shape[dim] == 0):
            break
        joined = _between_neighbours(aten.logical_xor if as_dtype(self.dtype) is bool_ else aten.sub, joined, dim)
    return joined


def _between_neighbours(combine: Any, self: Operand, dim: int) -> Operand:
    aten = opwright.ops.aten
    return combine(aten.slice(self, dim, 1), aten.slice(self, dim, 0, -1))


def trapezoid(y: Operand, x: Operand | float, dim: int) -> Operand:
    """Return the integral along `dim` of `y`, sampled at the positions `x`, or so far apart, by the trapezoidal
    rule."""
    aten = opwright.ops.aten
    dim = layouts.wrap_dim(dim, len(y.shape))  # counted in `y`, which may have fewer dimensions than `x`
    if guard_or_false(y.shape[dim] == 0):
        shape = list(y.shape)
        del shape[dim]
        return aten.new_zeros(y, shape)
    _check_integrable(y, x)
    if isinstance(x, NUMBERS):
        ends = aten.add(aten.select(y, dim, 0), aten.select(y, dim, -1))
        return aten.mul(aten.sub(aten.sum(y, dim), aten.mul(ends, 0.5)), x)
    return aten.div(aten.sum(_areas(y, x, dim), dim), 2.0)


def cumulative_trapezoid(y: Operand, x: Operand | float, dim: int) -> Operand:
    """Return the integrals along `dim` of `y`, as `trapezoid` takes them, up to each sample but the first."""
    aten = opwright.ops.aten
    dim = layouts.wrap_dim(dim, len(y.shape))
    _check_integrable(y, x)
    if isinstance(x, NUMBERS):
        return aten.cumsum(aten.mul(_between_neighbours(aten.add, y, dim), truediv(x, 2.0)), dim)
    return aten.div(aten.cumsum(_areas(y, x, dim), dim), 2.0)


def _check_integrable(y: Operand, x: Operand | float) -> None:
    if as_dtype(y.dtype) is bool_ or (not isinstance(x, NUMBERS) and as_dtype(x.dtype) is bool_):
        raise RuntimeError("trapezoid: received a bool input, but bool is not supported")
    if isinstance(x, bool | complex):
        raise RuntimeError("trapezoid: dx must be a real number")


def _areas(y: Operand, x: Operand, dim: int) -> Operand:
    """Return twice the areas between neighbouring samples."""
    aten = opwright.ops.aten
    return aten.mul(_between_neighbours(aten.add, y, dim), _steps(y, x, dim))


def _steps(y: Operand, x: Operand, dim: int) -> Operand:
    aten = opwright.ops.aten
    if len(x.shape) == 1:
        if not holds(x.shape[0] == y.shape[dim]):
            raise RuntimeError("trapezoid: there must be one `x` value for each sample point")
        x = aten.reshape(x, [-1] + [1] * (len(y.shape) - 1 - dim))
    shape = [1] * (len(y.shape) - len(x.shape)) + list(x.shape)
    return _between_neighbours(aten.sub, aten.reshape(x, shape), dim)


# Quantiles


def quantile(self: Operand, q: Operand | float, dim: int | None, keepdim: bool, interpolation: str) -> Operand:
    """Return the elements below which the fraction `q` of those along `dim` is; one for each of several `q`, in a
    dimension put first."""
    return _quantile(self, q, dim, keepdim, interpolation, ignore_nan=False)


def nanquantile(self: Operand, q: Operand | float, dim: int | None, keepdim: bool, interpolation: str) -> Operand:
    """Return `quantile` of the elements that are not NaN."""
    return _quantile(self, q, dim, keepdim, interpolation, ignore_nan=True)


def _fraction(self: Operand, q: float) -> Operand:
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
    return opwright.ops.aten.new_full(self, [], q)


def _quantile(
    self: Operand, q: Operand | float, dim: int | None, keepdim: bool, interpolation: str, *, ignore_nan: bool
) -> Operand:
    aten = opwright.ops.aten
    q = _fraction(self, q) if isinstance(q, float) else q
    _check_quantile(self, q, interpolation)
    flat = dim is None or not self.shape
    axis = 0 if dim is None else layouts.wrap_dim(dim, len(self.shape))
    rows = aten.reshape(self, [-1]) if flat else aten.movedim(self, axis, -1)
    ordered = aten.sort(rows)[0]
    # One column for each `q`, which then comes first.
    found = _at_ranks(ordered, _ranks(ordered, q, ignore_nan), interpolation)
    if keepdim:
        found = aten.reshape(found, [*[1] * len(self.shape), -1]) if flat else aten.unsqueeze(found, axis)
    return without_base(aten.movedim(found, -1, 0) if q.shape else aten.squeeze(found, -1))


def _check_quantile(self: Operand, q: Operand, interpolation: str) -> None:
    aten = opwright.ops.aten
    dtype = as_dtype(self.dtype)
    if layouts.is_empty(self.shape):
        raise RuntimeError("quantile() input tensor must be non-empty")
    if len(q.shape) > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if dtype not in (float32, float64):
        raise RuntimeError(f"quantile() input tensor must be either float or double dtype, but is {dtype}")
    if as_dtype(q.dtype) is not dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    in_range = aten.all(aten.logical_and(aten.ge(q, 0), aten.le(q, 1)))
    aten._assert_async(in_range, "quantile() q values must be in the range [0, 1]")


def _ranks(ordered: Operand, q: Operand, ignore_nan: bool) -> Operand:
    """Return the position of each `q` in each row, between elements: the last, a NaN, where there is one that
    counts."""
    aten = opwright.ops.aten
    last = ordered.shape[-1] - 1
    fractions = aten.reshape(q, [-1])
    is_nan = aten.isnan(ordered)
    if ignore_nan:
        numbers = aten.sum(aten.logical_not(is_nan), -1, True)
        return aten.clamp(aten.mul(fractions, aten.sub(numbers, 1)), 0)
    return aten.masked_fill(aten.mul(fractions, last), aten.any(is_nan, -1, True), last)


def _at_ranks(ordered: Operand, ranks: Operand, interpolation: str) -> Operand:
    aten = opwright.ops.aten
    match interpolation:
        case "lower":
            ranks = aten.floor(ranks)
        case "higher":
            ranks = aten.ceil(ranks)
        case "nearest":
            ranks = aten.round(ranks)
    if len(ranks.shape) < len(ordered.shape):
        ranks = aten.expand(ranks, [*ordered.shape[:-1], ranks.shape[-1]])
    below = aten.to(ranks, opwright.int64)
    lower = aten.gather(ordered, -1, below)
    if interpolation not in ("linear", "midpoint"):
        return lower
    upper = aten.gather(ordered, -1, aten.to(aten.ceil(ranks), opwright.int64))
    return aten.lerp(lower, upper, 0.5 if interpolation == "midpoint" else aten.sub(ranks, below))


def sum_to_size(self: Operand, size: Sequence[int]) -> Operand:
    """Return the sums over the dimensions that broadcasting from `size` would have repeated."""
    aten = opwright.ops.aten
    shape, missing = self.shape, len(self.shape) - len(size)
    pairs = list(zip(size, shape[max(missing, 0) :], strict=False))
    if missing < 0 or not all(guard_or_false(want == 1) or holds(want == have) for want, have in pairs):
        raise RuntimeError(f"size {list(size)} is not expandable to size {list(shape)}")
    repeated = [
        missing + axis
        for axis, (want, have) in enumerate(pairs)
        if guard_or_false(want == 1) and guard_or_true(have != 1)
    ]
    if repeated:
        self = aten.sum(self, repeated, True)
    return aten.sum(self, list(range(missing))) if missing else self
