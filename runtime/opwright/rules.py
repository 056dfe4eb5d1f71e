"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's CPU
kernels; errors carry its wording.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright import layouts
from opwright.devices import as_device, element_strides
from opwright.dtypes import (
    COMPLEX,
    FLOATING,
    DType,
    as_dtype,
    bool_,
    depends_on_default,
    get_default_dtype,
    int64,
    opmath,
    to_float,
    to_real,
)
from opwright.layouts import Shape
from opwright.metadata import Form, Plan
from opwright.promotion import result_type

_NUMBERS = (int, float, bool, complex)
_MEMO_LIMIT = 4096
_known: dict[Any, Form] = depends_on_default({})


def pointwise(*operands: Any, kind: str = "default", dtype: object = None, exact_scalars: bool = False) -> Plan:
    """An elementwise operator: operands broadcast and are promoted, and the result has the strides TensorIterator gives it.

    `kind` says how the result's dtype follows from the promoted one: `default` (the same), `int_to_float` (integers compute in
    the default dtype), `bool` (a comparison), `no_opmath` (half and bfloat16 are not computed in float32), `complex_to_float`
    (`abs`), `bool_to_long`. `dtype` replaces the promoted dtype. `exact_scalars`: 0-dim operands and numbers are not rounded to half
    first (`mul`, `div`). Operands may be arrays, numbers or None. Raises RuntimeError where sizes or dtypes do not fit together.
    """
    key: list[Any] = [kind, dtype, exact_scalars]
    for operand in operands:
        cls = type(operand)
        key.append(cls)
        if cls is np.ndarray:
            key.append(operand.shape)
            key.append(operand.strides)
            key.append(operand.dtype)
        elif cls is int:
            key.append(operand < 2**63)
        elif operand is not None and cls not in _NUMBERS:
            key += (operand.shape, operand.strides, operand.dtype)
    found = tuple(key)
    form = _known.get(found)
    if form is None:
        form = _pointwise_form(operands, kind, dtype, exact_scalars)
        if len(_known) >= _MEMO_LIMIT:
            _known.clear()
        _known[found] = form
    plan = Plan(form, operands)
    plan.pointwise = True
    plan.exact_scalars = exact_scalars
    return plan


def _pointwise_form(operands: Sequence[Any], kind: str, dtype: object, exact_scalars: bool) -> Form:
    given = [operand for operand in operands if operand is not None]
    common = result_type(*given) if dtype is None else as_dtype(dtype)
    if kind == "int_to_float":
        common = to_float(common)
    compute = common if kind == "no_opmath" else opmath(common)
    produces, result = _result_dtypes(kind, common, compute)
    shapes = [() if isinstance(operand, _NUMBERS) else operand.shape for operand in given]
    shape = layouts.broadcast_shapes(shapes)
    _check_devices(given)
    strides = layouts.pointwise_strides(
        shape, [((), ()) if isinstance(operand, _NUMBERS) else (operand.shape, element_strides(operand)) for operand in given]
    )
    casts = tuple(operand is not None and _needs_cast(operand, compute) for operand in operands)
    return Form(shape, strides, result, common, compute, produces, casts if any(casts) else ())


def _result_dtypes(kind: str, common: DType, compute: DType) -> tuple[DType, DType]:
    match kind:
        case "default" | "int_to_float" | "no_opmath":
            return compute, common
        case "bool":
            return bool_, bool_
        case "complex_to_float":
            return to_real(compute), to_real(common)
        case "bool_to_long":
            return (int64, int64) if common is bool_ else (compute, common)
    raise ValueError(f"{kind!r} is no kind of pointwise operator")


def _needs_cast(operand: Any, compute: DType) -> bool:
    return isinstance(operand, _NUMBERS) or operand.dtype != compute or operand.dtype is not compute


