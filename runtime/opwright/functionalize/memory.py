"""Tensors of the level of `functionalize`: values of a shared memory, seen through views.

Note [Shadows]
What eager tensors would look like is computed by eager semantics: a tensor that is viewed or written has a `shadow`, a
tensor without data whose storage is that of all shadows of one memory. Views and calls that change shapes in place run
on shadows too, which gives shapes, strides, offsets, and the errors. So values may have other strides than eager
tensors have, and a program sees the eager ones.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from opwright.fake.arrays import META_PLACE, Place, meta_array, place_on, wrap_meta
from opwright.levels.inside import SHOWN, InsideArray, InsideStorage
from opwright.metadata.view_layouts import may_meet
from opwright.symbolic.questions import statically_known_true
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.layouts import Shape, span, surely_empty
from opwright_core.arrays.storage import Extra, Storage
from opwright_core.keys import FRONT_MODE, NONDENSE
from opwright_core.tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from opwright.functionalize.views import Step
    from opwright.levels.interpreter import Interpreter

__all__ = [
    "FunctionalArray",
    "Layout",
    "Memory",
    "array_of",
    "new_shadow",
    "on_memory",
    "over_memory_of",
    "overlaps_itself",
]


class Layout(NamedTuple):
    """The position of elements in their storage, in elements."""

    shape: Shape
    strides: Shape
    offset: int

    @classmethod
    def of(cls, tensor: Tensor) -> Layout:
        """Return the position of a tensor's elements."""
        return cls(tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())


def _none() -> None:
    """Return nothing: the storage is not made yet."""


class Memory:
    """The memory of tensors that share one: its whole value, at `layout`, and the number of writes to it.

    `level` computes what views show of it. The layout is known once a tensor on the memory has a shadow.
    `has_parts_elsewhere` says that tensors of outer levels share parts of it that are other memories here. `grown` is
    the larger memory that replaced it when a tensor was resized, for those that are resized after that.
    """

    __slots__ = ("grown", "has_parts_elsewhere", "known_layout", "level", "storage", "value", "writes")

    def __init__(self, value: Tensor, layout: Layout | None, level: Interpreter) -> None:
        self.value = value
        self.known_layout = layout
        self.has_parts_elsewhere = False
        self.grown: Memory | None = None
        self.level = level
        self.writes = 0
        self.storage: Callable[[], Storage | None] = _none  # a weak reference: its tensors hold it, and it holds one

    @property
    def layout(self) -> Layout:
        """Return the layout, as the eager memory has it."""
        assert self.known_layout is not None  # who asks has made a shadow before
        return self.known_layout

    def become(self, value: Tensor) -> None:
        """Take another value, which a write made."""
        self.value = value
        self.writes += 1
        storage = self.storage()
        if storage is not None:
            storage.version += 1


class FunctionalArray(InsideArray):
    """The array of a tensor of the level: what `steps` of views show of a memory, after `seen` writes to it."""

    __slots__ = ("held", "memory", "seen", "shadow", "steps")
    memory: Memory
    steps: tuple[Step, ...]
    seen: int
    held: Tensor
    shadow: Tensor | None

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        """Return the value that the tensor has after all writes."""
        memory = self.memory
        if self.seen != memory.writes:
            self.held = memory.level.replay(memory.value, self.steps)  # type: ignore[attr-defined]
            self.seen = memory.writes
        return self.held

    @property
    def _shown(self) -> Tensor:
        return self.held if self.shadow is None else self.shadow

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """Return the sizes."""
        return tuple(self._shown.shape)

    @property
    def strides(self) -> Shape:  # type: ignore[override]
        """Return the strides of the eager tensor, in bytes."""
        shown = self._shown
        size = shown.itemsize
        return tuple([stride * size for stride in shown.stride()])

    @property
    def offset(self) -> int:  # type: ignore[override]
        """Return the bytes in the eager tensor's storage before its first element."""
        shown = self._shown
        return shown.storage_offset() * shown.itemsize

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        """Return the dtype."""
        return self._shown.dtype

    @property
    def place(self) -> Place:  # type: ignore[override]
        """Return the value's device, as arrays without data have one."""
        return place_on(self.held.device)


def array_of(tensor: Tensor) -> FunctionalArray:
    """Return the array of a tensor of the level."""
    array: FunctionalArray = tensor.array
    return array


def on_memory(memory: Memory, steps: tuple[Step, ...], value: Tensor, shadow: Tensor | None) -> Tensor:
    """Return a tensor of the level that shows `value` of a memory, as it is now."""
    array = FunctionalArray()
    array.level = memory.level
    array.dim = None
    array.memory = memory
    array.steps = steps
    array.seen = memory.writes
    array.held = value
    array.shadow = shadow
    made = new_tensor()
    made.array = array
    made.keys = value.keys & SHOWN | FRONT_MODE | NONDENSE  # whether it is dense may change
    made.edge = None
    storage = memory.storage()
    if storage is None:
        storage = InsideStorage(array)
        memory.storage = weakref.ref(storage)
    made.extra = Extra(storage)
    return made


def new_shadow(tensor: Tensor, layout: Layout) -> Tensor:
    """Return a tensor without data at this position in a storage of its own, as long as that of `tensor`."""
    shape, strides, offset = layout
    if not any(map(_is_symbolic, (*shape, *strides, offset))) and tensor.extra is not None and tensor.extra.storage:
        length = max(_length(layout), tensor.extra.storage.flat(tensor.dtype).shape[0])
    else:
        length = _length(layout)
    root = meta_array((length,), (1,), tensor.dtype, META_PLACE)
    size = tensor.itemsize
    made = wrap_meta(root.lying(shape, [stride * size for stride in strides], offset * size))
    made.extra = Extra(Storage(root), None if tensor._base is None else wrap_meta(root))
    return made


def over_memory_of(shadow: Tensor) -> Tensor:
    """Return another tensor at the same position of the same storage."""
    made = wrap_meta(shadow.array)
    made.extra = Extra(shadow.untyped_storage(), shadow._base)
    return made


def _is_symbolic(size: object) -> bool:
    return type(size) is not int


def _length(layout: Layout) -> int:
    if surely_empty(layout.shape):
        return layout.offset
    return layout.offset + span(layout.shape, layout.strides)[1] + 1


def overlaps_itself(shadow: Tensor) -> bool:
    """Whether several elements of a tensor have one location in memory, as those that `expand` repeats, or windows that
    `unfold` makes. Of symbolic strides other than 0 nobody can say. Restricts no sizes."""
    shape, strides = tuple(shadow.shape), shadow.stride()
    if any(map(_is_symbolic, (*shape, *strides))):
        return any(
            statically_known_true(stride == 0) and statically_known_true(size > 1)
            for size, stride in zip(shape, strides, strict=True)
        )
    if not may_meet(shape, strides) or 0 in shape:
        return False
    positions = np.zeros((), np.int64)
    for stride, size in zip(strides, shape, strict=True):
        positions = np.add.outer(positions, np.arange(size) * stride)
    return bool(np.unique(positions).size < positions.size)
