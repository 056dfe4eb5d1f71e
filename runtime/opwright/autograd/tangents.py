"""Tangents: where they are kept, and how those of views and of what is written in place follow.

Note [Tangents]
`tensor.extra.tangent` is a cell that the level empties when it is left, so that saved tensors and views lose the
tangent too. A tensor with a tangent has the bit TANGENT; calls have it as well while their thread is in a level, since
a view may have come by a tangent through a write to its base: what is composed for TANGENT looks (`current_tangent`).

A tangent has the strides of its tensor. The tangent of a view is a view of its base's tangent, and a write to a tensor
writes its tangent, so that both stay true through each other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from opwright.autograd.modes import Switch
from opwright.namespaces import aten
from opwright_core.arrays.dtypes import COMPLEX, INEXACT, complex64, complex128, dtype_name, float32, float64
from opwright_core.arrays.layouts import may_overlap_itself, span, surely_empty
from opwright_core.arrays.storage import Extra
from opwright_core.errors import AutogradError
from opwright_core.keys import TANGENT
from opwright_core.state import Modes, active_modes
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "Level", "Tangent", "are_seen", "cell_of", "check_fit", "current_cell", "current_level", "current_tangent",
    "fit_tangent", "ignoring_tangents", "may_have_tangent", "move_tangent", "new_tangent", "set_tangent",
    "write_tangent",
]  # fmt: skip


class Tangent:
    """The tangent of a tensor, or of several that are one: None once its level was left."""

    __slots__ = ("__weakref__", "level", "value")

    def __init__(self, value: Tensor, level: Level) -> None:
        self.value: Tensor | None = value
        self.level = level


class Level:
    """A level of forward mode: the tangents that vanish with it, and its number among those around it.

    One within another, or within a transform, is an `interpreter` of `opwright.levels`: its tensors are of that level.
    `leave` is what `exit_dual_level` calls, for one that `enter_dual_level` entered.
    """

    __slots__ = ("_cells", "interpreter", "is_open", "leave", "number")

    def __init__(self, number: int = 0, interpreter: Any = None) -> None:
        self._cells: weakref.WeakSet[Tangent] = weakref.WeakSet()
        self.is_open = True
        self.number = number
        self.interpreter = interpreter
        self.leave: Callable[[], object] | None = None

    def cell(self, value: Tensor) -> Tangent:
        """Return a cell for a tangent."""
        made = Tangent(value, self)
        self._cells.add(made)
        return made

    def close(self) -> None:
        """Take all tangents away."""
        self.is_open = False
        for cell in list(self._cells):
            cell.value = None


current_level: Final[ContextVar[Level | None]] = ContextVar("opwright_dual_level", default=None)


def are_seen() -> bool:
    """Whether calls of this thread look at tangents: in inference mode they do not, nor where tangents are computed."""
    modes = active_modes()
    return modes is None or modes.mask & TANGENT != 0


def may_have_tangent(value: object) -> bool:
    """Whether it is a Tensor of floating-point or complex numbers."""
    return isinstance(value, Tensor) and value.dtype in INEXACT


def cell_of(tensor: Tensor) -> Tangent | None:
    """Return the cell of a tensor's own tangent, if it has one."""
    cell: Tangent | None = getattr(tensor.extra, "tangent", None)
    return None if cell is None or cell.value is None else cell


def current_cell(tensor: Tensor) -> Tangent | None:
    """Return the cell of a tensor's tangent, of one that came to it through a write to its base, too."""
    cell = cell_of(tensor)
    if cell is not None:
        return cell
    base = None if tensor.extra is None else tensor.extra.base
    given = None if base is None else cell_of(base)
    if base is not None and given is not None and may_have_tangent(tensor):
        assert given.value is not None  # cell_of says so
        return set_tangent(tensor, _part(given.value, base, tensor), given.level)
    tensor.keys &= ~TANGENT  # it was one of a level that was left
    return None


def current_tangent(tensor: Tensor) -> Tensor | None:
    """Return a tensor's tangent, one that came to it through a write to its base, too."""
    cell = current_cell(tensor)
    return None if cell is None else cell.value


def set_tangent(tensor: Tensor, value: Tensor, level: Level) -> Tangent | None:
    """Give a tensor a tangent, which fits it. There is none where the level was left meanwhile."""
    if not level.is_open:
        return None
    if tensor.extra is None:
        tensor.extra = Extra()
    cell = tensor.extra.tangent = level.cell(value)
    tensor.keys |= TANGENT
    return cell


def move_tangent(tensor: Tensor, cell: Tangent | None) -> None:
    """Give the cell of one tensor to another that is the same, such as one that was saved."""
    if cell is not None and cell.value is not None:
        if tensor.extra is None:
            tensor.extra = Extra()
        tensor.extra.tangent = cell
        tensor.keys |= TANGENT