def _check_devices(operands: Sequence[Any]) -> None:
    kinds = {type(operand) for operand in operands if hasattr(operand, "strides") and operand.ndim}
    if len(kinds) > 1 and not all(issubclass(kind, np.ndarray) for kind in kinds):
        names = sorted("cpu" if issubclass(kind, np.ndarray) else "cuda" for kind in kinds)
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {' and '.join(names)}!"
        )


def like(self: Any, *, dtype: object = None, memory_format: object = None) -> Plan:
    """A result of the shape of `self`, as `empty_like` makes it: dense inputs keep their strides, others TensorIterator's order.

    `memory_format`: None or `preserve_format`, `contiguous_format`, `channels_last`, `channels_last_3d`.
    """
    strides = element_strides(self)
    chosen = _memory_format(memory_format)
    if chosen not in (None, "preserve_format"):
        strides = _formatted_strides(self.shape, chosen)
    elif not layouts.is_dense(self.shape, strides) or any(stride < 0 for stride in strides):
        strides = layouts.pointwise_strides(self.shape, [(self.shape, strides)])
    kept = as_dtype(self.dtype)
    result = kept if dtype is None else as_dtype(dtype)
    return Plan(Form(self.shape, strides, result), (self,))


def empty(
    size: int | Sequence[int],
    *,
    dtype: object = None,
    device: object = None,
    memory_format: object = None,
    stride: Sequence[int] | None = None,
) -> Plan:
    """A new array of this size: the default dtype, the CPU and row-major strides unless told otherwise.

    Raises RuntimeError for a negative size.
    """
    shape = (size,) if isinstance(size, int) else tuple(size)
    for length in shape:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(shape)}")
    strides = _formatted_strides(shape, _memory_format(memory_format)) if stride is None else tuple(stride)
    result = get_default_dtype() if dtype is None else as_dtype(dtype)
    return Plan(Form(shape, strides, result), device=as_device("cpu" if device is None else device))


def _memory_format(chosen: object) -> str | None:
    return None if chosen is None else str(getattr(chosen, "name", chosen)).removeprefix("torch.")


def _formatted_strides(shape: Shape, chosen: str | None) -> Shape:
    ranks = {"channels_last": 4, "channels_last_3d": 5}
    if chosen in ranks:
        if len(shape) != ranks[chosen]:
            raise RuntimeError(f"required rank {ranks[chosen]} tensor to use {chosen} format")
        return layouts.channels_last_strides(shape)
    if chosen not in (None, "contiguous_format"):
        raise RuntimeError(f"unsupported memory format option {chosen}")
    return layouts.contiguous_strides(shape)


def reduce(
    self: Any, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: object = None, kind: str = "default"
) -> Plan:
    """A reduction over `dim` (all dimensions for None and `()`); the result is contiguous, `plan.dims` are the dimensions.

    `kind`: `default` (the input's dtype), `int_to_long` (`sum`: bool and integers become int64), `int_to_float`, `float_only`
    (`mean`: anything else is an error), `bool`, `long` (`argmax`), `real` (`norm`). Half and bfloat16 accumulate in float32. Raises IndexError for a dimension out of
    range, RuntimeError for one named twice and for a dtype that does not fit.
    """
    dims = layouts.wrap_dims(dim, self.ndim)
    if keepdim:
        shape = tuple(1 if place in dims else size for place, size in enumerate(self.shape))
    else:
        shape = tuple(size for place, size in enumerate(self.shape) if place not in dims)
    given = as_dtype(self.dtype)
    common = _reduced_dtype(kind, given) if dtype is None else as_dtype(dtype)
    if kind == "float_only" and common not in FLOATING and common not in COMPLEX:
        raise RuntimeError(f"could not infer output dtype: it must be either a floating point or complex dtype. Got: {common}")
    result = {"bool": bool_, "long": int64, "real": to_real(common)}.get(kind, common)
    compute = opmath(common)
    produces = {"bool": bool_, "long": int64, "real": to_real(compute)}.get(kind, compute)
    casts = (True,) if given is not compute else ()
    form = Form(shape, layouts.contiguous_strides(shape), result, common, compute, produces, casts)
    plan = Plan(form, (self,), dims=dims)
    plan.exact_scalars = True
    return plan


