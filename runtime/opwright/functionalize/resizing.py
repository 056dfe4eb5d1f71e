"""`resize_`: a tensor takes another shape over its memory, or goes on with a larger one."""

from __future__ import annotations

from typing import Any

from opwright.dispatch.aten import aten
from opwright.dispatch.operator import find_operator
from opwright.functionalize.interpreter import Functionalization, on_shadows
from opwright.functionalize.memory import Layout, Memory, array_of
from opwright.functionalize.views import Strided
from opwright.state import Modes
from opwright.tensors.tensor import Tensor

__all__ = ["resize"]


def resize(level: Functionalization, modes: Modes, tensor: Tensor, size: Any, memory_format: Any) -> Tensor:
    """Serve `resize_`. As the eager tensor, one whose memory grows leaves its views behind."""
    inner = level.inner(tensor)
    shadow = level.shadow(inner)
    room = _length(shadow)
    on_shadows(find_operator("aten::resize_").call, shadow, size, memory_format)
    array = array_of(inner)
    memory = array.memory
    layout = Layout.of(shadow)
    if _length(shadow) > room:
        flat = level.call(_grown, memory, room, _length(shadow))
        memory = array.memory = Memory(flat, Layout((_length(shadow),), (1,), 0), level)
    array.steps = (Strided(layout, memory.layout, level.removes_views),)
    array.seen = -1
    return tensor


def _length(shadow: Tensor) -> int:
    length: int = shadow.untyped_storage().flat().shape[0]
    return length


def _grown(memory: Memory, room: int, length: int) -> Tensor:
    """Return the elements of a memory, and further ones that nobody wrote, in a row."""
    shape, strides, offset = memory.layout
    row = aten["new_empty.default"](memory.value, [room])
    filled = aten["as_strided_scatter.default"](row, memory.value, list(shape), list(strides), offset)
    made: Tensor = aten["cat.default"]([filled, aten["new_empty.default"](memory.value, [length - room])])
    return made
