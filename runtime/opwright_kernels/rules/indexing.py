"""Elements at positions that arrays give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Along, Dim
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import as_dtype, bool_, int32, int64, uint8
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import guard_or_false, guard_or_true, holds
from opwright_core.plans.plan import Plan, PlanApart
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.factories import overwritten
from opwright_kernels.rules.scattering import check_index_dtype, check_index_fits

_indexed = SpecCache()
_written = SpecCache()
_selected = SpecCache()
_gathered = SpecCache()


def index(self: Any, indices: Sequence[Any]) -> Plan:
    """Plan the elements at positions (`index.Tensor`): a mask stands for as many arrays of positions as it has
    dimensions, which the kernel gets instead.

    The positions' broadcast shape replaces the indexed dimensions, or comes first where these are not
    neighbours.
    Raises IndexError where masks or positions do not fit.
    """
    key = _key_of(self, indices)
    spec = _indexed.get(key)  # of positions alone: those of a mask are data
    positions = indices
    if spec is None:
        positions = expand_masks(self, indices)
        key = _key_of(self, positions)
        spec = _indexed.get(key)
        spec = _indexed.keep(key, _indexed_spec(self, positions)) if spec is None else spec
    return PlanApart(spec, (self, positions), apart=(self, *[each for each in positions if each is not None]))


def _key_of(self: Any, positions: Sequence[Any]) -> tuple[Any, ...]:
    seen = tuple([None if each is None else (each.shape, each.strides, each.dtype) for each in positions])
    return self.shape, self.strides, self.dtype, seen


def _indexed_shape(self: Any, positions: Sequence[Any]) -> tuple[Shape, tuple[int, int]]:
    """Return the shape of elements at positions, and between which of its dimensions those of the positions stand."""
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
    kept = [dim for dim in range(self.ndim) if dim not in at]
    before, after = [dim for dim in kept if dim < first], [dim for dim in kept if dim >= first]
    shape = (*(self.shape[dim] for dim in before), *found, *(self.shape[dim] for dim in after))
    return shape, (len(before), len(before) + len(found))


def _indexed_spec(self: Any, positions: Sequence[Any]) -> TensorSpec:
    given = [each for each in positions if each is not None]
    shape, (start, end) = _indexed_shape(self, positions)
    found, strides = shape[start:end], element_strides(self)
    kept = [dim for dim in range(self.ndim) if dim >= len(positions) or positions[dim] is None]
    before, after = kept[:start], kept[start:]
    # TensorIterator's view of it: the source repeats along the positions' dimensions, and the positions along all
    # others.
    rows = [(shape, (*(strides[dim] for dim in before), *(0,) * len(found), *(strides[dim] for dim in after)))]
    for each in given:
        steps = _steps_along(found, each)
        # Reshaped to stand beside the other dimensions: the new ones of size 1 get strides too, and those may decide.
        inner = steps[-1] if steps else 1
        outer = next((size * step for size, step in zip(found, steps, strict=True) if guard_or_true(size != 1)), inner)
        sizes = (1,) * len(before) + found + (1,) * len(after)
        rows.append((sizes, (outer,) * len(before) + steps + (inner,) * len(after)))
    return TensorSpec(shape, layouts.pointwise_strides(shape, rows), as_dtype(self.dtype))


def _steps_along(shape: Shape, position: Any) -> Shape:
    missing = len(shape) - position.ndim
    strides: Shape = element_strides(position)
    sizes: Shape = position.shape
    steps = [
        0 if guard_or_false(size == 1) and guard_or_true(shape[missing + dim] != 1) else stride
        for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True))
    ]
    return (*(0,) * missing, *steps)


def put_at(self: Any, *, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Plan:
    """Plan `self` with values written at positions (`index_put`); strides are kept.

    How many positions a mask stands for is data: what depends on it, the kernel checks.
    Raises IndexError where masks or positions do not fit, RuntimeError where the values do not.
    """
    seen = tuple([None if each is None else (each.shape, each.dtype) for each in indices])
    key = (self.shape, self.strides, self.dtype, values.shape, values.dtype, seen, accumulate)
    spec = _written.get(key)
    spec = _written.keep(key, _written_spec(self, indices, values, accumulate)) if spec is None else spec
    given = [each for each in indices if each is not None]
    # One number for masks is read before anything is written.
    is_fill = guard_or_false(layouts.count(values.shape) == 1) and all(each.dtype in (bool_, uint8) for each in given)
    return PlanApart(spec, (self,), apart=given if is_fill else (*given, values), beside=(self,), reads=(values,))


def _written_spec(self: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> TensorSpec:
    if self.dtype != values.dtype and (accumulate or not _is_fill(indices, values)):
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, "
            f"got {self.dtype} for the destination and {values.dtype} for the source."
        )
    if _check_indices(self, indices):
        shape, _ = _indexed_shape(self, indices)
        if values.shape != shape and layouts.broadcast_shapes([shape, values.shape]) != shape:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to {list(shape)}"
            )
    return overwritten(self, may_overlap=True).spec


def _is_fill(indices: Sequence[Any], values: Any) -> bool:
    """Whether one element goes to the positions of one mask: it is cast, as in `masked_fill`."""
    given = [each for each in indices if each is not None]
    return len(given) == 1 and given[0].dtype in (bool_, uint8) and guard_or_false(layouts.count(values.shape) == 1)


def _check_indices(self: Any, indices: Sequence[Any]) -> bool:
    """Whether all are positions, and none a mask. Raises IndexError where they do not fit."""
    dim, has_masks = 0, False
    for position, each in enumerate(indices):
        if each is not None and each.dtype in (bool_, uint8):
            _check_mask(self, each, dim)
            dim, has_masks = dim + each.ndim, True
        elif each is None or each.dtype in (int64, int32):
            dim += 1
        else:
            raise IndexError(
                f"tensors used as indices must be long, int, byte or bool tensors, but index {position} is {each.dtype}"
            )
    if dim > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim} (got {dim})")
    return not has_masks


def first_positions(self: Any, size: int) -> Plan:
    """Plan the positions of so many elements, a row each. Raises RuntimeError for a `size` below 0."""
    if not holds(size >= 0):
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    shape = (size, len(self.shape))
    return Plan(TensorSpec(shape, layouts.contiguous_strides(shape), int64), (self,))


def expand_masks(self: Any, indices: Sequence[Any]) -> list[Any]:
    """Return arrays of positions, one for each indexed dimension, None for those taken whole. Raises IndexError where
    they do not fit."""
    return list(indices) if _check_indices(self, indices) else positions_of(indices)


def positions_of(indices: Sequence[Any]) -> list[Any]:
    """Return the indices, each mask replaced by as many arrays of positions as it has dimensions."""
    found: list[Any] = []
    for each in indices:
        if each is None or each.dtype not in (bool_, uint8):
            found.append(each)
        else:
            found.extend(each.nonzero() if each.ndim else [])
    return found


def _check_mask(self: Any, mask: Any, dim: int) -> None:
    for position, size in enumerate(mask.shape):
        if dim + position >= self.ndim or not holds(self.shape[dim + position] == size):
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {position} does not match "
                f"the shape of the indexed tensor {list(self.shape)} at index {dim + position}"
            )


def index_select(self: Any, dim: int, index: Any) -> Plan:
    """Plan the slices of `dim` that a 1-d index names, in its order; contiguous."""
    key = (self.shape, self.dtype, dim, index.shape, index.dtype)
    spec = _selected.get(key)
    spec = _selected.keep(key, _selected_spec(self, dim, index)) if spec is None else spec
    return PlanApart(spec, (self, index), apart=(self, index))


def _selected_spec(self: Any, dim: int, index: Any) -> TensorSpec:
    dim = layouts.wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (int64, int32):
        raise RuntimeError(f"index_select(): Expected dtype int32 or int64 for index, but got {index.dtype}")
    length = index.shape[0] if index.ndim else 1
    if not self.ndim and not holds(length == 1):
        raise IndexError(f"index_select(): Index to scalar can have only 1 value, got {length} value(s)")
    shape = (*self.shape[:dim], length, *self.shape[dim + 1 :]) if self.ndim else ()
    return TensorSpec(shape, layouts.contiguous_strides(shape), as_dtype(self.dtype))


def gather(self: Along, dim: Dim, index: Along) -> Plan:
    """Plan the elements of `self` that `index` names along `dim`; the shape of the index, contiguous."""
    key = (self.shape, self.dtype, dim, index.shape, index.dtype)
    spec = _gathered.get(key)
    if spec is None:
        dim = layouts.wrap_dim(dim, self.ndim)
        if not layouts.is_empty(index.shape):
            check_index_dtype("gather", index)
            check_index_fits(index, self, "input", dim)
        spec = TensorSpec(index.shape, layouts.contiguous_strides(index.shape), as_dtype(self.dtype))
        _gathered.keep(key, spec)
    return PlanApart(spec, (self, index), apart=(self, index))
