"""Derivatives made of operators that C handles, and of what XLA does itself: XLA calls what a formula calls.

What that is is found out without data. A backward kernel that a project declares is such a formula: one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opwright.fake.modes import FakeTensorMode
from opwright.python_dispatch import TorchDispatchMode
from opwright_bindings.fakes import fake
from opwright_bindings.jax.runtime.programs import Call, Form, Slot, Tangents, Transposed, tensors_of
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
def _steps(program: Tangents | Transposed, given: tuple[Form, ...]) -> tuple[list[_Step], list[int]] | None:
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


def recorded_call(program: Tangents | Transposed, operands: Sequence[Any], emit: _Emit) -> list[Any] | None:
    """Return a derivative as JAX's arrays, by calls of C and of XLA; None where there is something else."""
    found = _steps(program, tuple([(tuple(each.shape), np.dtype(each.dtype)) for each in operands]))
    if found is None:
        return None
    steps, numbers = found
    values = dict(enumerate(operands))
    for step in steps:
        given = [values[number] for number in step.operands]
        own = _OWN.get(step.call.operator)
        made = emit(step.call, given, step.forms) if own is None else _by_xla(own, step, given)
        if made is None:
            return None
        values.update(zip(step.results, made, strict=True))
    return [values[number] for number in numbers]


def _by_xla(own: Callable[..., Any], step: _Step, given: Sequence[Any]) -> list[Any] | None:
    """Return what XLA computes; None where it would give another form than the operator does."""
    values = [given[value.place] if isinstance(value, Slot) else value for value in step.call.values]
    found = own(*values)
    (form,) = step.forms
    return [found] if form == (tuple(found.shape), np.dtype(found.dtype)) and form[1].kind in "bf" else None


def _reduced(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda array, dims, keeps_dims, dtype: reduce(
        array, tuple(dims) if dims else None, dtype, keepdims=keeps_dims
    )


def _swapped(array: Any, one: int = -2, other: int = -1) -> Any:
    return jnp.swapaxes(array, one, other)


def _zeros(array: Any, sizes: Sequence[int], dtype: Any, *_: Any) -> Any:
    return jnp.zeros(tuple(sizes), dtype or array.dtype)


def _scaled(array: Any, alpha: Any) -> Any:
    return array if alpha == 1 else array * alpha


# What XLA does itself: it joins it with what stands beside it.
_OWN: dict[str, Callable[..., Any]] = {
    "aten::sum.dim_IntList": _reduced(jnp.sum),
    "aten::mean.dim": _reduced(jnp.mean),
    "aten::transpose.int": _swapped,
    "aten::mT": _swapped,
    "aten::unsqueeze": jnp.expand_dims,
    "aten::permute": jnp.transpose,
    "aten::view": jnp.reshape,
    "aten::new_zeros": _zeros,
    "aten::zeros_like": lambda array, *_: jnp.zeros_like(array),
    "aten::matmul": jnp.matmul,
    **{
        f"aten::{name}.{kind}": function
        for name, function in (
            ("mul", jnp.multiply),
            ("div", jnp.divide),
            ("add", lambda a, b, alpha: a + _scaled(b, alpha)),
            ("sub", lambda a, b, alpha: a - _scaled(b, alpha)),
            ("rsub", lambda a, b, alpha: b - _scaled(a, alpha)),
            ("lt", jnp.less),
            ("le", jnp.less_equal),
            ("gt", jnp.greater),
            ("ge", jnp.greater_equal),
            ("eq", jnp.equal),
            ("ne", jnp.not_equal),
            ("bitwise_and", jnp.bitwise_and),
        )
        for kind in ("Tensor", "Scalar")
    },
    **{f"aten::where.{kind}": jnp.where for kind in ("self", "ScalarSelf", "ScalarOther")},
    **{f"aten::{name}": getattr(jnp, name) for name in ("abs", "cos", "exp", "log", "sin", "sqrt", "square", "tanh")},
    **{f"aten::{name}": getattr(jnp, name) for name in ("sign", "maximum", "minimum", "reciprocal")},
    "aten::neg": jnp.negative,
    "aten::rsqrt": jax.lax.rsqrt,
    "aten::sgn": jnp.sign,
    "aten::sigmoid": lambda array: 1 / (1 + jnp.exp(-array)),
    "aten::sigmoid_backward": lambda grad, result: grad * (1 - result) * result,
    "aten::tanh_backward": lambda grad, result: grad * (1 - result * result),
}
