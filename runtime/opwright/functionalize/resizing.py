"""`resize_`: a tensor takes another shape over its memory, or goes on with a larger one."""

from __future__ import annotations

from typing import Any

from opwright.functionalize.interpreter import Functionalization, on_shadows
from opwright.functionalize.memory import Layout, Memory, array_of
from opwright.functionalize.views import Strided
from opwright.namespaces import aten
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.arrays.layouts import count, is_contiguous
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["follow", "resize", "room_of"]


def resize(level: Functionalization, tensor: Tensor, size: Any, memory_format: Any) -> Tensor:
    """Run `resize_`. As the eager tensor, one whose memory grows leaves its views behind."""
    shadow = level.shadow(level.inner(tensor))
    room = room_of(shadow)
    on_shadows(find_operator("aten::resize_").call, shadow, size, memory_format)
    follow(level, tensor, room)
    return tensor


def room_of(shadow: Tensor) -> int:
    """Return how many elements the storage of a tensor has."""
    length: int = shadow.untyped_storage().flat().nbytes // shadow.itemsize
    return length


def follow(level: Functionalization, tensor: Tensor, room: int, value: Tensor | None = None) -> None:
    """Let a tensor be what its shadow became, whose storage had so much room before it was resized; if `value` is what
    it becomes, that may be the whole of a larger memory."""
    array = array_of(level.inner(tensor))
    assert array.shadow is not None  # it was resized
    length, memory = room_of(array.shadow), array.memory
    if memory.value.dtype is not array.shadow.dtype:
        raise RuntimeError(
            f"functionalize: a view of {dtype_name(array.shadow.dtype)} over memory of "
            f"{dtype_name(memory.value.dtype)} cannot be resized: clone() it first"
        )
    while memory.grown is not None:
        memory = memory.grown
        room = count(memory.layout.shape)
    layout = Layout.of(array.shadow)
    array.seen = -1
    if length > room and value is not None and layout.offset == 0 and is_contiguous(layout.shape, layout.strides):
        memory.grown = array.memory = Memory(value, layout, level)
        array.steps = ()
        return
    if length > room:
        row = level.call(_grown, memory, room, length)
        memory.grown = memory = Memory(row, Layout((length,), (1,), 0), level)
    array.memory = memory
    array.steps = (Strided(layout, memory.layout, level.removes_views),)


def _grown(memory: Memory, room: int, length: int) -> Tensor:
    """Return the elements of a memory, and further ones that nobody wrote, in a row."""
    shape, strides, offset = memory.layout
    row = aten["new_empty.default"](memory.value, [room])
    filled = aten["as_strided_scatter.default"](row, memory.value, list(shape), list(strides), offset)
    made: Tensor = aten["cat.default"]([filled, aten["new_empty.default"](memory.value, [length - room])])
    return made