def _reduced_dtype(kind: str, given: DType) -> DType:
    match kind:
        case "default" | "bool" | "long" | "real" | "float_only":
            return given
        case "int_to_long":
            return given if given in FLOATING or given in COMPLEX else int64
        case "int_to_float":
            return to_float(given)
    raise ValueError(f"{kind!r} is no kind of reduction")


@functools.lru_cache(maxsize=256)
def _core_dimensions(signature: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    inputs, _, output = signature.replace(" ", "").partition("->")
    groups = tuple(tuple(name for name in group.split(",") if name) for group in inputs.strip("()").split("),("))
    return groups, tuple(name for name in output.strip("()").split(",") if name)


def gufunc(signature: str, *operands: Any, dtype: object = None) -> Plan:
    """An operator on the last dimensions, named in `signature` as NumPy does (`"(m,k),(k,n)->(m,n)"`); the ones before broadcast.

    Operands must have one dtype; the result is contiguous. Raises RuntimeError naming the sizes that do not fit, or the dtypes.
    """
    groups, output = _core_dimensions(signature)
    sizes: dict[str, int] = {}
    batches = []
    for place, (names, operand) in enumerate(zip(groups, operands, strict=True)):
        if operand.ndim < len(names):
            raise RuntimeError(f"argument {place} must have at least {len(names)} dimensions, but has {operand.ndim}")
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
    form = Form(shape, layouts.contiguous_strides(shape), result, common, compute, None, casts if any(casts) else ())
    return Plan(form, operands)


def cat(tensors: Sequence[Any], dim: int = 0) -> Plan:
    """Arrays joined along `dim`: promoted together; all shapes but that size are equal. 1-d empty arrays are skipped, as in PyTorch."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    joined = [tensor for tensor in tensors if tensor.shape != (0,)] or list(tensors)
    for place, tensor in enumerate(tensors):
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    first = joined[0]
    dim = layouts.wrap_dim(dim, first.ndim)
    for tensor in joined[1:]:
        _check_joinable(first, tensor, dim, next(place for place, other in enumerate(tensors) if other is tensor))
    shape = (*first.shape[:dim], sum(tensor.shape[dim] for tensor in joined), *first.shape[dim + 1 :])
    common = result_type(*tensors)
    channels_last = len(shape) == 4 and all(
        layouts.is_channels_last(tensor.shape, element_strides(tensor))
        and not layouts.is_contiguous(tensor.shape, element_strides(tensor))
        for tensor in joined
    )
    strides = layouts.channels_last_strides(shape) if channels_last else layouts.contiguous_strides(shape)
    casts = tuple(tensor.dtype is not common for tensor in tensors)
    return Plan(Form(shape, strides, common, casts=casts if any(casts) else ()), tensors, dims=(dim,))


def _check_joinable(first: Any, tensor: Any, dim: int, place: int) -> None:
    if tensor.ndim != first.ndim:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}")
    for axis, (want, have) in enumerate(zip(first.shape, tensor.shape, strict=True)):
        if axis != dim and want != have:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. "
                f"Expected size {want} but got size {have} for tensor number {place} in the list."
            )


def stack(tensors: Sequence[Any], dim: int = 0) -> Plan:
    """Arrays of one shape joined along a new dimension. Raises RuntimeError naming the first that differs."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    for place, tensor in enumerate(tensors):
        if tensor.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(tensor.shape)} at entry {place}"
            )
    dim = layouts.wrap_dim(dim, len(shape) + 1)
    joined = (*shape[:dim], len(tensors), *shape[dim:])
    common = result_type(*tensors)
    casts = tuple(tensor.dtype is not common for tensor in tensors)
    form = Form(joined, layouts.contiguous_strides(joined), common, casts=casts if any(casts) else ())
    return Plan(form, tensors, dims=(dim,))
