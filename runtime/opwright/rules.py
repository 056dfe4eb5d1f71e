"""The rules of `meta:` formulas: what an operator's result looks like, from its arguments, without computing it.

A rule reads `shape`, `strides`, `dtype` and `ndim` of arrays (NumPy, CuPy) and returns a Plan. Rules follow PyTorch's
CPU kernels; errors carry its wording.
"""

from __future__ import annotations

import functools
import math
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
    checked_scalar,
    depends_on_default,
    get_default_dtype,
    int32,
    int64,
    opmath,
    to_complex,
    to_float,
    to_real,
    uint8,
)
from opwright.errors import DispatchError
from opwright.layouts import Shape
from opwright.metadata import Form, Plan
from opwright.promotion import result_type

_NUMBERS = (int, float, bool, complex)
_MEMO_LIMIT = 4096
_known: dict[Any, Form] = depends_on_default({})


def pointwise(
    *operands: Any,
    kind: str = "default",
    dtype: object = None,
    exact_scalars: bool = False,
    accepts: str | None = None,
    accepts_operands: str | None = None,
    alpha: complex = 1,
) -> Plan:
    """An elementwise operator: operands broadcast and are promoted, and the result has the strides TensorIterator
    gives it.

    `kind` says how the result's dtype follows from the promoted one: `default` (the same), `int_to_float` (integers
    compute in the default dtype), `bool` (a comparison), `no_opmath` (half and bfloat16 are not computed in float32),
    `complex_to_float` (`abs`), `bool_to_long`. `dtype` replaces the promoted dtype. `exact_scalars`: 0-dim operands
    and numbers are not rounded to half first (`mul`, `div`). `accepts` lists what the promoted dtype may be (words of
    `bool integer floating complex`), `accepts_operands` what every operand's may be; `alpha` is a factor that must
    fit the promoted dtype. Operands may be arrays, numbers or None.
    Raises RuntimeError where sizes or dtypes do not fit together, DispatchError for a dtype that is not accepted.
    """
    key: list[Any] = [kind, dtype, exact_scalars, accepts, accepts_operands]
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
        form = _pointwise_form(operands, kind, dtype)
        _check_accepted(accepts, form.common)
        if accepts_operands is not None:
            _check_accepted(accepts_operands, *(result_type(operand) for operand in operands if operand is not None))
        if len(_known) >= _MEMO_LIMIT:
            _known.clear()
        _known[found] = form
    if alpha != 1 or alpha is True:
        _check_alpha(alpha, form.common)
    plan = Plan(form, operands)
    plan.pointwise = True
    plan.exact_scalars = exact_scalars
    return plan


def _pointwise_form(operands: Sequence[Any], kind: str, dtype: object) -> Form:
    given = [operand for operand in operands if operand is not None]
    common = result_type(*given) if dtype is None else as_dtype(dtype)
    if kind == "int_to_float":
        common = to_float(common)
    compute = common if kind == "no_opmath" else opmath(common)
    produces, result = _result_dtypes(kind, common, compute)
    shapes = [() if isinstance(operand, _NUMBERS) else operand.shape for operand in given]
    shape = layouts.broadcast_shapes(shapes)
    _check_devices(given)
    strides = layouts.pointwise_strides(shape, [_extent(operand, common) for operand in given])
    casts = tuple(operand is not None and _needs_cast(operand, compute) for operand in operands)
    return Form(shape, strides, result, common, compute, produces, casts if any(casts) else ())


def _check_accepted(accepts: str | None, *found: DType) -> None:
    for dtype in found:
        if accepts is not None and _category(dtype) not in accepts.split():
            raise DispatchError(
                f"not implemented for {dtype}: expected a dtype of these kinds: {', '.join(accepts.split())}"
            )


def _category(dtype: DType) -> str:
    if dtype in FLOATING:
        return "floating"
    return "complex" if dtype in COMPLEX else "bool" if dtype is bool_ else "integer"