def check_fit(tensor: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError for a tangent that a user gave and that is not of its tensor's shape, dtype and device."""
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"a tangent has the shape of its tensor, but that is {list(tensor.shape)} and the tangent's "
            f"{list(tangent.shape)}"
        )
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(
            f"a tangent has the dtype of its tensor, but that is {dtype_name(tensor.dtype)} and the tangent's "
            f"{dtype_name(tangent.dtype)}"
        )
    if tensor.device != tangent.device:
        raise RuntimeError(
            f"a tangent is on the device of its tensor, but that is {tensor.device} and the tangent's {tangent.device}"
        )


def new_tangent(value: Tensor, like: Tensor, taken: tuple[Tensor, ...] = ()) -> Tensor:
    """Return a formula's result as the tangent of a new tensor: of its shape, dtype and strides, in memory of its own.

    `taken` are the tangents the formula was given. Raises AutogradError for a shape or dtype that cannot be.
    """
    fitted = fit_tangent(value, like)
    is_own = fitted._base is None and not any(fitted is each for each in taken)
    return fitted if is_own or fitted is not value else _laid_out(fitted, like)


def fit_tangent(value: Tensor, like: Tensor) -> Tensor:
    """Return a tangent with the shape, dtype and strides of its tensor; itself, where it has them."""
    if value.dtype != like.dtype:
        if value.dtype in COMPLEX and like.dtype not in COMPLEX:
            raise AutogradError(
                f"a tangent of {dtype_name(value.dtype)} was computed for a result of {dtype_name(like.dtype)}"
            )
        value = aten["to.dtype"](value, like.dtype)
    if value.shape != like.shape:
        value = aten["expand.default"](value, list(like.shape))
    return value if value.stride() == like.stride() or surely_empty(like.shape) else _laid_out(value, like)


def _laid_out(value: Tensor, like: Tensor) -> Tensor:
    """Return a copy with the strides of `like`."""
    shape, strides = like.shape, like.stride()
    copy: Tensor
    if surely_empty(shape) or may_overlap_itself(shape, strides):  # then nothing may be written through it
        copy = aten["clone.default"](value)
        return copy
    copy = aten["as_strided.default"](
        aten["new_zeros.default"](value, [span(shape, strides)[1] + 1]), list(shape), list(strides), 0
    )
    aten["copy_.default"](copy, value)
    return copy


def zero_tangent(like: Tensor, beside: Tensor) -> Tensor:
    """Return zeros that fit a tensor, into which the tangent `beside` can be written: batched, where that is."""
    return fit_tangent(aten["new_zeros.default"](beside, list(like.shape), dtype=like.dtype, device=like.device), like)


def write_tangent(tensor: Tensor, value: Tensor | None, level: Level, taken: tuple[Tensor, ...] = ()) -> None:
    """Change the tangent of a tensor that was written in place; None stands for zero. A view's goes to its base."""
    current = current_tangent(tensor)
    if current is None and value is not None:
        base = None if tensor.extra is None else tensor.extra.base
        if base is None:
            set_tangent(tensor, new_tangent(value, tensor, taken), level)
            return
        set_tangent(base, zero_tangent(base, value), level)
        current = current_tangent(tensor)
    if value is not None:
        aten["copy_.default"](current, value)
    elif current is not None:
        aten["zero_.default"](current)


def view_tangent(tensor: Tensor, tangent: Tensor, offset: int, level: Level) -> None:
    """Show a tensor's tangent through the layout that the tensor has now, which began at `offset` before."""
    start = tangent.storage_offset() + tensor.storage_offset() - offset
    set_tangent(tensor, aten["as_strided.default"](tangent, list(tensor.shape), list(tensor.stride()), start), level)


def _part(tangent: Tensor, base: Tensor, view: Tensor) -> Tensor:
    """Return the view's part of its base's tangent, whose memory is laid out as the base's is."""
    shape, strides, offset = list(view.shape), list(view.stride()), view.storage_offset()
    if (base.dtype, view.dtype) in _PAIRS:  # a view of the parts of complex numbers
        tangent, start = aten["view_as_real.default"](tangent), 2 * base.storage_offset()
    elif (view.dtype, base.dtype) in _PAIRS:  # and back
        shape, strides, offset = [*shape, 2], [*(2 * each for each in strides), 1], 2 * offset
        start = base.storage_offset()
    elif view.dtype == base.dtype:
        start = base.storage_offset()
    else:
        raise AutogradError(
            f"the tangent that a write gave to a tensor of {dtype_name(base.dtype)} does not reach its view of "
            f"{dtype_name(view.dtype)}: write to the view, or make it after the write"
        )
    found: Tensor = aten["as_strided.default"](tangent, shape, strides, tangent.storage_offset() + offset - start)
    if view.dtype in COMPLEX and base.dtype not in COMPLEX:
        found = aten["view_as_complex.default"](found)
    return found


class ignoring_tangents(Switch):
    """A block in which nothing looks at tangents: what computes them does so on what tensors are without."""

    __slots__ = ()

    def _modes(self, outer: Modes | None) -> Modes | None:
        return _IGNORING if outer is None else Modes(outer.include & ~TANGENT, outer.mask & ~TANGENT, outer.top)


_PAIRS: Final = {(complex64, float32), (complex128, float64)}  # complex numbers and their parts
_IGNORING: Final = Modes(0, ~TANGENT)
