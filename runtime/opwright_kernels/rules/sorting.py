"""Sorting, order statistics, and bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim
from opwright_core.arrays.dtypes import REDUCED, DType, as_dtype, int32, int64, opmath
from opwright_core.arrays.promotion import result_type
from opwright_core.errors import DispatchError
from opwright_core.plans.operands import NUMBERS, check_accepted, check_number, kept_strides, needs_cast
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.reductions import reduce
from opwright_kernels.reducing.bins import check_grid

_sorted = SpecCache()
_REAL = "bool integer floating"


def sort(self: Along, dim: Dim, *, positions: bool = False) -> Plan:
    """Plan the elements in order along `dim`, or (`positions`) where they stood: the shape of `self`, and its strides
    where it is dense."""
    key = (self.shape, self.strides, self.dtype, dim, positions)
    spec = _sorted.get(key)
    if spec is None:
        layouts.wrap_dim(dim, self.ndim)
        given = as_dtype(self.dtype)
        check_accepted(_REAL, given)
        spec = _sorted.keep(key, TensorSpec(self.shape, kept_strides(self), int64 if positions else given))
    return Plan(spec, (self,))


def topk(self: Along, k: int, dim: Dim, *, positions: bool = False) -> Plan:
    """Plan `k` elements along `dim`, or (`positions`) where they stood; contiguous. Raises RuntimeError for a `k` out
    of range."""
    wrapped = layouts.wrap_dim(dim, self.ndim)
    given = as_dtype(self.dtype)
    check_accepted(_REAL, given)
    if k < 0 or k > (self.shape[wrapped] if self.ndim else 1):
        raise RuntimeError(f"selected index k={k} out of range for dimension {wrapped} of shape {list(self.shape)}")
    shape = (*self.shape[:wrapped], k, *self.shape[wrapped + 1 :]) if self.ndim else ()
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), int64 if positions else given), (self,))


def kthvalue(self: Along, k: int, dim: Dim, keepdim: bool, *, kind: Literal["default", "long"] = "default") -> Plan:
    """Plan one element along `dim`, or (`kind="long"`) where it stood. Raises RuntimeError for a `k` out of range."""
    plan = reduce(self, dim, keepdim, kind=kind, nonempty=True, accepts="integer floating")
    if k < 1 or k > (self.shape[plan.dims[0]] if self.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k={k} out of range for dimension {dim}")
    return plan


def searchsorted(
    sorted_sequence: Any, self: Any, out_int32: bool, right: bool, side: str | None, sorter: Any | None
) -> Plan:
    """Plan positions in rows of `sorted_sequence`, one for each element of `self`: int64 or int32, contiguous.

    Raises RuntimeError where shapes or dtypes do not fit together.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted(): side can only be 'left' or 'right', but got {side!r}")
    if side == "left" and right:
        raise RuntimeError("searchsorted(): side and right contradict each other: 'left' and True")
    if sorter is not None:
        if not layouts.same_shape(sorter.shape, sorted_sequence.shape):
            raise RuntimeError(
                f"searchsorted(): boundaries and sorter must have the same size, but have "
                f"{list(sorted_sequence.shape)} and {list(sorter.shape)}"
            )
        if sorter.dtype != int64:
            raise RuntimeError(f"searchsorted(): sorter must be of dtype int64, but is {sorter.dtype}")
    shape = () if isinstance(self, NUMBERS) else self.shape
    rows = sorted_sequence.shape
    if len(rows) != 1 and (not rows or not shape):
        raise RuntimeError(f"searchsorted(): one value needs boundaries of 1 dimension, but they have {len(rows)}")
    if len(rows) != 1 and not layouts.same_shape(shape[:-1], rows[:-1]):
        raise RuntimeError(
            "searchsorted(): boundaries must have 1 dimension, or those of the values but for the last one; got "
            f"{list(rows)} and {list(shape)}"
        )
    spec = _positions_spec(sorted_sequence, self, shape, out_int32, (sorted_sequence, self, sorter))
    return Plan(spec, (sorted_sequence, self, sorter))


def bucketize(self: Any, boundaries: Any, out_int32: bool) -> Plan:
    """Plan `searchsorted` in boundaries of one dimension, which come second."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries must have 1 dimension, but have {boundaries.ndim}")
    shape = () if isinstance(self, NUMBERS) else self.shape
    spec = _positions_spec(boundaries, self, shape, out_int32, (self, boundaries))
    return Plan(spec, (self, boundaries))


def _positions_spec(
    boundaries: Any, values: Any, shape: layouts.Shape, out_int32: bool, operands: tuple[Any, ...]
) -> TensorSpec:
    """Return positions as a result; boundaries and values are compared in the dtype that they promote to."""
    common = result_type(boundaries, values)
    check_accepted("integer floating", common)
    compute = opmath(common)
    casts = tuple((each is boundaries or each is values) and needs_cast(each, compute) for each in operands)
    result = int32 if out_int32 else int64
    return TensorSpec(shape, layouts.contiguous_strides(shape), result, common, compute, result, casts)


def histc(self: Any, bins: int, low: complex, high: complex) -> Plan:
    """Plan counts in `bins` bins, in the floating-point dtype of `self`; equal bounds stand for the elements' own.

    Raises RuntimeError for bounds that are none.
    """
    given = as_dtype(self.dtype)
    check_accepted("floating", given)
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    for bound in (low, high):
        check_number(bound, given)
    if low != high:
        _check_range(float(low.real), float(high.real))
    return Plan(TensorSpec((bins,), (1,), given), (self,))


def _check_range(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"the range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"max must be larger than min, but they are {high} and {low}")


def histogram(
    self: Any, bins: Any, weight: Any | None, *, bounds: Sequence[float] | None = None, edges: bool = False
) -> Plan:
    """Plan counts in bins, or (`edges`) where these begin and end: `bins` is their number, or their edges.

    Raises RuntimeError where shapes or dtypes do not fit together, and for `bounds` that are none.
    """
    given = as_dtype(self.dtype)
    check_accepted("floating", given)
    if weight is not None and (not layouts.same_shape(weight.shape, self.shape) or weight.dtype != self.dtype):
        raise RuntimeError("histogram(): weight must have the shape and the dtype of the input")
    count = _count_of_bins(bins, given)
    if count <= 0:
        raise RuntimeError(f"histogram(): bins must be > 0, but got {count}")
    if bounds is not None:
        if len(bounds) != 2:
            raise RuntimeError(f"histogram(): range must have 2 elements, but has {len(bounds)}")
        _check_range(*bounds)
    return Plan(TensorSpec((count + 1 if edges else count,), (1,), given), (self, bins, weight))


def _count_of_bins(bins: Any, dtype: DType) -> Any:
    if isinstance(bins, NUMBERS):
        if dtype in REDUCED:
            raise DispatchError(f"not implemented for {dtype}: expected float32 or float64")
        return bins
    if bins.ndim != 1 or bins.dtype != dtype:
        raise RuntimeError("histogram(): edges of bins must have 1 dimension and the dtype of the input")
    return bins.shape[0] - 1


def grid_counts(self: Any, bins: Sequence[Any], weight: Any | None, range: Sequence[float] | None = None) -> Plan:
    """Plan counts in the cells of a grid: `bins` are their numbers along each dimension, or their edges. Raises
    RuntimeError where shapes or dtypes do not fit together, and for a `range` that is none."""
    shape = check_grid(self, bins, weight, range)
    spec = TensorSpec(shape, layouts.contiguous_strides(shape), as_dtype(self.dtype))
    return PlanApart(spec, (self, bins, weight), beside=(self, weight), reads=bins)
