"""Calls of view operators: their results are tensors of the level that share the memory of an argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opwright.errors import FakeKernelError
from opwright.functionalize.interpreter import Functionalization, on_shadows, tensors_in
from opwright.functionalize.memory import Layout, Memory, array_of, on_memory, overlaps_itself
from opwright.functionalize.views import UNDONE, Step, Strided, Undo, View, scattering, undone_by_strides
from opwright.levels.mode_kernels import mapped
from opwright.variants.functional_variants import copy_of, scatter_of
from opwright_core.arrays.dtypes import COMPLEX, dtype_name, to_real
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.errors import DispatchError
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["call_view", "how_undone", "shadows_of"]

Arguments = tuple[Any, ...]


def call_view(level: Functionalization, operator: Operator, args: Arguments) -> Any:
    """Return the results of a view operator, each as the view of its own that it is."""
    aliases = operator.signature.aliases
    shadows = _view_shadows(level, operator, args)
    results = [shadows] if len(aliases) == 1 else list(shadows)
    made: list[Any] = []
    for number, (shadow, alias) in enumerate(zip(results, aliases, strict=True)):
        picked = () if len(aliases) == 1 else (number,)
        if alias is None:
            made.append(_new_ones(level, operator, args, picked))
        elif isinstance(shadow, list):
            made.append([_view(level, *part) for part in _parts(level, operator, args, alias, shadow, picked)])
        else:
            made.append(_view(level, operator, args, alias, shadow, picked))
    return made[0] if len(made) == 1 else tuple(made)


def shadows_of(level: Functionalization, operator: Operator, args: Arguments) -> Any:
    """Return the results of the call on tensors without data; None where it needs data."""
    try:
        result = on_shadows(operator.call, *[mapped(value, level.shadow) for value in args])
        return result if all(each.is_meta for each in tensors_in(result)) else None
    except FakeKernelError:
        return None
    except DispatchError:
        if operator.home is not None:  # one of a user without a fake kernel
            raise
        return None


def _view_shadows(level: Functionalization, operator: Operator, args: Arguments) -> Any:
    if (found := shadows_of(level, operator, args)) is not None:
        return found
    if level.removes_views:
        raise RuntimeError(
            f"functionalize: what {operator.name} shows of its argument is not known without data, so that no operator "
            "can copy it: give it a fake kernel (opwright.library.register_fake)"
        )
    # An operator of a user without a fake kernel: its results lie in the base's value as in the base.
    values = [mapped(value, level.value) for value in args]
    result = level.call(operator.call, *values)
    alias = next(position for position in operator.signature.aliases if position is not None)
    return mapped(result, lambda each: _shadow_of_value(level, each, args[alias], values[alias]))


def _shadow_of_value(level: Functionalization, value: Tensor, base: Tensor, whole: Tensor) -> Tensor:
    shadow = level.shadow(level.inner(base))
    offset = value.storage_offset() - whole.storage_offset() + shadow.storage_offset()
    as_strided = find_operator("aten::as_strided")
    made: Tensor = on_shadows(as_strided.call, shadow, list(value.shape), list(value.stride()), offset)
    return made


def _new_ones(level: Functionalization, operator: Operator, args: Arguments, picked: tuple[int, ...]) -> Any:
    result = level.call(operator.call, *[mapped(value, level.value) for value in args])
    for each in picked:
        result = result[each]
    return mapped(result, level.fresh)


_Part = tuple["Operator", Arguments, int, Tensor, tuple[int, ...]]


def _parts(
    level: Functionalization,
    operator: Operator,
    args: Arguments,
    position: int,
    shadows: list[Tensor],
    picked: tuple[int, ...],
) -> Iterator[_Part]:
    """Yield the single views that several are: `select` for each of `unbind`, `slice` for each of `split`."""
    names = operator.signature.names
    if operator.name == "aten::unbind.int":
        select = find_operator("aten::select.int")
        for index, shadow in enumerate(shadows):
            yield select, (args[0], args[1], index), 0, shadow, ()
    elif operator.name in ("aten::split.Tensor", "aten::split_with_sizes"):
        dim, start, cut = args[names.index("dim")], 0, find_operator("aten::slice.Tensor")
        for shadow in shadows:
            end = start + shadow.shape[dim]
            yield cut, (args[0], dim, start, end, 1), 0, shadow, ()
            start = end
    else:
        for index, shadow in enumerate(shadows):
            yield operator, args, position, shadow, (*picked, index)


def _view(
    level: Functionalization,
    operator: Operator,
    args: Arguments,
    position: int,
    shadow: Tensor,
    picked: tuple[int, ...],
) -> Tensor:
    base = level.inner(args[position])
    array = array_of(base)
    memory = array.memory
    whole = Layout.of(level.shadow(base))
    # Of the storage, whatever view it is called with; nor can a part be put into what overlaps itself.
    if operator.name == "aten::as_strided" or (array.steps and overlaps_itself(level.shadow(base))):
        steps = _of_memory(level, memory, operator, shadow)
        return on_memory(memory, steps, level.replay(memory.value, steps), shadow)
    step = _step(level, operator, args, position, Layout.of(shadow), whole, picked)
    return on_memory(memory, (*array.steps, step), level.replay(array.value, (step,)), shadow)


def _of_memory(level: Functionalization, memory: Memory, operator: Operator, shadow: Tensor) -> tuple[Step, ...]:
    """Return the steps from a memory to a part of it, by strides. Raises RuntimeError for a dtype of other size."""
    shape, strides, offset = whole = memory.layout
    own, dtype = memory.value.dtype, shadow.dtype
    steps: tuple[Step, ...] = ()
    if own in COMPLEX and to_real(own) is dtype:
        steps = (_plain_view(level, "aten::view_as_real", (None,)),)
        whole = Layout((*shape, 2), (*(2 * stride for stride in strides), 1), 2 * offset)
    elif own is not dtype and own.itemsize == dtype.itemsize:
        steps = (_plain_view(level, "aten::view.dtype", (None, dtype)),)
    elif own is not dtype:
        raise RuntimeError(
            f"functionalize: {operator.name} of a view of {dtype_name(dtype)} over memory of {dtype_name(own)} has no "
            "functional form: clone() it first"
        )
    return (*steps, Strided(Layout.of(shadow), whole, level.removes_views))


def _plain_view(level: Functionalization, name: str, args: Arguments) -> View:
    operator = find_operator(name)
    shown = copy_of(operator) if level.removes_views else operator
    assert shown is not None  # these have one
    return View(shown, args, 0, UNDONE[name], (), level.removes_views)


def _step(
    level: Functionalization,
    operator: Operator,
    args: Arguments,
    position: int,
    part: Layout,
    whole: Layout,
    picked: tuple[int, ...],
) -> Step:
    """Return the step that a view is, in operators that say how it is undone."""
    if operator.name == "aten::numpy_T":
        operator, args = find_operator("aten::permute"), (args[0], list(range(len(whole.shape)))[::-1])
    elif operator.name == "aten::_reshape_alias":
        operator, args = find_operator("aten::view"), (args[0], args[1])
    undo = how_undone(operator) or undone_by_strides(part, whole)
    shown = copy_of(operator) if level.removes_views else operator
    if shown is None:
        return Strided(part, whole, level.removes_views)
    values = [None if at == position else mapped(value, level.value) for at, value in enumerate(args)]
    return View(shown, tuple(values), position, undo, picked, level.removes_views)


def how_undone(operator: Operator) -> Undo | None:
    """Return how a view is undone by what its operator is; None where strides must say it."""
    if operator.home is None:
        return None
    scatter = scatter_of(operator)
    return UNDONE.get(operator.name) if scatter is None else scattering(scatter)
