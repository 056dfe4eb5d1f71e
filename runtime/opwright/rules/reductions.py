"""Reductions and running reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright import layouts
from opwright.dtypes import COMPLEX, FLOATING, DType, as_dtype, bool_, int64, opmath, to_float, to_real, uint8
from opwright.layouts import Shape
from opwright.metadata import Form, Plan
from opwright.operands import check_accepted


def reduce(
    self: Any,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
    kind: str = "default",
    accepts: str | None = None,
    nonempty: bool = False,
    empty_is_all: bool = True,
) -> Plan:
    """A reduction over `dim` (all dimensions for None and `()`); the result is contiguous, `plan.dims` are the
    dimensions.

    `kind`: `default` (the input's dtype), `int_to_long` (`sum`: bool and integers become int64), `int_to_float`,
    `float_only` (`mean`: anything else is an error), `bool`, `truth` (`any`: bool, but uint8 for uint8), `long`
    (`argmax`), `real` (`norm`). Half and bfloat16 accumulate in float32. `accepts` lists the kinds of dtypes that are
    served, as for `pointwise`; `nonempty`: a reduced dimension must have elements (`amax`); without `empty_is_all`,
    `()` reduces nothing. Raises IndexError for a dimension out of range, RuntimeError for one named twice and for a
    dtype that does not fit.
    """
    is_listed = not (dim is None or isinstance(dim, int))
    dims = () if is_listed and not dim and not empty_is_all else layouts.wrap_dims(dim, self.ndim)
    if nonempty:
        _check_nonempty(self.shape, dim, dims, kind)
    if keepdim:
        shape = tuple(1 if place in dims else size for place, size in enumerate(self.shape))
    else:
        shape = tuple(size for place, size in enumerate(self.shape) if place not in dims)
    given = as_dtype(self.dtype)
    common = _reduced_dtype(kind, given) if dtype is None else as_dtype(dtype)
    check_accepted(accepts, common)
    if kind == "float_only" and common not in FLOATING and common not in COMPLEX:
        raise RuntimeError(
            f"could not infer output dtype: it must be either a floating point or complex dtype. Got: {common}"
        )
    truth = uint8 if given is uint8 else bool_
    result = {"bool": bool_, "truth": truth, "long": int64, "real": to_real(common)}.get(kind, common)
    compute = opmath(common)
    produces = {"bool": bool_, "truth": bool_, "long": int64, "real": to_real(compute)}.get(kind, compute)
    casts = (True,) if given is not compute else ()
    form = Form(shape, layouts.contiguous_strides(shape), result, common, compute, produces, casts)
    plan = Plan(form, (self,), dims=dims)
    plan.exact_scalars = True
    return plan


def _check_nonempty(shape: Shape, dim: int | Sequence[int] | None, dims: Shape, kind: str) -> None:
    if 0 not in shape:
        return
    if dim is None or (not isinstance(dim, int) and not dim):
        error = IndexError if kind == "long" else RuntimeError
        raise error(
            "Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for each in dims:
        if shape[each] == 0:
            raise IndexError(f"Expected reduction dim {each} to have non-zero size.")


def _reduced_dtype(kind: str, given: DType) -> DType:
    match kind:
        case "default" | "bool" | "truth" | "long" | "real" | "float_only":
            return given
        case "int_to_long":
            return given if given in FLOATING or given in COMPLEX else int64
        case "int_to_float":
            return to_float(given)
    raise ValueError(f"{kind!r} is no kind of reduction")


def scan(self: Any, dim: int, *, dtype: object = None) -> Plan:
    """A running reduction along `dim` (`cumsum`): the shape of `self`; bool and integers become int64 unless `dtype`
    says otherwise."""
    dims = layouts.wrap_dims(dim, self.ndim)
    given = as_dtype(self.dtype)
    common = _reduced_dtype("int_to_long", given) if dtype is None else as_dtype(dtype)
    compute = opmath(common)
    form = Form(
        self.shape,
        layouts.contiguous_strides(self.shape),
        common,
        common,
        compute,
        compute,
        (True,) if given is not compute else (),
    )
    return Plan(form, (self,), dims=dims)
