"""Views as steps: what shows a part of a memory's value, and what puts a new value of the part into the whole.

A write to a view goes into its base by what the operator of the view is. One with a counterpart `*_scatter` has that
put it there. One that moves dimensions is undone by moving them back, one that changes the shape by the shape that was.
Of what else there is, such as views by operators of users, strides say where in the memory the part lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opwright.functionalize.memory import Layout
from opwright.metadata.view_layouts import view_strides
from opwright.namespaces import aten
from opwright.symbolic.questions import statically_known_true
from opwright_core.arrays.formats import MemoryFormat
from opwright_core.arrays.layouts import span
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["UNDONE", "Step", "Strided", "Undo", "View", "has_strides", "restored", "scattering", "undone_by_strides"]

Arguments = tuple[Any, ...]
Undo = Callable[["View", Tensor, Tensor], Tensor]


class Step:
    """A view of a base, which shows a part of it."""

    __slots__ = ()

    def show(self, base: Tensor) -> Tensor:
        """Return what the view shows of the base."""
        raise NotImplementedError

    def put(self, base: Tensor, part: Tensor) -> Tensor:
        """Return the base with another value in the view's position."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class View(Step):
    """A view by an operator: `operator` shows it, `args` are its arguments, the base left out at `place`, `pick` says
    which of several results it is. `undo` puts a new part into the base. `is_copy` says that no view shall be made."""

    operator: Operator
    args: Arguments
    place: int
    undo: Undo
    pick: tuple[int, ...] = ()
    is_copy: bool = False

    def show(self, base: Tensor) -> Tensor:
        """Call the operator, and pick its result."""
        args = list(self.args)
        needs_strides = self.is_copy and self.operator.base in _OF_CERTAIN_STRIDES
        args[self.place] = _packed(base) if needs_strides and not base.is_contiguous() else base
        result = self.operator.call(*args)
        for each in self.pick:
            result = result[each]
        shown: Tensor = result
        return shown

    def put(self, base: Tensor, part: Tensor) -> Tensor:
        """Return what the way to undo the view gives."""
        return self.undo(self, base, part)


@dataclass(frozen=True, slots=True, eq=False)
class Strided(Step):
    """A view of a memory by strides, `part`, where the memory's own layout is `whole`."""

    part: Layout
    whole: Layout
    is_copy: bool = False

    def show(self, base: Tensor) -> Tensor:
        """Call `as_strided`."""
        buffer, start = self._buffer(base)
        return self._seen(buffer, self.part, start)

    def put(self, base: Tensor, part: Tensor) -> Tensor:
        """Call `as_strided_scatter`."""
        shape, strides, offset = self.part
        buffer, start = self._buffer(base)
        for dim, stride in enumerate(strides):
            if statically_known_true(stride == 0):  # it is repeated: whoever writes writes the same everywhere
                part = _first(part, dim, self.is_copy)
                shape = (*shape[:dim], 1, *shape[dim + 1 :])
        made: Tensor = aten["as_strided_scatter.default"](buffer, part, list(shape), list(strides), offset + start)
        return made if buffer is base else self._seen(made, self.whole, start)

    def _seen(self, buffer: Tensor, layout: Layout, start: int) -> Tensor:
        name = "as_strided_copy.default" if self.is_copy else "as_strided.default"
        seen: Tensor = aten[name](buffer, list(layout.shape), list(layout.strides), layout.offset + start)
        return seen

    def _buffer(self, base: Tensor) -> tuple[Tensor, int]:
        """Return a tensor in whose storage the base lies as the memory does, and where that begins in it."""
        shape, strides, offset = self.whole
        if has_strides(base, strides):
            return base, base.storage_offset() - offset
        flat = aten["new_zeros.default"](base, [1 + span(shape, strides)[1]])
        return aten["as_strided_scatter.default"](flat, base, list(shape), list(strides), 0), -offset


def restored(value: Tensor, layout: Layout, *, is_copy: bool) -> Tensor:
    """Return a value with the strides of a layout, where these are dense. With `is_copy` nothing may be permuted, so
    only row-major layouts are restored."""
    shape, strides, _ = layout
    if has_strides(value, strides):
        return value
    if _is_row_major(shape, strides):
        return _packed(value)
    order = None if is_copy else _order(shape, strides)
    if order is None:
        return value
    packed = _packed(aten["permute.default"](value, order))
    result: Tensor = aten["permute.default"](packed, [order.index(dim) for dim in range(len(order))])
    return result


