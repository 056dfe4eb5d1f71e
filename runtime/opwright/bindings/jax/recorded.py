"""Gradients made of operators that C handles, and of sums and transposes: XLA calls what a formula calls.

What that is is found out without data. A backward kernel that a project declares is such a formula: one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from opwright.bindings.fakes import fake
from opwright.bindings.jax.programs import Call, Form, Slot, Transposed, tensors_of
from opwright.fake.modes import FakeTensorMode
from opwright.python_dispatch import TorchDispatchMode
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["recorded_call"]

# Calls C for one operator: JAX's arrays of the results, None where C does not take the operands.
_Emit = Callable[[Call, Sequence[Any], Sequence[Form]], Any]


@dataclass(frozen=True)
class _Step:
    """A call: `operands` and `results` are numbers of values, among all that a formula has."""

    call: Call
    operands: tuple[int, ...]
    results: tuple[int, ...]
    forms: tuple[Form, ...]


class _Recorder(TorchDispatchMode):
    """The block in which operators are recorded. Values are told apart by their arrays, which it keeps."""

    def __init__(self, given: Sequence[Tensor]) -> None:
        super().__init__()
        self._values = [each.array for each in given]
        self.places = {id(each): number for number, each in enumerate(self._values)}
        self.steps: list[_Step] = []
        self.is_known = True  # whether each value comes of operands, and none is written

    def __torch_dispatch__(
        self,
        func: Operator,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call an operator, and take note of it."""
        named = dict(kwargs or {})
        result = func(*args, **named)
        operands: list[int] = []
        values = tuple([self._slotted(value, operands) for value in func.signature.bind(tuple(args), named)])
        found = tensors_of(result)
        numbers = tuple([self._number(each) for each in found])
        forms = tuple([(tuple(each.shape), each.dtype) for each in found])
        self.steps.append(_Step(Call(func.name, (), values), tuple(operands), numbers, forms))
        return result

    def _number(self, result: Tensor) -> int:
        self.is_known &= id(result.array) not in self.places
        self._values.append(result.array)
        self.places[id(result.array)] = len(self._values) - 1
        return len(self._values) - 1

    def _slotted(self, value: Any, operands: list[int]) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._slotted(each, operands) for each in value]
        if not isinstance(value, Tensor):
            return value
        number = self.places.get(id(value.array))
        self.is_known &= number is not None
        operands.append(-1 if number is None else number)
        return Slot(len(operands) - 1)


@lru_cache(maxsize=4096)
def _steps(program: Transposed, given: tuple[Form, ...]) -> tuple[list[_Step], list[int]] | None:
    """Return the calls that the results need, in order, and the numbers of these; None where not all is known."""
    with FakeTensorMode() as mode:
        fakes = [fake(shape, dtype, mode) for shape, dtype in given]
        with _Recorder(fakes) as recorder:
            try:
                results = [recorder.places.get(id(each.array)) for each in program.run(fakes)]
            except Exception:  # Python says when it is called back
                return None
    if not recorder.is_known or None in results:
        return None
    needed = {number for number in results if number is not None}
    steps = []
    for step in reversed(recorder.steps):
        if needed & set(step.results):
            needed |= set(step.operands)
            steps.append(step)
    return steps[::-1], [number for number in results if number is not None]


def recorded_call(program: Transposed, operands: Sequence[Any], emit: _Emit) -> list[Any] | None:
    """Return the gradients as JAX's arrays, by calls of C alone; None where there is something else."""
    found = _steps(program, tuple([(tuple(each.shape), np.dtype(each.dtype)) for each in operands]))
    if found is None:
        return None
    steps, numbers = found
    values = dict(enumerate(operands))
    for step in steps:
        given = [values[number] for number in step.operands]
        own = _OWN.get(step.call.operator)
        made = emit(step.call, given, step.forms) if own is None else own(step.call, given)
        if made is None:
            return None
        values.update(zip(step.results, made, strict=True))
    return [values[number] for number in numbers]


def _sum(call: Call, given: Sequence[Any]) -> list[Any] | None:
    _, dims, keeps_dims, dtype = call.values
    return None if dtype is not None or dims is None else [given[0].sum(tuple(dims), keepdims=keeps_dims)]


def _view(move: Callable[..., Any]) -> Callable[[Call, Sequence[Any]], list[Any]]:
    return lambda call, given: [move(given[0], *call.values[1:])]


def _swapped(array: Any, one: int = -2, other: int = -1) -> Any:
    return jax.numpy.swapaxes(array, one, other)


# What XLA does itself: sums over what was broadcast, and dimensions in another order.
_OWN: dict[str, Callable[[Call, Sequence[Any]], list[Any] | None]] = {
    "aten::sum.dim_IntList": _sum,
    "aten::transpose.int": _view(_swapped),
    "aten::mT": _view(_swapped),
    "aten::unsqueeze": _view(lambda array, dim: jax.numpy.expand_dims(array, dim)),
    "aten::permute": _view(lambda array, dims: jax.numpy.transpose(array, dims)),
}