def _check_alpha(alpha: complex, common: DType) -> None:
    if isinstance(alpha, bool) and common is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and common not in FLOATING and common not in COMPLEX:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and common not in COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    checked_scalar(alpha, common)


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
    """A result of the shape of `self`, as `empty_like` makes it: dense inputs keep their strides, others
    TensorIterator's order.

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
    _check_accepted(accepts, common)
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


@functools.lru_cache(maxsize=256)
def _core_dimensions(signature: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    inputs, _, output = signature.replace(" ", "").partition("->")
    groups = tuple(tuple(name for name in group.split(",") if name) for group in inputs.strip("()").split("),("))
    return groups, tuple(name for name in output.strip("()").split(",") if name)


def gufunc(
    signature: str, *operands: Any, dtype: object = None, accepts: str | None = None, batched: bool = True
) -> Plan:
    """An operator on the last dimensions, named in `signature` as NumPy does (`"(m,k),(k,n)->(m,n)"`); the ones
    before broadcast.

    Operands must have one dtype; the result is contiguous. `accepts` lists the kinds of dtypes that are served, as
    for `pointwise`; without `batched` there are no dimensions before the named ones. Raises RuntimeError naming the
    sizes that do not fit, or the dtypes.
    """
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
    _check_accepted(accepts, common)
    shape = layouts.broadcast_shapes(batches) + tuple(sizes[name] for name in output)
    result = common if dtype is None else as_dtype(dtype)
    compute = opmath(common)
    casts = tuple(operand.dtype is not compute for operand in operands)
    form = Form(shape, layouts.contiguous_strides(shape), result, common, compute, None, casts if any(casts) else ())
    return Plan(form, operands)


def cat(tensors: Sequence[Any], dim: int = 0) -> Plan:
    """Arrays joined along `dim`: promoted together; all shapes but that size are equal. 1-d empty arrays are skipped,
    as in PyTorch."""
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
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(tensor.shape)} at entry {place}"
            )
    dim = layouts.wrap_dim(dim, len(shape) + 1)
    joined = (*shape[:dim], len(tensors), *shape[dim:])
    common = result_type(*tensors)
    casts = tuple(tensor.dtype is not common for tensor in tensors)
    form = Form(joined, layouts.contiguous_strides(joined), common, casts=casts if any(casts) else ())
    return Plan(form, tensors, dims=(dim,))


# Rules of single operators


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


def where(condition: Any, self: Any, other: Any) -> Plan:
    """A choice between two operands, which are promoted together; the condition is bool or uint8."""
    if condition.dtype not in (bool_, uint8):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    common = result_type(self, other)
    operands = (condition, self, other)
    extents = [_extent(condition, condition.dtype), _extent(self, common), _extent(other, common)]
    shape = layouts.broadcast_shapes([sizes for sizes, _ in extents])
    _check_devices([operand for operand in operands if not isinstance(operand, _NUMBERS)])
    casts = (condition.dtype == uint8, _needs_cast(self, common), _needs_cast(other, common))
    chosen = condition != 0 if casts[0] else condition
    form = Form(
        shape, layouts.pointwise_strides(shape, extents), common, casts=(False, *casts[1:]) if any(casts) else ()
    )
    plan = Plan(form, (chosen, self, other))
    plan.pointwise = True
    return plan


def _extent(operand: Any, common: DType) -> tuple[Shape, Shape]:
    """Shape and strides of an operand, after the cast to the promoted dtype that PyTorch makes first."""
    if isinstance(operand, _NUMBERS):
        return (), ()
    return operand.shape, element_strides(operand) if operand.dtype == common else like(operand).strides


def masked(self: Any, mask: Any) -> Plan:
    """`self`, broadcast with a mask, as a new contiguous array (`masked_fill`)."""
    shape = layouts.broadcast_shapes([self.shape, mask.shape])
    plan = Plan(Form(shape, layouts.contiguous_strides(shape), as_dtype(self.dtype)), (self, mask))
    plan.pointwise = True
    return plan


def index(self: Any, indices: Sequence[Any]) -> Plan:
    """The elements at positions (`index.Tensor`): a mask stands for as many arrays of positions as it has dimensions,
    which the kernel gets in its place.

    The positions' broadcast shape takes the place of the indexed dimensions, or comes first where these are not
    neighbours.
    Raises IndexError where masks or positions do not fit.
    """
    positions = expand_masks(self, indices)
    given = [each for each in positions if each is not None]
    try:
        found = layouts.broadcast_shapes([each.shape for each in given]) if given else ()
    except RuntimeError:
        shapes = ", ".join(str(list(each.shape)) for each in given)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    at = [dim for dim, each in enumerate(positions) if each is not None]
    adjacent = not at or at[-1] - at[0] == len(at) - 1
    first = at[0] if at and adjacent else 0
    strides = element_strides(self)
    kept = [dim for dim in range(self.ndim) if dim not in at]
    before, after = [dim for dim in kept if dim < first], [dim for dim in kept if dim >= first]
    shape = (*(self.shape[dim] for dim in before), *found, *(self.shape[dim] for dim in after))
    # TensorIterator's view of it: the source repeats along the positions' dimensions, and the positions along all
    # others.
    rows = [(shape, (*(strides[dim] for dim in before), *(0,) * len(found), *(strides[dim] for dim in after)))]
    for each in given:
        steps = _steps_along(found, each)
        # Reshaped to stand beside the other dimensions: the new ones of size 1 get strides too, and those may decide.
        inner = steps[-1] if steps else 1
        outer = next((size * step for size, step in zip(found, steps, strict=True) if size != 1), inner)
        sizes = (1,) * len(before) + found + (1,) * len(after)
        rows.append((sizes, (outer,) * len(before) + steps + (inner,) * len(after)))
    return Plan(Form(shape, layouts.pointwise_strides(shape, rows), as_dtype(self.dtype)), (self, positions))


def _steps_along(shape: Shape, position: Any) -> Shape:
    missing = len(shape) - position.ndim
    strides: Shape = element_strides(position)
    sizes: Shape = position.shape
    steps = [
        0 if size == 1 and shape[missing + dim] != 1 else stride
        for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True))
    ]
    return (*(0,) * missing, *steps)


def expand_masks(self: Any, indices: Sequence[Any]) -> list[Any]:
    """Arrays of positions, one for each indexed dimension, None for those taken whole. Raises IndexError where they
    do not fit."""
    found: list[Any] = []
    for place, each in enumerate(indices):
        if each is None or each.dtype in (int64, int32):
            found.append(each)
        elif each.dtype in (bool_, uint8):
            _check_mask(self, each, len(found))
            found.extend(each.nonzero() if each.ndim else [])
        else:
            raise IndexError(
                f"tensors used as indices must be long, int, byte or bool tensors, but index {place} is {each.dtype}"
            )
    if len(found) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim} (got {len(found)})")
    return found


def _check_mask(self: Any, mask: Any, dim: int) -> None:
    for place, size in enumerate(mask.shape):
        if dim + place >= self.ndim or self.shape[dim + place] != size:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {place} does not match "
                f"the shape of the indexed tensor {list(self.shape)} at index {dim + place}"
            )


def index_select(self: Any, dim: int, index: Any) -> Plan:
    """The slices of `dim` that a 1-d index names, in its order; contiguous."""
    dim = layouts.wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (int64, int32):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, but got {index.dtype}")
    length = index.shape[0] if index.ndim else 1
    if not self.ndim and length != 1:
        raise IndexError(f"index_select(): Index to scalar can have only 1 value, got {length} value(s)")
    shape = (*self.shape[:dim], length, *self.shape[dim + 1 :]) if self.ndim else ()
    return Plan(Form(shape, layouts.contiguous_strides(shape), as_dtype(self.dtype)), (self, index))


def gather(self: Any, dim: int, index: Any) -> Plan:
    """The elements of `self` that `index` names along `dim`; the shape of the index, contiguous."""
    dim = layouts.wrap_dim(dim, self.ndim)
    if index.dtype not in (int64, int32):
        raise RuntimeError(f"gather(): Expected dtype int32/int64 for index, but got {index.dtype}")
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for each, (have, want) in enumerate(zip(self.shape, index.shape, strict=False)):
        if each != dim and want > have:
            raise RuntimeError(
                f"Size does not match at dimension {each} expected index {list(index.shape)} to be no larger than "
                f"self {list(self.shape)} apart from dimension {dim}"
            )
    return Plan(Form(index.shape, layouts.contiguous_strides(index.shape), as_dtype(self.dtype)), (self, index))


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


def normalized(self: Any, dim: int, half_to_float: bool = False) -> Plan:
    """`self` normalised along `dim` (`softmax`): same shape, floating-point only."""
    dims = layouts.wrap_dims(dim, self.ndim)
    given = as_dtype(self.dtype)
    _check_accepted("floating", given)
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    compute = opmath(given)
    casts = (True,) if given is not compute else ()
    return Plan(
        Form(self.shape, layouts.contiguous_strides(self.shape), given, given, compute, compute, casts),
        (self,),
        dims=dims,
    )


def layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any) -> Plan:
    """`input` normalised over its last dimensions: same shape and dtype, contiguous. Raises RuntimeError where shapes
    do not fit."""
    last = tuple(normalized_shape)
    if not last:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != last:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(each.shape)} "
                f"and normalized_shape = {list(last)}"
            )
    if input.ndim < len(last) or input.shape[input.ndim - len(last) :] != last:
        raise RuntimeError(
            f"Given normalized_shape={list(last)}, expected input with shape [*, {', '.join(map(str, last))}], "
            f"but got input of size{list(input.shape)}"
        )
    given = as_dtype(input.dtype)
    _check_accepted("floating", given)
    compute = opmath(given)
    operands = (input, weight, bias)
    casts = tuple(each is not None and each.dtype is not compute for each in operands)
    form = Form(input.shape, layouts.contiguous_strides(input.shape), given, given, compute, compute, casts)
    return Plan(form, operands)


def layer_norm_statistics(input: Any, normalized_shape: Sequence[int], weight: Any = None) -> Plan:
    """The mean, or the reciprocal deviation, of each normalised part of `input`; in the dtype of the weight, where
    there is one."""
    split = input.ndim - len(normalized_shape)
    shape = (*input.shape[:split], *(1,) * len(normalized_shape))
    kept = as_dtype((input if weight is None else weight).dtype)
    return Plan(Form(shape, layouts.contiguous_strides(shape), kept), (input,))


def overwritten(self: Any, *, accepts: str | None = None, memory_format: object = None) -> Plan:
    """A result like `self` that does not depend on it elementwise, or that the kernel begins with: written in place
    as it is (`fill`)."""
    plan = like(self, memory_format=memory_format)
    _check_accepted(accepts, plan.dtype)
    plan.pointwise = True
    return plan


def power_to_number(self: Any, exponent: Any) -> Plan:
    """`self ** number`. Raises RuntimeError for an integer to a negative power."""
    plan = pointwise(self, exponent)
    if plan.dtype not in FLOATING and plan.dtype not in COMPLEX and exponent.real < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return plan


def power_of_number(self: Any, exponent: Any) -> Plan:
    """`number ** exponent`; contiguous."""
    plan = pointwise(self, exponent, accepts="integer floating complex")
    form = plan.form
    shape, casts = form.shape, form.casts
    strides = layouts.contiguous_strides(shape)
    return Plan(Form(shape, strides, form.dtype, form.common, form.compute, form.produces, casts), (self, exponent))


def full(size: Sequence[int], fill_value: complex, *, dtype: object = None, device: object = None) -> Plan:
    """A new array of one value; its dtype is the value's, floats in the default dtype, unless told otherwise."""
    if dtype is None:
        dtype = result_type(fill_value)
    return empty(size, dtype=dtype, device=device)