def _is_row_major(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    step: Any = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if not (statically_known_true(stride == step) or statically_known_true(size < 2)):
            return False
        step = step * size
    return True


def _order(shape: Sequence[Any], strides: Sequence[Any]) -> list[int] | None:
    """Return the dimensions, slowest first, of memory that surely has no gaps; None where that is not known."""
    order = [dim for dim, size in enumerate(shape) if type(size) is int and size < 2]
    rest = [dim for dim in range(len(shape)) if dim not in order]
    fastest_first: list[int] = []
    step: Any = 1
    while rest:
        found = next((dim for dim in rest if statically_known_true(strides[dim] == step)), None)
        if found is None:
            return None
        fastest_first.append(found)
        rest.remove(found)
        step = step * shape[found]
    return order + fastest_first[::-1]


def has_strides(value: Tensor, strides: Sequence[Any]) -> bool:
    """Whether a tensor surely has these strides, as far as they tell anything."""
    return all(
        statically_known_true(own == other) or statically_known_true(size < 2)
        for size, own, other in zip(value.shape, value.stride(), strides, strict=True)
    )


def _packed(value: Tensor) -> Tensor:
    packed: Tensor = aten["clone.default"](value, memory_format=MemoryFormat.contiguous_format)
    return packed


def _reshaped(value: Tensor, shape: Sequence[int], is_copy: bool) -> Tensor:
    shape = tuple(shape)
    if view_strides(tuple(value.shape), value.stride(), shape, 1) is None:
        value = _packed(value)
    result: Tensor = aten["view_copy.default" if is_copy else "view.default"](value, list(shape))
    return result


# Ways to undo a view: functions of the view, of the base, and of the new part.


def _unchanged(view: View, base: Tensor, part: Tensor) -> Tensor:
    return part


def _again(view: View, base: Tensor, part: Tensor) -> Tensor:
    return view.show(part)


def _moved_back(view: View, base: Tensor, part: Tensor) -> Tensor:
    dims = [dim % len(base.shape) for dim in view.args[1]]
    result: Tensor = view.operator.call(part, [dims.index(dim) for dim in range(len(dims))])
    return result


def _in_shape(view: View, base: Tensor, part: Tensor) -> Tensor:
    return _reshaped(part, base.shape, view.is_copy)


def _squeezed(view: View, base: Tensor, part: Tensor) -> Tensor:
    dim = view.args[1] % len(part.shape)
    result: Tensor = aten["squeeze_copy.dim" if view.is_copy else "squeeze.dim"](part, dim)
    return result


def _unsqueezed(view: View, base: Tensor, part: Tensor) -> Tensor:
    """Return the base of `squeeze`: with the dimensions of size 1, or those that it names."""
    named = view.args[1] if len(view.args) > 1 else range(len(base.shape))
    dims = {dim % max(1, len(base.shape)) for dim in ([named] if isinstance(named, int) else named)}
    gone = [dim for dim in sorted(dims) if base.shape and statically_known_true(base.shape[dim] == 1)]
    if len(base.shape) - len(gone) != len(part.shape):  # which are gone only data tells
        return _reshaped(part, base.shape, view.is_copy)
    for dim in gone:
        part = aten["unsqueeze_copy.default" if view.is_copy else "unsqueeze.default"](part, dim)
    return part


def _once(view: View, base: Tensor, part: Tensor) -> Tensor:
    """Return the base that `expand` repeated: what writes to all of it writes alike everywhere."""
    added = len(part.shape) - len(base.shape)
    for dim in range(len(part.shape)):
        if dim < added or (type(base.shape[dim - added]) is int and base.shape[dim - added] == 1):
            part = _first(part, dim, view.is_copy)
    return _reshaped(part, base.shape, view.is_copy)


def _first(part: Tensor, dim: int, is_copy: bool) -> Tensor:
    """Return the first element of a dimension, which stays."""
    if type(part.shape[dim]) is int and part.shape[dim] <= 1:
        return part
    made: Tensor = aten["slice_copy.Tensor" if is_copy else "slice.Tensor"](part, dim, 0, 1)
    return made


def _in_dtype(view: View, base: Tensor, part: Tensor) -> Tensor:
    result: Tensor = view.operator.call(part if part.is_contiguous() else _packed(part), base.dtype)
    return result


def _complex(view: View, base: Tensor, part: Tensor) -> Tensor:
    name = "view_as_complex_copy.default" if view.is_copy else "view_as_complex.default"
    result: Tensor = aten[name](part if part.is_contiguous() else _packed(part))
    return result


def _real(view: View, base: Tensor, part: Tensor) -> Tensor:
    result: Tensor = aten["view_as_real_copy.default" if view.is_copy else "view_as_real.default"](part)
    return result


UNDONE: Final[dict[str, Undo]] = {
    "aten::alias": _unchanged,
    "aten::detach": _unchanged,
    "aten::t": _again,
    "aten::transpose.int": _again,
    "aten::permute": _moved_back,
    "aten::view": _in_shape,
    "aten::unsqueeze": _squeezed,
    "aten::squeeze": _unsqueezed,
    "aten::squeeze.dim": _unsqueezed,
    "aten::squeeze.dims": _unsqueezed,
    "aten::expand": _once,
    "aten::view.dtype": _in_dtype,
    "aten::view_as_real": _complex,
    "aten::view_as_complex": _real,
}


# Copying counterparts of views that not all strides have: without views nothing says how a base lies.
_OF_CERTAIN_STRIDES: Final = frozenset(("view_copy", "view_as_complex_copy"))


def scattering(scatter: Operator) -> Undo:
    """Return the way to undo a view that has a counterpart `*_scatter`."""

    def put(view: View, base: Tensor, part: Tensor) -> Tensor:
        made: Tensor = scatter.call(base, part, *view.args[1:])
        return made

    return put


def undone_by_strides(part: Layout, whole: Layout) -> Undo:
    """Return the way to undo a view of which it is known where it lies in its base."""
    return lambda view, base, new: Strided(part, whole, view.is_copy).put(base, new)
