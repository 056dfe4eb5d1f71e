"""Writes: a tensor of the level takes a new value, and so does the memory behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright.arrays.dtypes import dtype_name
from opwright.arrays.layouts import may_overlap_itself
from opwright.dispatch.aten import aten
from opwright.errors import FakeKernelError
from opwright.functionalize.interpreter import Functionalization, on_shadows, tensors_in
from opwright.functionalize.memory import Layout, Memory, array_of
from opwright.functionalize.views import Step, restored
from opwright.levels.kernels import mapped
from opwright.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["check_write", "write"]


# What writes one number everywhere, also where several elements are one place.
_SAME: Final = frozenset(("fill_", "zero_"))


def check_write(level: Functionalization, operator: Operator, args: tuple[Any, ...]) -> None:
    """Raise what the eager call would, where it writes to memory that several of its elements or operands share."""
    written = [each for place in operator.signature.written for each in tensors_in(args[place])]
    memories = {id(array_of(level.inner(each)).memory) for each in written}
    others = [level.inner(each) for value in args for each in tensors_in(value) if _is_known(level, each)]
    is_shared = sum(id(array_of(each).memory) in memories for each in _distinct(others)) > len(_distinct(written))
    overlapping = [each for each in written if _overlaps_itself(level, each)]
    if is_shared or overlapping:
        run_on_shadows(level, operator, args)
    if overlapping and (operator.base not in _SAME or not array_of(level.inner(overlapping[0])).steps):
        raise RuntimeError(
            f"functionalize: {operator.name} would write to a tensor of shape {list(overlapping[0].shape)} in which "
            "several elements are one place of memory: clone() it first"
        )
    for each in written:
        if array_of(level.inner(each)).memory.has_parts_elsewhere:
            raise RuntimeError(
                f"functionalize: {operator.name} would write to a tensor that shares a part of its memory with another "
                "tensor from outside of the function: give it one of both, and let it make views of that, or clone them"
            )


def _is_known(level: Functionalization, tensor: Tensor) -> bool:
    return level.is_own(tensor) or level.has_adopted(tensor)


def _distinct(tensors: list[Tensor]) -> list[Tensor]:
    return list({id(each): each for each in tensors}.values())


def _overlaps_itself(level: Functionalization, tensor: Tensor) -> bool:
    shadow = level.shadow(level.inner(tensor))
    return may_overlap_itself(tuple(shadow.shape), shadow.stride()) or _windows_overlap(shadow)


def _windows_overlap(shadow: Tensor) -> bool:
    """Whether windows of a tensor meet, as those of `unfold` do. Of symbolic sizes nobody can say."""
    dims = [(stride, size) for stride, size in zip(shadow.stride(), shadow.shape, strict=True) if size != 1]
    if not all(type(each) is int for pair in dims for each in pair):
        return False
    reach, may_meet = 0, False
    for stride, size in sorted(dims):
        may_meet = may_meet or stride <= reach
        reach += (size - 1) * stride
    if not may_meet or any(size == 0 for _, size in dims):
        return False
    places = np.zeros((), np.int64)
    for stride, size in dims:
        places = np.add.outer(places, np.arange(size) * stride)
    return bool(np.unique(places).size < places.size)


def run_on_shadows(level: Functionalization, operator: Operator, args: tuple[Any, ...]) -> None:
    """Run a call on tensors without data, which raises what the eager call would. One that needs data is not run."""
    shadows = [mapped(value, level.shadow) for value in args]
    try:
        on_shadows(operator.call, *shadows)
    except FakeKernelError:
        return


def write(level: Functionalization, operator: Operator, args: tuple[Any, ...], tensor: Tensor, new: Tensor) -> None:
    """Give a tensor that the call writes its new value."""
    inner = level.inner(tensor)
    array = array_of(inner)
    shadow = level.shadow(inner)
    if tuple(new.shape) != tuple(shadow.shape) or new.dtype is not shadow.dtype:
        before = tuple(shadow.shape)
        run_on_shadows(level, operator, args)
        if new.dtype is not shadow.dtype:
            new = level.call(_cast, new, shadow)
        if tuple(shadow.shape) != before:  # `out` was resized
            array.memory = Memory(new, Layout.of(shadow), level)
            array.steps = ()
            array.seen = -1
    if tuple(new.shape) != tuple(shadow.shape):
        raise RuntimeError(
            f"functionalize: {operator.name} made {dtype_name(new.dtype)} values of shape {list(new.shape)} for a "
            f"tensor of shape {list(shadow.shape)}"
        )
    memory = array.memory
    memory.become(level.call(_put, memory, array.steps, new, level.removes_views))


def _cast(new: Tensor, shadow: Tensor) -> Tensor:
    made: Tensor = aten["_to_copy.default"](new, dtype=shadow.dtype)
    return made


def _put(memory: Memory, steps: tuple[Step, ...], new: Tensor, is_copy: bool) -> Tensor:
    """Return the memory's value with a new value of what the steps show."""
    bases = [memory.value][: len(steps)]
    for step in steps[:-1]:
        bases.append(step.show(bases[-1]))
    for step, base in zip(reversed(steps), reversed(bases), strict=True):
        new = step.put(base, new)
    return restored(new, memory.layout, is_copy=is_copy)
