"""Arithmetic of views: sizes that are left to infer, and strides that show memory in another shape.

Sizes may be symbolic: Note [Undecided comparisons] in `layouts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from opwright_core.arrays.layouts import Shape, contiguous_strides, count, is_contiguous, may_overlap_itself
from opwright_core.arrays.sizes import check, from_front, larger, smaller
from opwright_core.arrays.storage import set_array, storage_of
from opwright_core.core import TensorBase
from opwright_core.keys import VIEW

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
            raise RuntimeError(f"invalid shape dimension {each} at index {i} of shape {list(shape)}")
        else:
            known *= each
    if unknown < 0:
        fits = known == elements
        if not fits:
            check(fits, lambda: f"shape '{list(shape)}' is invalid for input of size {elements}")
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
        check(fits, lambda: f"shape '{list(shape)}' is invalid for input of size {elements}")
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
