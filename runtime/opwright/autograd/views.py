"""Views in the graph: the history of a view read off its base's, and that of a base when a view is written to.

Both look at memory as `as_strided` does: where in the base's buffer the view's elements lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opwright.autograd.nodes import Edge, Node, next_sequence
from opwright.autograd.quick import is_array_alone
from opwright.namespaces import aten
from opwright.view_layouts import may_meet
from opwright_core.arrays.dtypes import COMPLEX, to_real
from opwright_core.arrays.layouts import Shape, contiguous_strides, count, span
from opwright_core.errors import AutogradError
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["VIEW_ERRORS", "Placed", "ViewOfBase", "WriteToView"]

# Why a recorded call must not write to a view, by how it was made.
VIEW_ERRORS: Final = {
    "no_grad": "A view was created in no_grad mode",
    "inference_mode": "A view was created in inference mode",
    "several": (
        "This view is an output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    "custom_function": (
        "This view was created inside a custom Function (or because an input was returned as-is): to record the write, "
        "the history of its base would have to replace the Function's own backward, which would give wrong gradients. "
        "Clone the output of the Function first."
    ),
}


class Placed(NamedTuple):
    """The place of a tensor's elements in a buffer. Of complex numbers in a buffer of real ones, `is_paired`."""

    shape: Shape
    strides: Shape
    offset: int
    is_paired: bool = False

    def layout(self) -> tuple[list[int], list[int], int]:
        """Return shape, strides and offset in elements of the buffer."""
        if self.is_paired:
            return [*self.shape, 2], [*(2 * stride for stride in self.strides), 1], 2 * self.offset
        return list(self.shape), list(self.strides), self.offset

    def length(self) -> int:
        """Return how long a buffer must be."""
        if not count(self.shape):
            return 1
        length = 1 + self.offset + span(self.shape, self.strides)[1]
        return 2 * length if self.is_paired else length

    def within(self, flat: Tensor) -> Tensor:
        """Return these elements of a 1-d buffer, as a view."""
        found: Tensor = aten["as_strided.default"](flat, *self.layout())
        return aten["view_as_complex.default"](found) if self.is_paired else found

    def put(self, flat: Tensor, values: Tensor) -> Tensor:
        """Return the buffer with other values in these places; the values of one place are added up."""
        if self.is_paired:
            values = aten["view_as_real.default"](values)
        shape, strides, offset = self.layout()
        if not may_meet(tuple(shape), tuple(strides)):
            result: Tensor = aten["as_strided_scatter.default"](flat, values, shape, strides, offset)
            return result
        places = aten["arange.default"](flat.numel(), device=flat.device)
        index = aten["reshape.default"](aten["as_strided.default"](places, shape, strides, offset), [-1])
        cleared = aten["index_fill.int_Scalar"](flat, 0, index, 0)
        added: Tensor = aten["index_add.default"](cleared, 0, index, aten["reshape.default"](values, [-1]))
        return added


