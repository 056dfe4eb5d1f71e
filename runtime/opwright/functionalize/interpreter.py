"""The interpreter of `functionalize`: tensors of its level have values that are replaced, never written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from opwright.functionalize.memory import FunctionalArray, Layout, Memory, array_of, new_shadow, on_memory
from opwright.functionalize.views import Step, Strided
from opwright.levels.interpreter import Handler, Interpreter
from opwright.levels.mode_kernels import mapped
from opwright.namespaces import aten
from opwright_core.arrays.layouts import is_dense, span, surely_empty
from opwright_core.arrays.overlap import may_share
from opwright_core.state import Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Functionalization", "on_shadows", "tensors_in"]


class _Adopted(NamedTuple):
    """A tensor of an outer level, and the one of this level that stands for it."""

    tensor: Tensor
    inner: Tensor
    memory: Memory
    is_owner: bool  # of the memory: it is written back to this tensor


class Functionalization(Interpreter):
    """The level of a function that is functionalised; with `removes_views` nothing is a view of anything, either."""

    __slots__ = ("_adopted", "removes_views")
    name: ClassVar[str] = "functionalize"
    shown_as: ClassVar[str] = "FunctionalTensor"

    def __init__(self, removes_views: bool = False) -> None:
        super().__init__()
        self.removes_views = removes_views
        self._adopted: dict[int, _Adopted] = {}

    @classmethod
    def handler_of(cls, operator: Operator) -> Handler:
        """Return what handles an operator's calls: the way of its kind."""
        from opwright.functionalize.ways import way_of

        return way_of(operator).handler

    def call_function(self, function: Any, modes: Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an `autograd.Function` on values: its forward is run below this level, where autograd is."""
        values = [mapped(value, self.value) for value in args]
        try:  # (Note [Interrupted blocks])
            set_modes(self.below(modes))
            result = function.apply(*values, **kwargs)
        finally:
            set_modes(modes)
        return self.results(result, args, values)

    def handled_in(self, modes: Modes) -> Modes:
        """Return the modes of the call: handlers call functions on values, and others at this level."""
        return modes

    def results(self, result: Any, args: Sequence[Any], values: Sequence[Any], shadows: Any = None) -> Any:
        """Return results of a call with values as new tensors of the level. What is a value is the argument itself.
        `shadows` are the results of the call without data, where these are known."""
        given = {
            id(value): arg
            for several, own in zip(values, args, strict=True)
            for value, arg in zip(tensors_in(several), tensors_in(own), strict=True)
        }
        return self._put(result, shadows, given)

    def _put(self, value: Any, shadow: Any, given: Mapping[int, Tensor]) -> Any:
        if isinstance(value, Tensor):
            known = given.get(id(value))
            return self.fresh(value, shadow) if known is None else known
        if isinstance(value, list | tuple):
            pairs = zip(value, shadow or [None] * len(value), strict=True)
            made = [self._put(*pair, given) for pair in pairs]
            return made if isinstance(value, list) else tuple(made)
        return value

    def forget(self) -> None:
        """Let go of the tensors from outside, once nothing is written to them any more."""
        self._adopted.clear()

    # From tensors to values

    def is_own(self, tensor: Tensor) -> bool:
        """Whether a tensor is of this level."""
        array = tensor.array
        return type(array) is FunctionalArray and array.level is self

    def has_memory(self, tensor: Tensor) -> bool:
        """Whether a tensor is of this level, or one of it stands for it; others are constants."""
        return self.is_own(tensor) or id(tensor) in self._adopted

    def value(self, tensor: Tensor) -> Tensor:
        """Return the value of a tensor; itself, if it is a constant to this level."""
        if not self.is_own(tensor):
            adopted = self._adopted.get(id(tensor))
            if adopted is None:
                return tensor
            tensor = adopted.inner
        return array_of(tensor).value

    def inner(self, tensor: Tensor) -> Tensor:
        """Return the tensor of this level that a tensor is or stands for. One that is seen for the first time is
        written back to at the end."""
        if self.is_own(tensor):
            return tensor
        known = self._adopted.get(id(tensor))
        if known is None:
            known = self._adopted[id(tensor)] = self._adopt(tensor)
        return known.inner

    def adopt_all(self, tensors: list[Tensor]) -> None:
        """Have tensors of this level stand for tensors from outside, larger ones first: others may be parts of them."""
        for tensor in sorted(tensors, key=lambda each: each.numel(), reverse=True):
            self.inner(tensor)

    def _adopt(self, tensor: Tensor) -> _Adopted:
        own = Layout.of(tensor)
        memory = Memory(tensor, own, self)
        for known in self._adopted.values():
            if known.is_owner and _may_meet(tensor, known.tensor):
                if _is_within(own, known.memory.layout):
                    return self._adopt_part(tensor, own, known)
                memory.has_parts_elsewhere = known.memory.has_parts_elsewhere = True
        return _Adopted(tensor, on_memory(memory, (), tensor, new_shadow(tensor, own)), memory, True)

    def _adopt_part(self, tensor: Tensor, own: Layout, whole: _Adopted) -> _Adopted:
        memory = whole.memory
        shape, strides, offset = own
        shadow = on_shadows(aten["as_strided.default"], self.shadow(whole.inner), list(shape), list(strides), offset)
        step = Strided(own, memory.layout, self.removes_views)
        value = self.replay(memory.value, (step,)) if memory.writes else tensor
        return _Adopted(tensor, on_memory(memory, (step,), value, shadow), memory, False)

    def fresh(self, value: Tensor, shadow: Tensor | None = None) -> Tensor:
        """Return a new tensor of this level, whose memory is its own. It is known what the eager one would be where
        `shadow` says it."""
        layout = None if shadow is None else Layout.of(shadow)
        return on_memory(Memory(value, layout, self), (), value, shadow)

    def shadow(self, tensor: Tensor) -> Tensor:
        """Return the tensor without data that is what the eager tensor would be."""
        if not self.is_own(tensor):
            known = self._adopted.get(id(tensor))
            if known is None:
                return new_shadow(tensor, Layout.of(tensor))
            tensor = known.inner
        array = array_of(tensor)
        if array.shadow is None:
            layout = array.memory.known_layout = Layout.of(array.held)
            array.shadow = new_shadow(array.held, layout)
        return array.shadow

    # Calls

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function on values, in the modes below this level."""
        modes = active_modes()
        if modes is None or modes.top is not self:
            return function(*args)
        try:  # (Note [Interrupted blocks])
            set_modes(self.below(modes))
            return function(*args)
        finally:
            set_modes(modes)

    def replay(self, value: Tensor, steps: Sequence[Step]) -> Tensor:
        """Return what views show of a memory's value."""
        shown: Tensor = self.call(_replayed, value, steps)
        return shown

    # The end

    def write_back(self) -> None:
        """Write what tensors of outer levels became to them. Called when the level was left."""
        for known in self._adopted.values():
            _write_back(known)


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors that an argument is or has."""
    if isinstance(value, Tensor):
        return [value]
    return [each for each in value if isinstance(each, Tensor)] if isinstance(value, list | tuple) else []


def on_shadows(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function on tensors without data, in no modes."""
    modes = active_modes()
    try:  # (Note [Interrupted blocks])
        set_modes(None)
        return function(*args)
    finally:
        set_modes(modes)


def _replayed(value: Tensor, steps: Sequence[Step]) -> Tensor:
    for step in steps:
        value = step.show(value)
    return value


def _may_meet(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors share memory, as far as their storages and the spans of their elements say."""
    storages = [None if each.extra is None else each.extra.storage for each in (first, second)]
    return storages[0] is not None and storages[0] is storages[1] and may_share(first.array, second.array)


def _is_within(part: Layout, whole: Layout) -> bool:
    """Whether a dense memory has all elements of a part."""
    if not is_dense(whole.shape, whole.strides) or surely_empty(part.shape):
        return False
    low, high = span(part.shape, part.strides)
    return (
        whole.offset <= part.offset + low and part.offset + high <= whole.offset + span(whole.shape, whole.strides)[1]
    )


def _write_back(known: _Adopted) -> None:
    tensor, inner, memory, is_owner = known
    array = array_of(inner)
    if is_owner and memory.writes:
        aten["copy_.default"](tensor, memory.value)
    if array.shadow is None or (array.memory is memory and Layout.of(array.shadow) == Layout.of(tensor)):
        return
    shape, strides, offset = Layout.of(array.shadow)
    is_moved = array.memory is not memory
    if is_moved:
        aten["resize_.default"](tensor, list(shape))
    if Layout.of(tensor) != (shape, strides, offset):
        aten["as_strided_.default"](tensor, list(shape), list(strides), offset)
    if is_moved:
        aten["copy_.default"](tensor, array.value)
