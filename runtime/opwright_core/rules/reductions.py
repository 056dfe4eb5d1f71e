"""Reductions and running reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim, Dims, DtypeKinds, EmptyIsAll
from opwright_core.arrays.dtypes import (
    COMPLEX,
    INEXACT,
    DType,
    as_dtype,
    bool_,
    int64,
    opmath,
    to_float,
    to_real,
    uint8,
)
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.promotion import promote
from opwright_core.arrays.sizes import guard_or_false
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.dimensions import wrap_dims

_reductions = SpecCache()
_scans = SpecCache()


def reduce(
    self: Along,
    dim: Dim | Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
    compute_dtype: object = None,
    kind: Literal["default", "int_to_long", "int_to_float", "float_only", "bool", "truth", "long", "real"] = "default",
    accepts: DtypeKinds | None = None,
    nonempty: bool = False,
    empty_is_all: EmptyIsAll = True,
    combines: bool | Literal["sum", "max", "min"] = False,
) -> Plan:
    """Plan a reduction over `dim` (all dimensions for None and `()`); the result is contiguous, `plan.dims` are the
    dimensions.

    `kind`: `default` (the input's dtype), `int_to_long` (`sum`: bool and integers become int64), `int_to_float`,
    `float_only` (`mean`: anything else is an error), `bool`, `truth` (`any`: bool, but uint8 for uint8), `long`
    (`argmax`), `real` (`norm`). Half and bfloat16 accumulate in float32. `dtype` and `compute_dtype` are those of
    `pointwise`: what the result, and what the operand is converted to (`sum`'s own `dtype` is the latter). `accepts`
    lists the kinds of dtypes that are handled, as for `pointwise`; `nonempty`: a reduced dimension must have elements
    (`amax`); without `empty_is_all`, `()` reduces nothing; `combines`: the result of results of parts is that of the
    whole, as of sums, so that Dask may reduce by parts; `sum`, `max`, `min` say what else puts them together. Raises
    IndexError for a dimension out of range, RuntimeError for one named twice and for a dtype that does not fit.
    """
    over = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    key = (self.shape, self.dtype, over, keepdim, dtype, compute_dtype, kind, accepts, nonempty, empty_is_all)
    spec = _reductions.get(key)
    if spec is None:
        spec = _reduced_spec(
            self.shape, as_dtype(self.dtype), over, keepdim, compute_dtype, kind, nonempty, empty_is_all
        )
        check_accepted(accepts, spec.common)
        spec = _reductions.keep(key, spec if dtype is None else spec.converted(as_dtype(dtype)))
    return Plan(spec, (self,))


def _reduced_spec(
    sizes: Shape,
    given: DType,
    dim: int | Sequence[int] | None,
    keepdim: bool,
    compute_dtype: object,
    kind: str,
    nonempty: bool,
    empty_is_all: bool,
) -> TensorSpec:
    dims = () if dim == () and not empty_is_all else wrap_dims(dim, len(sizes))
    if nonempty:
        _check_nonempty(sizes, dim, dims, kind)
    if keepdim:
        shape = tuple(1 if position in dims else size for position, size in enumerate(sizes))
    else:
        shape = tuple(size for position, size in enumerate(sizes) if position not in dims)
    common = _reduced_dtype(kind, given) if compute_dtype is None else as_dtype(compute_dtype)
    if kind == "float_only" and common not in INEXACT:
        raise RuntimeError(
            "could not infer output dtype: it must be either a floating point or complex dtype. "
            f"Got: {common}; dtype='float32' says which"
        )
    truth = uint8 if given is uint8 else bool_
    result = {"bool": bool_, "truth": truth, "long": int64, "real": to_real(common)}.get(kind, common)
    compute = opmath(common)
    produces = {"bool": bool_, "truth": bool_, "long": int64, "real": to_real(compute)}.get(kind, compute)
    strides = layouts.contiguous_strides(shape)
    casts = (given is not compute,)
    return TensorSpec(shape, strides, result, common, compute, produces, casts, dims=dims, exact_scalars=True)


def _check_nonempty(shape: Shape, dim: int | Sequence[int] | None, dims: Shape, kind: str) -> None:
    if not layouts.is_empty(shape):
        return
    if dim is None or (not isinstance(dim, int) and not dim):
        error = IndexError if kind == "long" else RuntimeError
        raise error(
            "Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for each in dims:
        if guard_or_false(shape[each] == 0):
            raise IndexError(f"Expected reduction dim {each} to have non-zero size.")


def _reduced_dtype(kind: str, given: DType) -> DType:
    match kind:
        case "default" | "bool" | "truth" | "long" | "real" | "float_only":
            return given
        case "int_to_long":
            return given if given in INEXACT else int64
        case "int_to_float":
            return to_float(given)
    raise ValueError(f"{kind!r} is no kind of reduction")


def scan(
    self: Along,
    dim: Dim,
    *,
    dtype: object = None,
    compute_dtype: object = None,
    kind: str = "int_to_long",
    accepts: DtypeKinds | None = None,
) -> Plan:
    """Plan a running reduction along `dim` (`cumsum`): the shape of `self`, contiguous.

    `dtype`, `compute_dtype`, `kind` and `accepts` are those of `reduce`.
    """
    key = (self.shape, self.dtype, dim, dtype, compute_dtype, kind, accepts)
    spec = _scans.get(key)
    if spec is None:
        dims = wrap_dims(dim, self.ndim)
        given = as_dtype(self.dtype)
        common = _reduced_dtype(kind, given) if compute_dtype is None else as_dtype(compute_dtype)
        check_accepted(accepts, common)
        compute = opmath(common)
        result, produces = (int64, int64) if kind == "long" else (common, compute)
        strides = layouts.contiguous_strides(self.shape)
        casts = (given is not compute,)
        spec = TensorSpec(self.shape, strides, result, common, compute, produces, casts, dims=dims)
        spec = _scans.keep(key, spec if dtype is None else spec.converted(as_dtype(dtype)))
    return Plan(spec, (self,))


def norm(
    self: Along,
    ord: complex | None = None,
    dim: Dim | Dims | None = None,
    keepdim: bool = False,
    *,
    compute_dtype: object = None,
) -> Plan:
    """Plan a vector norm over `dim`: the real dtype of `self`, or of `compute_dtype`, which must hold it.

    Raises RuntimeError for integers, for a dtype that does not fit, and where an order without an identity (negative
    or infinite) meets no elements.
    """
    given = as_dtype(self.dtype)
    if given not in INEXACT:
        raise RuntimeError(f"a norm is taken of floating point or complex tensors, but this one is {given}")
    if compute_dtype is not None:
        _check_norm_dtype(given, as_dtype(compute_dtype))
    plan = reduce(self, dim, keepdim, compute_dtype=compute_dtype, kind="real")
    # Both orders are the same at every number of elements but none, so the memo of `reduce` need not know them.
    if isinstance(ord, (int, float)) and (ord < 0 or ord == float("inf")) and layouts.is_empty(self.shape):
        over = dim if isinstance(dim, int) or dim else None
        if over is None or any(guard_or_false(self.shape[each] == 0) for each in plan.dims):
            raise RuntimeError(f"the norm of order {ord} of no elements is not defined: it has no identity")
    return plan


def _check_norm_dtype(given: DType, dtype: DType) -> None:
    if dtype not in INEXACT:
        raise RuntimeError(f"the dtype of a norm must be floating point or complex, not {dtype}")
    if (dtype in COMPLEX) != (given in COMPLEX):
        kind = "complex" if given in COMPLEX else "real"
        raise RuntimeError(f"the dtype of a norm of {given} must be {kind}, not {dtype}")
    if promote(given, dtype) is not dtype:
        raise RuntimeError(f"the dtype of a norm must hold its input: {dtype} is narrower than {given}")
