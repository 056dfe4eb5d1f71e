"""A call of an operator, to be made again and again: its arguments by name, copies of them, results by position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opwright.creation.construction import as_tensor
from opwright.fake.arrays import MetaArray
from opwright.testing import layouts, sampler
from opwright_core.arrays.devices import is_array
from opwright_core.random_state.generator import generator_of, keeping_states
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Call", "Operand", "drawing_again", "results_of"]


class Operand(NamedTuple):
    """A Tensor of a call: the name that messages give it, its position among arguments or results, and the Tensor."""

    name: str
    position: int
    tensor: Tensor


class Call:
    """An operator and all its arguments in order."""

    def __init__(self, operator: Operator, arguments: Sequence[Any]) -> None:
        self.operator = operator
        self.arguments = list(arguments)
        names = operator.signature.names
        self.operands = [
            Operand(f"argument '{names[position]}{index}'", position, tensor)
            for position, value in enumerate(self.arguments)
            for index, tensor in _tensors(value)
        ]

    @classmethod
    def of(cls, operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """Return the call with these arguments; arrays become Tensors over their memory. Raises ArgumentError."""
        bound = operator.signature.bind(tuple(args), dict(kwargs))
        for argument in operator.signature.tensors:
            bound[argument.position] = _wrapped(bound[argument.position])
        return cls(operator, bound)

    def __call__(self) -> Any:
        """Make the call, and return its result."""
        return self.operator.call(*self.arguments)

    def copied(self, *, may_require_grad: bool = False) -> Call:
        """Return the call with Tensors in memory of their own, layouts and sharing kept."""
        return self.converted(layouts.Copies(may_require_grad=may_require_grad))

    def converted(self, convert: Callable[[Tensor], Any]) -> Call:
        """Return the call with something else for each Tensor."""
        return Call(self.operator, [sampler.converted_value(value, convert) for value in self.arguments])

    def with_argument(self, position: int, value: Any) -> Call:
        """Return the call with another value for one argument."""
        return Call(self.operator, [*self.arguments[:position], value, *self.arguments[position + 1 :]])

    @property
    def is_without_data(self) -> bool:
        """Whether some Tensor is fake, or on the meta device: there is nothing to compare then."""
        return any(type(operand.tensor.array) is MetaArray for operand in self.operands)

    @property
    def requires_grad(self) -> bool:
        """Whether some Tensor requires grad."""
        return any(operand.tensor.requires_grad for operand in self.operands)

    @property
    def written(self) -> list[Operand]:
        """Return the Tensors that the declaration says are written to."""
        return [operand for operand in self.operands if operand.position in self.operator.signature.written]


def drawing_again(call: Call) -> keeping_states:
    """Return a block in which random numbers are drawn as in the last and the next such block."""
    return keeping_states(generator_of(kind) for kind in {operand.tensor.device for operand in call.operands})


def results_of(operator: Operator, result: Any) -> list[Operand]:
    """Return the Tensors of a result, `result 1[0]` for those of lists."""
    if len(operator.signature.returns) == 1:
        return [Operand(f"the result{index}", 0, tensor) for index, tensor in _tensors(result)]
    return [
        Operand(f"result {position}{index}", position, tensor)
        for position, value in enumerate(result or ())
        for index, tensor in _tensors(value)
    ]


def _tensors(value: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield "", value
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            for inner, tensor in _tensors(item):
                yield f"[{index}]{inner}", tensor


def _wrapped(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_wrapped(item) for item in value]
    return as_tensor(value) if not isinstance(value, Tensor) and is_array(value) else value
