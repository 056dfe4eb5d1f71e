"""Indexing, `tensor[...]` and `tensor[...] = value`, over the operators, so that it dispatches like any other call.

Integers, slices, None and Ellipsis become views (`select`, `slice`, `unsqueeze`); what remains of tensors, arrays,
lists and bools goes to `index` and `index_put_`. The order of things is PyTorch's, whose results agree with NumPy's
except for the result's strides, and for a list of lists, which stands for a tuple (`_stands_for_tuple`). A slice with a
negative step, which PyTorch refuses, is a copy: `flip`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from opwright.creation.construction import parsed
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten, ops
from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
from opwright_core.arrays.devices import backend_named, is_array, shape_of
from opwright_core.arrays.dtypes import FLOATING, bool_, checked_scalar, int64, uint8
from opwright_core.arrays.sizes import guard_or_false, is_place, is_symbolic, shown
from opwright_core.core import fast
from opwright_core.keys import FRONT_MODE, META, NONDENSE
from opwright_core.source_locations import frames_of_ours
from opwright_core.tensors.tensor import Tensor, install_methods, wrap, wrap_view

if TYPE_CHECKING:
    pass

_WHOLE = slice(None)
_INTS = frozenset((int, SymInt))
_SIMPLE = frozenset((*_INTS, bool, slice))
_NUMBERS = frozenset((*_INTS, bool, float, complex, SymFloat, SymBool))
_NUMPY_NUMBERS = (np.integer, np.float64, np.complex128)  # Python numbers, or used as such
_MASKS = frozenset((bool_, uint8))
_NO_NUMBERS = (Tensor, list, tuple, range, slice, EllipsisType, type(None))


def nonzero(*args: Any, as_tuple: bool = False, **named: Any) -> Any:
    """Return the positions of the elements that are not zero: an int64 matrix of a row each, or with `as_tuple` a tuple
    of one vector for each dimension, which indexes them. The other arguments are those of `aten::nonzero`."""
    found = (ops.aten.nonzero_numpy if as_tuple else ops.aten.nonzero).stub  # takes arguments by their other names, too
    assert found is not None
    return tuple(found(*args, **named)) if as_tuple else found(*args, **named)


F = TypeVar("F", bound=Callable[..., Any])


def _kept(method: F) -> F:
    """Return what serves in the place of `tensor[...]`: where the views that ints and slices make lie is kept, of
    tensors and in calls that nobody looks at; one array of positions or mask beside them is handed to `index`."""
    if fast is None:
        return method
    served: F = fast.ViewCache(fast.Indexing(method, aten, "index.Tensor"), "TX", wrap_view, NONDENSE, False, True)
    return served


def _written(method: F) -> F:
    """Return what serves in the place of `tensor[...] = value`: numbers and tensors are written from C."""
    if fast is None:
        return method
    served: F = fast.IndexWriting(method, aten, ("fill_.Scalar", "copy_.default", "index_put_.default"))
    return served


@install_methods
class Indexable:
    """The indexing of Tensor, installed on it."""

    __slots__ = ()

    @_kept
    def __getitem__(self, index: Any) -> Tensor:
        if type(index) in _INTS:
            return _select(self, 0, index)  # type: ignore[no-any-return]
        if type(index) is slice and not _is_backward(index) and shape_of(self.array):  # type: ignore[attr-defined]
            viewed = _sliced(self, 0, index)
            return aten["alias.default"](self) if viewed is self else viewed  # type: ignore[no-any-return]
        if type(index) is Tensor and index.array.dtype == int64 and shape_of(index.array) and shape_of(self.array):  # type: ignore[attr-defined]
            return aten["index.Tensor"](self, [index])  # type: ignore[no-any-return]
        viewed, indices, turned = _apply_basic(self, _as_tuple(index))
        if turned:
            viewed = aten["flip.default"](viewed, turned)
        if indices:
            return aten["index.Tensor"](viewed, _placed(viewed, indices))  # type: ignore[no-any-return]
        return aten["alias.default"](self) if viewed is self else viewed  # type: ignore[no-any-return]

    def __reversed__(self) -> Tensor:
        return aten["flip.default"](self, [0] if self.shape else [])  # type: ignore[attr-defined, no-any-return]

    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: bool) -> Any: ...
    def nonzero(self, *, as_tuple: bool = False) -> Any:
        """Call `opwright.nonzero`."""
        return nonzero(self, as_tuple=as_tuple)

    @_written
    def __setitem__(self, index: Any, value: Any) -> None:
        if index is False:  # PyTorch writes nothing then, and counts no write; a tensor of False counts one
            return
        viewed, indices, turned = _apply_basic(self, _as_tuple(index))
        if turned and indices:
            raise ValueError("slices with a negative step beside tensors as indices can be read, but not written to")
        if not indices and type(value) in _NUMBERS:
            aten["fill_.Scalar"](viewed, value)
            return
        source = _as_source(viewed, value)
        if turned:
            source = aten["flip.default"](aten["broadcast_to.default"](source, viewed.shape), turned)
        if not indices:
            aten["copy_.default"](viewed, _without_leading_ones(source, len(viewed.shape)))
        else:
            placed, source = _placed(viewed, indices), _without_leading_ones(source, 0)
            aten["index_put_.default"](viewed, placed, source)


def _as_tuple(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if not isinstance(index, list) or not _stands_for_tuple(index):
        return (index,)
    warnings.warn(
        "a list of sequences, slices or tensors as an index stands for a tuple of them, as in PyTorch, where that is "
        "deprecated; in NumPy it is one array. Write tensor[tuple(index)], or tensor[opwright.tensor(index)]",
        stacklevel=frames_of_ours(),
    )
    return tuple(index)


def _stands_for_tuple(index: list[Any]) -> bool:
    """Whether a list is what a tuple of the same would be: one of few items, of which one is no number (`[[0], [1]]`).
    That is PyTorch's rule, and was NumPy's before 1.23."""
    return len(index) < 32 and any(isinstance(each, _NO_NUMBERS) or is_array(each) for each in index)


def _apply_basic(self: Any, index: tuple[Any, ...]) -> tuple[Any, dict[int, Any], list[int]]:
    """Return the view that the basic indices make, the other indices by the dimension of it that they begin at, and its
    dimensions that were asked for in reverse order."""
    if len(index) == 1 and type(index[0]) in _INTS:
        return _select(self, 0, index[0]), {}, []
    items = [_as_item(each) for each in index]
    named = sum([_consumed(item) for item in items])
    ndim = len(shape_of(self.array))
    if named > ndim:
        if ndim == 0 and len(items) == 1 and type(items[0]) in _INTS:
            raise IndexError(_ZERO_DIM)
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    viewed, indices, turned, dim, selected = self, {}, [], 0, 0
    for item in items:
        if item is Ellipsis:  # a second one skips as many dimensions as the first
            dim += ndim - named
        elif dim + _consumed(item) > len(shape_of(viewed.array)):
            raise IndexError(f"too many indices for tensor of dimension {ndim}: what follows '...' is beyond the last")
        elif item is None:
            viewed, dim = aten["unsqueeze.default"](viewed, dim), dim + 1
        elif type(item) in _INTS:
            viewed, selected = _select(viewed, dim, item, selected), selected + 1
        elif type(item) is slice:
            if _is_backward(item):
                item = _in_order(item, shape_of(viewed.array)[dim])
                turned.append(dim)
            viewed, dim = _sliced(viewed, dim, item), dim + 1
        elif type(item) is bool:
            viewed = aten["unsqueeze.default"](viewed, dim)
            indices[dim], dim = np.zeros(1 if item else 0, np.int64), dim + 1
        elif _is_mask(item) and not _shape(item):  # of a level: its value cannot be read
            viewed = aten["unsqueeze.default"](viewed, dim)
            indices[dim], dim = aten["unsqueeze.default"](item, 0), dim + 1
        else:
            indices[dim], dim = item, dim + _consumed(item)
    return viewed, indices, turned


_ZERO_DIM = "invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number"


def _as_item(index: Any) -> Any:
    """Return an index as an int, bool, slice, None, Ellipsis, or a tensor or array. Raises IndexError for others."""
    if index is None or index is Ellipsis or type(index) in _SIMPLE:
        return index
    if isinstance(index, Tensor):
        return _as_scalar_index(index)
    if isinstance(index, (int, np.integer)):
        return int(index)
    if isinstance(index, np.bool_):
        return bool(index)
    if isinstance(index, (list, tuple, range)):
        index = _as_array(index)
    if is_array(index):
        return _as_scalar_index(index)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None, and tensors, arrays and lists of them are valid indices "
        f"(got {type(index).__name__})"
    )


def _as_scalar_index(index: Any) -> Any:
    """Return the number in a 0-dim index; the index itself where each sample of a batch may have its own."""
    if isinstance(index, Tensor) and index.keys & FRONT_MODE:
        return index
    if len(index.shape) or index.dtype in FLOATING or index.dtype.kind == "c":
        return index
    if _is_mask(index):
        return bool(index)
    position = index.item()  # symbolic, where there is no data
    return position if type(position) is SymInt else int(position)


def _as_array(index: Sequence[Any]) -> Any:
    try:
        array = parsed(index)
    except (ValueError, RuntimeError, TypeError) as error:
        raise IndexError(f"a list used as an index must hold integers or bools and not be ragged: {error}") from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "biuf":
        raise IndexError(f"a list used as an index must hold integers or bools, got {index!r}")
    return array


def _shape(index: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = index.shape
    return shape


def _is_mask(index: Any) -> bool:
    return index.dtype in _MASKS


def _consumed(item: Any) -> int:
    """Return how many dimensions an index takes: a mask as many as it has."""
    kind = type(item)
    if kind in _INTS or kind is slice:
        return 1
    if item is None or item is Ellipsis or kind is bool:
        return 0
    return len(item.shape) if _is_mask(item) else 1


def _select(viewed: Any, dim: int, position: int, before: int = 0) -> Any:
    """Return a view without a dimension. `before` are those that the same index took away in front of it."""
    shape = shape_of(viewed.array)
    if not shape:
        raise IndexError(_ZERO_DIM)
    if not is_place(position, shape[dim]):
        raise IndexError(
            f"index {shown(position)} is out of bounds for dimension {dim + before} with size {shape[dim]}"
        )
    return aten["select.int"](viewed, dim, position)


_ZERO_STEP = "step must be greater than zero; a negative one needs a size that is known, and flip does the same"


def _is_backward(item: slice) -> bool:
    return item.step is not None and operator.index(item.step) < 0


def _in_order(item: slice, size: Any) -> slice:
    """Return the slice of the same elements, the first of them in memory first. Raises ValueError for symbolic ones."""
    if type(size) is SymInt or type(item.start) is SymInt or type(item.stop) is SymInt:
        raise ValueError(_ZERO_STEP)
    positions = range(*item.indices(size))
    return slice(positions[-1], positions[0] + 1, -positions.step) if positions else slice(0, 0)


def _sliced(viewed: Any, dim: int, item: slice) -> Any:
    step = 1 if item.step is None else operator.index(item.step)
    if step <= 0:
        raise ValueError(_ZERO_STEP)
    size: Any = shape_of(viewed.array)[dim]
    if type(size) is SymInt or type(item.start) is SymInt or type(item.stop) is SymInt:
        return viewed if item == _WHOLE else aten["slice.Tensor"](viewed, dim, item.start, item.stop, step)
    start, stop, _ = item.indices(size)
    if start == 0 and stop == size and step == 1:
        return viewed
    return aten["slice.Tensor"](viewed, dim, start, stop, step)


def _placed(viewed: Any, indices: dict[int, Any]) -> list[Any]:
    """Return the list for `index`: an entry per dimension up to the last index (None without one), one per mask."""
    placed: list[Any] = []
    dim = 0
    for start, index in indices.items():
        placed += [None] * (start - dim)
        placed.append(index if isinstance(index, Tensor) else _constant(viewed, index))
        dim = start + _consumed(index)
    return placed


def _as_source(viewed: Any, value: Any) -> Any:
    """Return the value to write as a tensor: numbers in the dtype they are written to."""
    if isinstance(value, Tensor):
        return value
    if is_symbolic(value):
        return ops.aten.scalar_tensor(value, dtype=viewed.dtype, device=viewed.device)
    if isinstance(value, _NUMPY_NUMBERS):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        number = np.asarray(checked_scalar(value, viewed.dtype))
        if not viewed.keys & META:
            number = backend_named(viewed.device).from_numpy(number, viewed.device.index)
        return _constant(viewed, number)
    if isinstance(value, np.generic) or is_array(value):
        return _constant(viewed, value)
    raise TypeError(
        f"can't assign a {type(value).__name__} to a tensor of {viewed.dtype}: make it a tensor or an array first"
    )


def _constant(viewed: Any, array: Any) -> Any:
    """Return an array as a tensor; without data, beside a tensor that has none."""
    made = wrap(array)
    return late_bound.fakes().as_fake_beside(made, viewed) if viewed.keys & META else made


def _without_leading_ones(source: Any, ndim: int) -> Any:
    """Return a value without the leading dimensions of size 1 that it has beyond those it is written to."""
    while len(source.shape) > ndim and guard_or_false(source.shape[0] == 1):
        source = aten["select.int"](source, 0, 0)
    return source