class _Window(NamedTuple):
    """A base and a view in one buffer. The compiled core makes others, of row-major views
    (`runtime/opwright_core/fast/rebase_history.c`)."""

    base: Placed
    view: Placed
    length: int

    @classmethod
    def of(cls, view: Tensor, base: Tensor) -> _Window:
        start, own = base.storage_offset(), view.storage_offset()
        if view.dtype != base.dtype:
            return cls._of_parts(view, base, start, own)
        low = min(start, own)
        first = Placed(base.shape, base.stride(), start - low)
        second = Placed(view.shape, view.stride(), own - low)
        return cls(first, second, max(first.length(), second.length()))

    @classmethod
    def _of_parts(cls, view: Tensor, base: Tensor, start: int, own: int) -> _Window:
        """Return the window between complex numbers and their parts. Raises AutogradError for other dtypes."""
        if to_real(base.dtype) is not view.dtype and to_real(view.dtype) is not base.dtype:
            raise AutogradError(
                f"a recorded write to a view of another dtype ({view.dtype}) than its base's ({base.dtype}) has no "
                "gradient: write to the base, or to a copy"
            )
        first = Placed(base.shape, base.stride(), start, base.dtype in COMPLEX)
        second = Placed(view.shape, view.stride(), own, view.dtype in COMPLEX)
        return cls(first, second, max(first.length(), second.length()))

    @property
    def is_of_rows(self) -> bool:
        """Whether the base fills the buffer row by row, and no two elements of the view meet."""
        shape, strides, offset, is_paired = self.base
        return (
            not offset
            and not is_paired
            and not self.view.is_paired
            and strides == contiguous_strides(shape)
            and self.length == count(shape)
            and not may_meet(self.view.shape, self.view.strides)
        )

    def part(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the view's elements of an array that is the base's buffer."""
        shape, strides, offset, _ = self.view
        size = array.itemsize
        return np.ndarray(shape, array.dtype, array, offset * size, [stride * size for stride in strides])

    def buffer(self, like: Tensor) -> Tensor:
        """Return a buffer of zeros."""
        is_paired = self.base.is_paired or self.view.is_paired
        dtype = to_real(like.dtype) if is_paired else like.dtype
        made: Tensor = aten["new_zeros.default"](like, [self.length], dtype=dtype)
        return made


def _serves_arrays(window: Any, grad: Any) -> bool:
    """Whether arrays serve a window, and nobody but NumPy is to see what is done with this gradient."""
    return is_array_alone(grad) and (type(window) is not _Window or window.is_of_rows)


def _whole(window: Any) -> _Window:
    """Return a window of the compiled core's as one that is seen here."""
    if type(window) is _Window:
        return window
    shape, *of_view = window.described()
    return _Window(Placed(shape, contiguous_strides(shape), 0), Placed(*of_view), count(shape))


class ViewOfBase(Node):
    """The node of a view: its gradient is put where its elements lie in the base."""

    __slots__ = ("window",)
    window: Any  # a _Window, or the core's

    @classmethod
    def of(cls, view: Tensor, base: Tensor) -> ViewOfBase:
        """Return the node of a view of this base."""
        made = cls()
        made.edges = (base.edge,)
        made.window = _Window.of(view, base)
        return made

    @classmethod
    def after(cls, write: WriteToView) -> ViewOfBase:
        """Return the node of the view that was written to."""
        made = cls()
        made.edges = (write,)
        made.window = write.window
        made.sequence = next_sequence()
        made.extra = None
        made.shape = _whole(write.window).view.shape
        made.dtype = write.dtype
        return made

    def name(self) -> str:
        """Return PyTorch's name."""
        return "AsStridedBackward0"

    def apply(self, grad: Any) -> Sequence[Any]:
        """Return the gradient of the base."""
        window = _whole(self.window)
        if _serves_arrays(window, grad):
            array = np.zeros(window.base.shape, grad.array.dtype)
            window.part(array)[...] = grad.array
            return (wrap(array),)
        return (window.base.within(window.view.put(window.buffer(grad), grad)),)


class WriteToView(Node):
    """The node of a write to a view as a write to its base: what `fn` makes of the view's part, and the rest as it was.

    `fn` recorded the write; its first edge was the view's.
    """

    __slots__ = ("__weakref__", "fn", "window")
    fn: Node | None
    window: Any  # a _Window, or the core's
    saved = ("fn",)

    @classmethod
    def of(cls, view: Tensor, base: Tensor, fn: Node) -> WriteToView:
        """Return the node of a base after a write to this view."""
        made = cls()
        first: Edge = base.edge
        made.edges = (first, *fn.edges[1:])
        made.fn = fn
        made.window = _Window.of(view, base)
        made.sequence = next_sequence()
        made.extra = None
        made.shape = base.shape
        made.dtype = base.dtype
        return made

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::CopySlices"

    def release(self) -> None:
        """Free what the write saved."""
        if self.fn is not None:
            self.fn.release()

    def apply(self, grad: Any) -> Sequence[Any]:
        """Return the gradients of the base before the write, and of the write's other operands."""
        assert self.fn is not None
        if _serves_arrays(self.window, grad):
            return self._apply_to_array(grad.array, self.fn)
        window = _whole(self.window)
        base, view, _ = window
        flat = base.put(window.buffer(grad), grad)
        written, *others = self.fn.apply(aten["clone.default"](view.within(flat)))
        if self.edges[0] is None:
            return (None, *others)
        if written is None:
            written = aten["zeros_like.default"](view.within(flat))
        return (base.within(view.put(flat, written)), *others)

    def _apply_to_array(self, grad: NDArray[Any], fn: Node) -> Sequence[Any]:
        """Do what `apply` does in one copy of the gradient."""
        array = grad.copy()
        part = self.window.part(array)
        written, *others = fn.apply(wrap(part.copy()))
        if self.edges[0] is None:
            return (None, *others)
        if written is None:
            part[...] = 0
        elif type(written) is Tensor and type(written.array) is np.ndarray:
            part[...] = written.array
        else:
            base, view, _ = _whole(self.window)
            return (base.within(view.put(wrap(array.reshape(-1)), written)), *others)
        return (wrap(array), *others)
