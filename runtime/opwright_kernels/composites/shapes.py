"""Views made of other views. They see Tensors of any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright.metadata.view_layouts import infer_size
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, as_dtype, int64
from opwright_core.arrays.sizes import holds
from opwright_core.rules.dimensions import check_room

Operand = Any  # a Tensor


# Transposes and complex parts


def mT(self: Operand) -> Operand:
    """Swap the last two dimensions; a single number is the result itself. Raises RuntimeError for a vector."""
    if len(self.shape) == 1:
        raise RuntimeError(f"mT: expected a matrix or a batch of matrices, but got a {len(self.shape)}-D tensor")
    return opwright.ops.aten.transpose(self, -2, -1) if self.shape else self


def mH(self: Operand) -> Operand:
    """Conjugate with the last two dimensions swapped, or a single number. Raises RuntimeError for a vector."""
    if len(self.shape) == 1:
        raise RuntimeError(f"mH: expected a matrix or a batch of matrices, but got a {len(self.shape)}-D tensor")
    return adjoint(self)


def adjoint(self: Operand) -> Operand:
    """Return the conjugate transpose of the last two dimensions; of a single number, its conjugate."""
    aten = opwright.ops.aten
    if len(self.shape) == 1:
        raise RuntimeError("adjoint: expected a matrix or a batch of matrices, but got a 1-D tensor")
    return aten.conj(aten.transpose(self, -2, -1) if self.shape else self)


def matrix_H(self: Operand) -> Operand:
    """Return the conjugate transpose of one matrix. Raises RuntimeError unless there are two dimensions, or none."""
    if len(self.shape) not in (0, 2):
        raise RuntimeError(f"tensor.H: expected a matrix, but got a {len(self.shape)}-D tensor; mH serves batches")
    return adjoint(self)


def real(self: Operand) -> Operand:
    """Return the real parts: a view of complex numbers, and real ones as they are."""
    aten = opwright.ops.aten
    return aten.select(aten.view_as_real(self), -1, 0) if as_dtype(self.dtype) in COMPLEX else self


def imag(self: Operand) -> Operand:
    """Return the imaginary parts, as a view. Raises RuntimeError for dtypes without."""
    aten = opwright.ops.aten
    if as_dtype(self.dtype) not in COMPLEX:
        raise RuntimeError(f"imag: expected a complex tensor, but got {self.dtype}")
    return aten.select(aten.view_as_real(self), -1, 1)


# Other dimensions


def ravel(self: Operand) -> Operand:
    """Return the elements in one dimension: a view where they lie in row-major order, else a copy."""
    aten = opwright.ops.aten
    return aten.view(aten.contiguous(self), [-1])


def unflatten(self: Operand, dim: int, sizes: Sequence[int]) -> Operand:
    """Cut one dimension up into several; a size of -1 is what the others leave."""
    shape = list(self.shape)
    dim = layouts.wrap_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: expected at least one size")
    if not shape:
        raise RuntimeError(f"unflatten: dimension {dim} of a 0-dim tensor")
    parts = infer_size(sizes, shape[dim])
    return opwright.ops.aten.view(self, [*shape[:dim], *parts, *shape[dim + 1 :]])


def broadcast_tensors(tensors: Sequence[Operand]) -> list[Operand]:
    """Expand all tensors to the shape that they broadcast to; those that have it stay as they are."""
    shape = layouts.broadcast_shapes([tuple(each.shape) for each in tensors]) if tensors else ()
    return [each if tuple(each.shape) == shape else opwright.ops.aten.expand(each, shape) for each in tensors]


def atleast_1d(self: Operand | list[Operand]) -> Any:
    """Give a single element a dimension; others stay as they are. Of several tensors, do so to each."""
    if isinstance(self, list):
        return [atleast_1d(each) for each in self]
    return self if self.shape else opwright.ops.aten.reshape(self, [1])


def atleast_2d(self: Operand | list[Operand]) -> Any:
    """Give a tensor at least two dimensions: a vector becomes a row. Of several tensors, each."""
    if isinstance(self, list):
        return [atleast_2d(each) for each in self]
    aten = opwright.ops.aten
    match len(self.shape):
        case 0:
            return aten.reshape(self, [1, 1])
        case 1:
            return aten.unsqueeze(self, 0)
    return self


def atleast_3d(self: Operand | list[Operand]) -> Any:
    """Give a tensor at least three dimensions: a vector goes into the middle one, a matrix into the first two. Of
    several tensors, each."""
    if isinstance(self, list):
        return [atleast_3d(each) for each in self]
    aten = opwright.ops.aten
    match len(self.shape):
        case 0:
            return aten.reshape(self, [1, 1, 1])
        case 1:
            return aten.unsqueeze(aten.unsqueeze(self, 0), -1)
        case 2:
            return aten.unsqueeze(self, -1)
    return self


# Parts


def tensor_split(self: Operand, indices_or_sections: Any, dim: int) -> list[Operand]:
    """Return the parts along `dim`, as slices: so many, the first ones larger by one where it does not divide the size,
    or those between the given positions, which may be negative, or beyond the end.

    A 0-dim int64 tensor counts, a 1-d one names positions.
    """
    if not self.shape:
        raise RuntimeError("tensor_split: expected at least one dimension, but got a 0-dim tensor")
    given = indices_or_sections
    if hasattr(given, "shape"):
        given = _as_numbers(given)
    if isinstance(given, list):
        return _slices(self, given, dim)
    size = self.shape[layouts.wrap_dim(dim, len(self.shape))]
    if given <= 0:
        raise RuntimeError(f"tensor_split: the number of sections must be greater than 0, but is {given}")
    check_room(given)
    least, larger = size // given, size % given
    return _slices(self, [least * part + (part if part < larger else larger) for part in range(1, given)], dim)


def _as_numbers(given: Operand) -> Any:
    aten = opwright.ops.aten
    if as_dtype(given.dtype) is not int64:
        raise RuntimeError(f"tensor_split: expected indices or sections of int64, but got {given.dtype}")
    if len(given.shape) > 1:
        raise RuntimeError(f"tensor_split: expected 0-dim or 1-d indices or sections, but got {len(given.shape)}-d")
    return [aten.item(each) for each in aten.unbind(given, 0)] if given.shape else aten.item(given)


def _slices(self: Operand, positions: Sequence[int], dim: int) -> list[Operand]:
    aten = opwright.ops.aten
    size = self.shape[layouts.wrap_dim(dim, len(self.shape))]
    starts, ends = [0, *positions], [*positions, size]
    return [aten.slice(self, dim, start, end, 1) for start, end in zip(starts, ends, strict=True)]


def hsplit(self: Operand, indices_or_sections: int | Sequence[int]) -> list[Operand]:
    """Return so many equal parts by columns, or those between the given positions; of a vector, by elements."""
    return _parts(self, indices_or_sections, 1 if len(self.shape) > 1 else 0, 1, "hsplit")


def vsplit(self: Operand, indices_or_sections: int | Sequence[int]) -> list[Operand]:
    """Return so many equal parts by rows, or those between the given positions."""
    return _parts(self, indices_or_sections, 0, 2, "vsplit")


def dsplit(self: Operand, indices_or_sections: int | Sequence[int]) -> list[Operand]:
    """Return so many equal parts along the third dimension, or those between the given positions."""
    return _parts(self, indices_or_sections, 2, 3, "dsplit")


def _parts(self: Operand, given: int | Sequence[int], dim: int, least: int, name: str) -> list[Operand]:
    if len(self.shape) < least:
        raise RuntimeError(f"{name}: expected at least {least} dimensions, but got {len(self.shape)}")
    if not isinstance(given, list):
        size = self.shape[dim]
        if given == 0 or not holds(size % given == 0):
            raise RuntimeError(f"{name}: dimension {dim} of size {size} has no {given} equal parts")
    return tensor_split(self, given, dim)
