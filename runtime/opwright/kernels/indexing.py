"""Reading and writing at positions given by arrays."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from opwright.dtypes import dtype_name

Array = Any
Index = tuple[Any, ...]

_MASKS = frozenset((np.dtype(np.bool_), np.dtype(np.uint8)))
_POSITIONS = frozenset((np.dtype(np.int32), np.dtype(np.int64)))


def take_at(xp: ModuleType, self: Array, indices: Sequence[Array | None]) -> Array:
    """`index`: the elements at the broadcast positions; None takes a dimension whole, a mask the positions where it is true."""
    return _reading(xp, self, as_index(xp, self, indices))


def _reading(xp: ModuleType, self: Array, index: Index) -> Array:
    try:
        return self[index]
    except IndexError as error:
        raise _clearer(error, self, index) from None


def put_at(
    xp: ModuleType, self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False
) -> Array:
    """`index_put_`: writes, or adds, broadcast values at the positions; with `accumulate`, a position named twice gets both."""
    if self.dtype != values.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match,"
            f" got {dtype_name(self.dtype)} for the destination and {dtype_name(values.dtype)} for the source."
        )
    index = as_index(xp, self, indices)
    try:
        if accumulate:
            xp.add.at(self, index, values)
        else:
            self[index] = values
    except IndexError as error:
        raise _clearer(error, self, index) from None
    except ValueError as error:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast: {error}") from None
    return self


def as_index(xp: ModuleType, self: Array, indices: Sequence[Array | None]) -> Index:
    """The index tuple of NumPy for ATen's list: whole slices for None, positions for masks. Raises IndexError where they do not fit."""
    index: list[Any] = []
    for i, each in enumerate(indices):
        if each is None:
            index.append(slice(None))
        elif each.dtype in _MASKS:
            index.extend(_positions_of_mask(self, each, len(index), i))
        elif each.dtype in _POSITIONS:
            index.append(each)
        else:
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, but index {i} is {dtype_name(each.dtype)}")
    if len(index) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim} (got {len(index)})")
    return tuple(index)


def _positions_of_mask(self: Array, mask: Array, dim: int, i: int) -> list[Array]:
    shape = tuple(self.shape[dim : dim + mask.ndim])
    if mask.shape != shape:
        at = next((k for k in range(mask.ndim) if k >= len(shape) or mask.shape[k] != shape[k]), 0)
        raise IndexError(
            f"The shape of the mask {list(mask.shape)} at index {at} does not match"
            f" the shape of the indexed tensor {list(self.shape)} at index {dim + at}"
        )
    return list(mask.nonzero()) if mask.ndim else [mask != 0]


def _clearer(error: IndexError, self: Array, index: Index) -> IndexError:
    for dim, each in enumerate(index):
        if not isinstance(each, slice) and each.size and each.dtype.kind != "b":
            size = self.shape[dim]
            outside = each[(each < -size) | (each >= size)]
            if outside.size:
                return IndexError(f"index {int(outside.ravel()[0])} is out of bounds for dimension {dim} with size {size}")
    shapes = ", ".join(str(list(each.shape)) for each in index if not isinstance(each, slice))
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


def gather(xp: ModuleType, self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    """The elements whose position along `dim` is given by `index`, and along the other dimensions by where it stands."""
    if index.dtype not in _POSITIONS:
        raise RuntimeError(f"gather(): Expected dtype int32/int64 for index, but got {dtype_name(index.dtype)}")
    if not self.ndim or not index.ndim:
        return xp.take(self.reshape(-1), index.reshape(-1)).reshape(index.shape)
    part = self[tuple(slice(None) if i == dim % self.ndim else slice(index.shape[i]) for i in range(self.ndim))]
    size = self.shape[dim]
    if index.size and (int(index.min()) < 0 or int(index.max()) >= size):
        outside = index[(index < 0) | (index >= size)]
        raise RuntimeError(f"index {int(outside.ravel()[0])} is out of bounds for dimension {dim} with size {size}")
    return xp.take_along_axis(part, index, axis=dim)


def fill_where(xp: ModuleType, self: Array, mask: Array, value: Any) -> Array:
    """`masked_fill_`: writes `value` where the mask, broadcast to `self`, is true."""
    if mask.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {dtype_name(mask.dtype)}")
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    xp.copyto(self, xp.asarray(value).astype(self.dtype), where=mask)
    return self


def positions(xp: ModuleType, self: Array) -> Array:
    """`nonzero`: one row per element that is not zero, holding its index along each dimension."""
    return xp.stack(xp.nonzero(self), axis=1) if self.ndim else xp.zeros((int(bool(self)), 0), dtype="int64")
