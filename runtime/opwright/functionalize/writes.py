"""The write to a tensor of the level: it takes a new value, and so does the memory behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.errors import FakeKernelError
from opwright.functionalize.interpreter import Functionalization, on_shadows, tensors_in
from opwright.functionalize.memory import Memory, array_of, over_memory_of, overlaps_itself
from opwright.functionalize.resizing import follow, room_of
from opwright.functionalize.views import Step, restored
from opwright.levels.mode_kernels import mapped
from opwright.namespaces import aten
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.errors import DispatchError
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Writing"]

# What writes one number everywhere, also where several elements are one position.
_SAME: Final = frozenset(("fill_", "zero_"))


class Writing:
    """A call that writes. Where it may raise an error that the functional call does not, or resizes `out`, the eager
    call is made on tensors without data (Note [Shadows] in `memory`), once."""

    def __init__(self, level: Functionalization, operator: Operator, args: tuple[Any, ...]) -> None:
        self._level = level
        self._operator = operator
        self._args = args
        self._is_run = False
        self._written = [
            level.inner(each) for position in operator.signature.written for each in tensors_in(args[position])
        ]
        self._outs: dict[int, tuple[Tensor, int]] = {}  # what shadows of written tensors become; the size they had

    def check(self) -> None:
        """Raise what the eager call would, where it writes to memory that several of its elements or operands share."""
        overlapping = [each for each in self._written if overlaps_itself(self._level.shadow(each))]
        if overlapping or self.shared():
            self._run()
        # An `out` of another shape is given memory of its own.
        overlapping = [each for each in overlapping if self._out(each)[0].shape == self._level.shadow(each).shape]
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
        given = [each for value in self._args for each in tensors_in(value)]
        if len(given) < 2:
            return []
        written = {id(array_of(each).memory) for each in self._written}
        memories = [array_of(level.inner(each)).memory for each in given if level.has_memory(each)]
        counts = Counter(map(id, memories))
        several = {id(each): each for each in memories if id(each) in written and counts[id(each)] > 1}
        return list(several.values())

    def _run(self) -> None:
        """Make the call on tensors without data, for its errors. One that needs data is not made."""
        if self._is_run:
            return
        self._is_run = True
        for each in self._written:
            self._out(each)
        try:
            on_shadows(self._operator.call, *[mapped(value, self._operand) for value in self._args])
        except FakeKernelError:
            return
        except DispatchError:
            if self._operator.home is not None:  # one of a user without a fake kernel
                raise

    def _operand(self, tensor: Tensor) -> Tensor:
        """Return the tensor without data for an operand: for one that is written, another one over its memory."""
        level = self._level
        known = self._outs.get(id(level.inner(tensor))) if level.has_memory(tensor) else None
        return level.shadow(tensor) if known is None else known[0]

    def _out(self, inner: Tensor) -> tuple[Tensor, int]:
        known = self._outs.get(id(inner))
        if known is None:
            shadow = self._level.shadow(inner)
            known = self._outs[id(inner)] = over_memory_of(shadow), room_of(shadow)
        return known

    def write(self, tensor: Tensor, new: Tensor) -> None:
        """Give a tensor that the call writes its new value."""
        level = self._level
        inner = level.inner(tensor)
        shadow = level.shadow(inner)
        is_other = tuple(new.shape) != tuple(shadow.shape)
        if is_other or new.dtype is not shadow.dtype:
            self._run()
            if new.dtype is not shadow.dtype:
                new = level.call(_cast, new, shadow)
        if is_other:
            self._resize(inner, shadow, new)
        array = array_of(inner)
        array.memory.become(level.call(_put, array.memory, array.steps, new, level.removes_views))

    def _resize(self, inner: Tensor, shadow: Tensor, new: Tensor) -> None:
        """Let an `out` take the shape of its value. Raises RuntimeError for what is no `out`."""
        out, room = self._out(inner)
        if tuple(new.shape) != tuple(out.shape):
            if "out" not in self._operator.tags:
                raise RuntimeError(
                    f"functionalize: {self._operator.name} made {dtype_name(new.dtype)} values of shape "
                    f"{list(new.shape)} for a tensor of shape {list(shadow.shape)}"
                )
            on_shadows(aten["resize_.default"], out, list(new.shape))  # it is as large as data says
        shadow.array = out.array
        follow(self._level, inner, room, new)


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
