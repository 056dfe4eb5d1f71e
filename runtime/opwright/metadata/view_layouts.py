"""Arithmetic of views: sizes that are left to infer, and strides that show memory in another shape.

Sizes may be symbolic: Note [Undecided comparisons] in `layouts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from opwright.symbolic.questions import larger
from opwright_core.arrays.devices import Array
from opwright_core.arrays.layouts import (
    Shape,
    contiguous_strides,
    count,
    is_contiguous,
    may_overlap_itself,
    span,
    surely_empty,
)
from opwright_core.arrays.overlap import may_share
from opwright_core.arrays.sizes import check, from_front, holds, shown, shown_shape, smaller
from opwright_core.arrays.storage import Storage, set_array, storage_of, strided_view
from opwright_core.core import TensorBase
from opwright_core.keys import VIEW
from opwright_core.tensors.tensor import Tensor

UNDECIDED_IS_FALSE = True
_Tensor = TypeVar("_Tensor", bound=TensorBase)
_PLAIN = frozenset((int, type(None)))


def infer_size(size: Sequence[int], elements: int) -> Shape:
    """Return `size` with its one -1 replaced by what is left. Raises RuntimeError where it does not fit the number of
    elements."""
    shape = tuple(size)
    known, unknown = 1, -1
    for i, each in enumerate(shape):
        if each == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif each < 0:
            raise RuntimeError(f"invalid shape dimension {shown(each)} at index {i} of shape {shown_shape(shape)}")
        else:
            known *= each
    if unknown < 0:
        fits = known == elements
        if not fits:
            check(fits, lambda: f"shape '{shown_shape(shape)}' is invalid for input of size {elements}")
        return shape
    if known == 0:
        if elements == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)}"
                " because the unspecified dimension size -1 can be any value and is ambiguous"
            )
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {elements}")
    fits = elements % known == 0
    if not fits:
        check(fits, lambda: f"shape '{shown_shape(shape)}' is invalid for input of size {elements}")
    return (*shape[:unknown], elements // known, *shape[unknown + 1 :])


def slice_bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Return where a slice of a dimension begins and ends, both held within it."""
    if type(size) is int and type(start) in _PLAIN and type(end) in _PLAIN:
        first, last, _ = slice(start, end).indices(size)
        return first, last if last > first else first
    first = 0 if start is None else _held(start, 0, size)
    return first, size if end is None else _held(end, first, size)


def _held(index: int, low: int, size: int) -> int:
    held: int = larger(low, smaller(from_front(index, size), size))
    return held


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """Return the number of elements on a diagonal of a matrix."""
    if offset >= 0:
        columns -= offset
    else:
        rows += offset
    length: int = larger(smaller(columns, rows), 0)
    return length


def view_strides(shape: Shape, strides: Sequence[int], new: Shape, itemsize: int) -> Shape | None:
    """Return the strides that show memory of `shape` and `strides` as `new`, or None where no strides do. Same rule as
    PyTorch's `view`."""
    if count(shape) == 0:
        return tuple(strides) if shape == new else tuple([step * itemsize for step in contiguous_strides(new)])
    result = [0] * len(new)
    target = len(new) - 1
    # Runs of old dimensions that are contiguous among themselves are cut up anew, from the last one on.
    run_stride = strides[-1] if shape else itemsize
    old_elements, new_elements = 1, 1
    for i in range(len(shape) - 1, -1, -1):
        old_elements *= shape[i]
        if i and (shape[i - 1] == 1 or strides[i - 1] == old_elements * run_stride):
            continue
        while target >= 0 and (new_elements < old_elements or new[target] == 1):
            result[target] = new_elements * run_stride
            new_elements *= new[target]
            target -= 1
        if new_elements == old_elements:
            if i == 0:
                break
            run_stride = strides[i - 1]
            old_elements, new_elements = 1, 1
        else:
            return _view_of_packed(shape, strides, new, itemsize)
    if not shape:
        result = [itemsize] * len(new)
        target = -1
    return tuple(result) if target < 0 else _view_of_packed(shape, strides, new, itemsize)


def _view_of_packed(shape: Shape, strides: Sequence[int], new: Shape, itemsize: int) -> Shape | None:
    """Return the strides of the view where sizes that only data tells hide that an array is contiguous."""
    if type(count(shape)) is int or not is_contiguous(shape, tuple([step // itemsize for step in strides])):
        return None
    return tuple([step * itemsize for step in contiguous_strides(new)])


def may_meet(shape: Shape, strides: Shape) -> bool:
    """Whether two indices may reach one element, as those of windows do: a dimension steps over no more than what the
    smaller ones take (PyTorch's test). Of symbolic strides only what is sure is told."""
    dims = [(stride, size) for stride, size in zip(strides, shape, strict=True) if not (type(size) is int and size < 2)]
    if not all(type(each) is int for pair in dims for each in pair):
        return may_overlap_itself(shape, strides)
    reach = 0
    for stride, size in sorted(dims):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def become_view(tensor: TensorBase, view: TensorBase) -> None:
    """Show a tensor's own storage as a view of it does."""
    storage_of(tensor)
    set_array(tensor, view.array)


def without_base(view: _Tensor) -> _Tensor:
    """Return a new view as no view over shared memory: writes count in both, and reach the history of one alone.

    A composite does so with a view of what it made itself: its result is new, to be written in place and detached.
    """
    if view.extra is not None:
        view.extra.base = None
    view.keys &= ~VIEW
    return view


def with_own_version(tensor: _Tensor) -> _Tensor:
    """Return a new tensor over memory that it goes on sharing, whose writes are counted by themselves from now on."""
    extra = tensor.extra
    if extra is not None and extra.storage is not None:
        extra.storage = extra.storage.apart()
    return tensor


def share_memory(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors lie over one storage, or over memory that meets."""
    if first is second or first.array is second.array:
        return True
    own, other = first.extra, second.extra
    if own is not None and other is not None and own.storage is not None and own.storage is other.storage:
        return True
    return may_share(first.array, second.array)


def as_strided(storage: Storage, shape: Shape, strides: Shape, offset: int, dtype: Any = None) -> Array:
    """Return a view of a storage, as `dtype` if one is given; strides and offset are in its elements, not negative, and
    stay within it.

    Raises RuntimeError for negative strides or offsets and for indices beyond the end, as `torch.as_strided` does.
    """
    if len(shape) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(shape)} and {list(strides)}")
    if any(size < 0 for size in shape):
        raise RuntimeError(f"as_strided: sizes must not be negative, got {list(shape)}")
    if any(stride < 0 for stride in strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    flat = storage.flat(dtype)
    needed = offset + span(shape, strides)[1] + 1
    if not surely_empty(shape) and not holds(needed <= flat.shape[0]):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {flat.itemsize} requiring a storage size of {needed * flat.itemsize} are out of bounds "
            f"for storage of size {flat.nbytes}"
        )
    return strided_view(flat, shape, strides, 0 if surely_empty(shape) else offset)
