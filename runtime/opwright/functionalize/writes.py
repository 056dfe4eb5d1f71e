"""The write to a tensor of the level: it takes a new value, and so does the memory behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.arrays.dtypes import dtype_name
from opwright.dispatch.aten import aten
from opwright.errors import DispatchError, FakeKernelError
from opwright.functionalize.interpreter import Functionalization, on_shadows, tensors_in
from opwright.functionalize.memory import Memory, array_of, over_memory_of, overlaps_itself
from opwright.functionalize.resizing import follow, room_of
from opwright.functionalize.views import Step, restored
from opwright.levels.kernels import mapped
from opwright.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["Writing"]

# What writes one number everywhere, also where several elements are one place.
_SAME: Final = frozenset(("fill_", "zero_"))


class Writing:
    """A call that writes. Where it may raise an error that the functional call does not, or resizes `out`, the eager
    call is made on tensors without data (Note [Shadows] in `memory`), once."""

    def __init__(self, level: Functionalization, operator: Operator, args: tuple[Any, ...]) -> None:
        self._level = level
        self._operator = operator
        self._args = args
        self._is_run = False
        self._written = [level.inner(each) for place in operator.signature.written for each in tensors_in(args[place])]
        self._rooms = {id(each): room_of(level.shadow(each)) for each in self._written}
        self._outs: dict[int, Tensor] = {}  # what shadows of written tensors become

    def check(self) -> None:
        """Raise what the eager call would, where it writes to memory that several of its elements or operands share."""
        overlapping = [each for each in self._written if overlaps_itself(self._level.shadow(each))]
        if overlapping or self.shared():
            self._run()
        if overlapping and (self._operator.base not in _SAME or not array_of(overlapping[0]).steps):
            raise RuntimeError(
                f"functionalize: {self._operator.name} would write to a tensor of shape {list(overlapping[0].shape)} "
                "in which several elements are one place of memory: clone() it first"
            )
        if any(array_of(each).memory.has_parts_elsewhere for each in self._written):
            raise RuntimeError(
                f"functionalize: {self._operator.name} would write to a tensor that shares a part of its memory with "
                "another tensor from outside of the function: give the function one tensor that has the memory of "
                "both, and let it make views of that, or clone them"
            )

    def shared(self) -> list[Memory]:
        """Return the memories that are written, and that several operands have."""
        level = self._level
        written = {id(array_of(each).memory) for each in self._written}
        given = [each for value in self._args for each in tensors_in(value)]
        memories = [array_of(level.inner(each)).memory for each in given if level.has_memory(each)]
        counts = Counter(map(id, memories))
        several = {id(each): each for each in memories if id(each) in written and counts[id(each)] > 1}
        return list(several.values())

    def _run(self) -> None:
        """Make the call on tensors without data, for its errors. One that needs data is not made."""
        if self._is_run:
            return
        self._is_run = True
        try:
            on_shadows(self._operator.call, *[mapped(value, self._shadow) for value in self._args])
        except FakeKernelError:
            return
        except DispatchError:
            if self._operator.home is not None:  # one of a user without a fake kernel
                raise

    def _shadow(self, tensor: Tensor) -> Tensor:
        """Return the tensor without data for an operand: for one that is written, another one over its memory."""
        shadow = self._level.shadow(tensor)
        inner = id(self._level.inner(tensor)) if self._level.has_memory(tensor) else 0
        if inner not in self._rooms:
            return shadow
        if inner not in self._outs:
            self._outs[inner] = over_memory_of(shadow)
        return self._outs[inner]

    def write(self, tensor: Tensor, new: Tensor) -> None:
        """Give a tensor that the call writes its new value."""
        level = self._level
        inner = level.inner(tensor)
        shadow = level.shadow(inner)
        if tuple(new.shape) != tuple(shadow.shape) or new.dtype is not shadow.dtype:
            self._run()
            if new.dtype is not shadow.dtype:
                new = level.call(_cast, new, shadow)
        out = self._shadow(inner)
        if tuple(new.shape) != tuple(out.shape) and "out" in self._operator.tags:  # it is as large as data says
            on_shadows(aten["resize_.default"], out, list(new.shape))
        if tuple(out.shape) != tuple(shadow.shape):
            shadow.array = out.array
            follow(level, inner, self._rooms[id(inner)], new)
        if tuple(new.shape) != tuple(shadow.shape):
            raise RuntimeError(
                f"functionalize: {self._operator.name} made {dtype_name(new.dtype)} values of shape {list(new.shape)} "
                f"for a tensor of shape {list(shadow.shape)}"
            )
        array = array_of(inner)
        array.memory.become(level.call(_put, array.memory, array.steps, new, level.removes_views))


def _cast(new: Tensor, shadow: Tensor) -> Tensor:
    made: Tensor = aten["_to_copy.default"](new, dtype=shadow.dtype)
    return made


def _put(memory: Memory, steps: Sequence[Step], new: Tensor, is_copy: bool) -> Tensor:
    """Return the memory's value with a new value of what the steps show."""
    bases = [memory.value][: len(steps)]
    for step in steps[:-1]:
        bases.append(step.show(bases[-1]))
    for step, base in zip(reversed(steps), reversed(bases), strict=True):
        new = step.put(base, new)
    return restored(new, memory.layout, is_copy=is_copy)
