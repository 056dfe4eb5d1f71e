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
from opwright.metadata.view_layouts import may_meet
from opwright.namespaces import aten
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
    """The position of a tensor's elements in a buffer. Of complex numbers in a buffer of real ones, `is_paired`."""

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
        """Return the buffer with other values at these elements; the values of one element are added up."""
        if self.is_paired:
            values = aten["view_as_real.default"](values)
        shape, strides, offset = self.layout()
        if not may_meet(tuple(shape), tuple(strides)):
            result: Tensor = aten["as_strided_scatter.default"](flat, values, shape, strides, offset)
            return result
        positions = aten["arange.default"](flat.numel(), device=flat.device)
        index = aten["reshape.default"](aten["as_strided.default"](positions, shape, strides, offset), [-1])
        cleared = aten["index_fill.int_Scalar"](flat, 0, index, 0)
        added: Tensor = aten["index_add.default"](cleared, 0, index, aten["reshape.default"](values, [-1]))
        return added


class _ViewSpec(NamedTuple):
    """The layouts of a view and of its base in one buffer. The compiled core has its own, for row-major views
    (`runtime/opwright_core/fast/graph/rebase_history.c`)."""

    base: Placed
    view: Placed
    length: int

    @classmethod
    def of(cls, view: Tensor, base: Tensor) -> _ViewSpec:
        start, own = base.storage_offset(), view.storage_offset()
        if view.dtype != base.dtype:
            return cls._of_parts(view, base, start, own)
        low = min(start, own)
        first = Placed(base.shape, base.stride(), start - low)
        second = Placed(view.shape, view.stride(), own - low)
        return cls(first, second, max(first.length(), second.length()))

    @classmethod
    def _of_parts(cls, view: Tensor, base: Tensor, start: int, own: int) -> _ViewSpec:
        """Return the spec of a real view of complex numbers, or the reverse. Raises AutogradError for other dtypes."""
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


def _is_on_arrays(spec: Any, grad: Any) -> bool:
    """Whether the gradient of a view is computed on arrays: no mode is on, and no call with it is recorded."""
    return is_array_alone(grad) and (type(spec) is not _ViewSpec or spec.is_of_rows)


def _whole(spec: Any) -> _ViewSpec:
    """Return a ViewSpec of the compiled core as one of these."""
    if type(spec) is _ViewSpec:
        return spec
    shape, *of_view = spec.described()
    return _ViewSpec(Placed(shape, contiguous_strides(shape), 0), Placed(*of_view), count(shape))


class ViewOfBase(Node):
    """The node of a view: its gradient is scattered into zeros of the base's shape."""

    __slots__ = ("spec",)
    spec: Any  # a _ViewSpec, or one of the core

    @classmethod
    def of(cls, view: Tensor, base: Tensor) -> ViewOfBase:
        """Return the node of a view of this base."""
        made = cls()
        made.edges = (base.edge,)
        made.spec = _ViewSpec.of(view, base)
        return made

    @classmethod
    def after(cls, write: WriteToView) -> ViewOfBase:
        """Return the node of the view that was written to."""
        made = cls()
        made.edges = (write,)
        made.spec = write.spec
        made.sequence = next_sequence()
        made.extra = None
        made.shape = _whole(write.spec).view.shape
        made.dtype = write.dtype
        return made

    def name(self) -> str:
        """Return PyTorch's name."""
        return "AsStridedBackward0"

    def apply(self, grad: Any) -> Sequence[Any]:
        """Return the gradient of the base."""
        spec = _whole(self.spec)
        if _is_on_arrays(spec, grad):
            array = np.zeros(spec.base.shape, grad.array.dtype)
            spec.part(array)[...] = grad.array
            return (wrap(array),)
        return (spec.base.within(spec.view.put(spec.buffer(grad), grad)),)


class WriteToView(Node):
    """The node of a write to a view as a write to its base: what `fn` makes of the view's part, and the rest as it was.

    `fn` recorded the write; its first edge was the view's.
    """

    __slots__ = ("__weakref__", "fn", "spec")
    fn: Node | None
    spec: Any  # a _ViewSpec, or one of the core
    saved = ("fn",)

    @classmethod
    def of(cls, view: Tensor, base: Tensor, fn: Node) -> WriteToView:
        """Return the node of a base after a write to this view."""
        made = cls()
        first: Edge = base.edge
        made.edges = (first, *fn.edges[1:])
        made.fn = fn
        made.spec = _ViewSpec.of(view, base)
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
        if _is_on_arrays(self.spec, grad):
            return self._apply_to_array(grad.array, self.fn)
        spec = _whole(self.spec)
        base, view, _ = spec
        flat = base.put(spec.buffer(grad), grad)
        written, *others = self.fn.apply(aten["clone.default"](view.within(flat)))
        if self.edges[0] is None:
            return (None, *others)
        if written is None:
            written = aten["zeros_like.default"](view.within(flat))
        return (base.within(view.put(flat, written)), *others)

    def _apply_to_array(self, grad: NDArray[Any], fn: Node) -> Sequence[Any]:
        """Do what `apply` does in one copy of the gradient."""
        array = grad.copy()
        part = self.spec.part(array)
        written, *others = fn.apply(wrap(part.copy()))
        if self.edges[0] is None:
            return (None, *others)
        if written is None:
            part[...] = 0
        elif type(written) is Tensor and type(written.array) is np.ndarray:
            part[...] = written.array
        else:
            base, view, _ = _whole(self.spec)
            return (base.within(view.put(wrap(array.reshape(-1)), written)), *others)
        return (wrap(array), *others)
