"""Operators on the last dimensions: products of matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from opwright import layouts
from opwright.annotations import CoreDimensions, DtypeKinds
from opwright.dtypes import as_dtype, opmath
from opwright.metadata import Form, Forms, Plan
from opwright.operands import check_accepted

_known = Forms()


def gufunc(
    signature: CoreDimensions,
    *operands: Any,
    dtype: object = None,
    accepts: DtypeKinds | None = None,
    batched: bool = True,
) -> Plan:
    """An operator on the last dimensions, named in `signature` as NumPy does (`"(m,k),(k,n)->(m,n)"`); the ones
    before broadcast.

    Operands must have one dtype; the result is contiguous. `accepts` lists the kinds of dtypes that are served, as
    for `pointwise`; without `batched` there are no dimensions before the named ones. Raises RuntimeError naming the
    sizes that do not fit, or the dtypes.
    """
    key = (signature, tuple([(operand.shape, operand.dtype) for operand in operands]), dtype, accepts, batched)
    form = _known.get(key)
    if form is None:
        form = _gufunc_form(signature, operands, dtype, batched)
        check_accepted(accepts, form.common)
        _known.keep(key, form)
    return Plan(form, operands)


def _gufunc_form(signature: str, operands: Sequence[Any], dtype: object, batched: bool) -> Form:
    groups, output = _core_dimensions(signature)
    sizes: dict[str, int] = {}
    batches = []
    for place, (names, operand) in enumerate(zip(groups, operands, strict=True)):
        if operand.ndim < len(names) or (not batched and operand.ndim > len(names)):
            least = "at least " if batched else ""
            raise RuntimeError(f"argument {place} must have {least}{len(names)} dimensions, but has {operand.ndim}")
        split = operand.ndim - len(names)
        batches.append(operand.shape[:split])
        for name, size in zip(names, operand.shape[split:], strict=True):
            if sizes.setdefault(name, size) != size:
                shapes = " and ".join("x".join(map(str, each.shape)) for each in operands)
                raise RuntimeError(f"shapes {shapes} do not fit {signature}: {name} is {sizes[name]} and {size}")
    common = as_dtype(operands[0].dtype)
    for operand in operands[1:]:
        if operand.dtype != common:
            raise RuntimeError(f"expected operands of one dtype, but got: {common} != {operand.dtype}")
    shape = layouts.broadcast_shapes(batches) + tuple(sizes[name] for name in output)
    result = common if dtype is None else as_dtype(dtype)
    compute = opmath(common)
    casts = tuple(operand.dtype is not compute for operand in operands)
    return Form(shape, layouts.contiguous_strides(shape), result, common, compute, None, casts)


@functools.lru_cache(maxsize=256)
def _core_dimensions(signature: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    inputs, _, output = signature.replace(" ", "").partition("->")
    groups = tuple(tuple(name for name in group.split(",") if name) for group in inputs.strip("()").split("),("))
    return groups, tuple(name for name in output.strip("()").split(",") if name)


def addmm(self: Any, mat1: Any, mat2: Any) -> Plan:
    """A matrix product plus `self`, which broadcasts to it."""
    product = gufunc("(m,k),(k,n)->(m,n)", mat1, mat2, accepts="integer floating complex", batched=False)
    if self.dtype != mat1.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {self.dtype} and {mat2.dtype}")
    if layouts.broadcast_shapes([self.shape, product.shape]) != product.shape:
        raise RuntimeError(
            f"The expanded size of the tensor {list(product.shape)} must match the existing size {list(self.shape)}"
        )
    form = product.form
    casts = (self.dtype is not form.compute,) * 3
    return Plan(Form(form.shape, form.strides, form.dtype, form.common, form.compute, None, casts), (self, mat1, mat2))