def arange(start: complex, end: complex, step: complex, *, dtype: object = None, device: object = None) -> Plan:
    """The numbers from `start` to below `end`: int64 if all are integers, else the default dtype.

    Raises RuntimeError for a zero step, one that leads away from `end`, and for numbers that are not real.
    """
    numbers = (start, end, step)
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("arange: expected real numbers for start, end and step")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end < start) if step > 0 else (end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    is_integral = all(isinstance(each, int) for each in numbers)
    if dtype is None and is_integral:
        dtype = int64
    length = int(-((start - end) // step)) if is_integral else math.ceil((end - start) / step)
    plan = empty([length], dtype=dtype, device=device)
    _check_accepted("integer floating", plan.dtype)
    return plan


def linspace(start: complex, end: complex, steps: int, *, dtype: object = None, device: object = None) -> Plan:
    """`steps` numbers: the default dtype, complex if an end is, unless told otherwise."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = to_complex(get_default_dtype())
    plan = empty([steps], dtype=dtype, device=device)
    _check_accepted("integer floating complex", plan.dtype)
    return plan


def eye(n: int, m: int, *, dtype: object = None, device: object = None) -> Plan:
    """An n × m matrix. Raises RuntimeError for a negative size."""
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return empty([n, m], dtype=dtype, device=device)
