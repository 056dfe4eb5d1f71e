"""A part of `test_schema`: a call with plain arrays, and with arrays beside Tensors, gives what the call with Tensors
gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opwright.testing import assert_close, closeness
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.arrays.storage import PlainArrayError
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import ContractError
from opwright_core.keys import PYTHON
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_gate.checking.calls import Call, Operand, drawing_again, results_of

__all__ = ["check_plain_arrays"]


def check_plain_arrays(call: Call) -> None:
    """Raise ContractError where arrays instead of Tensors change values, dtypes or shapes of results or of what is
    written, or where the call raises. Tensors that no array stands for tell nothing."""
    operands = call.operands
    if not operands or any(type(each.tensor.array) is not np.ndarray or each.tensor.keys & PYTHON for each in operands):
        return
    # (no mode is switched on, not even no_grad: a call on plain arrays alone then takes its own way)
    given = call.copied()
    again = call.copied()
    with drawing_again(given):
        wanted = given()
    with drawing_again(given):
        repeated = again()
    is_one_answer = _problem((again, repeated), (given, wanted), True) is None
    for how, positions in _choices(call):
        arrays = _with_arrays(call.copied(), positions)
        try:
            with drawing_again(given):
                found = arrays()
        except PlainArrayError:  # an array is never resized
            continue
        except Exception as error:
            raise ContractError(
                f"{call.operator.name} {how} raises {type(error).__name__}, where it takes Tensors: {error}"
            ) from error
        problem = _problem((arrays, found), (given, wanted), is_one_answer)
        if problem is not None:
            raise ContractError(
                f"{call.operator.name} {how} is not what it is on Tensors: {problem}\n"
                f"Declaration: {call.operator.name}{call.operator.declaration}"
            )


def _choices(call: Call) -> Iterator[tuple[str, set[int]]]:
    """Return which Tensors become arrays: all, and of several the first one alone."""
    yield "on plain arrays", set(range(len(call.operands)))
    if len(call.operands) > 1:
        yield f"with a plain array for {call.operands[0].name}", {0}


def _with_arrays(call: Call, positions: set[int]) -> Call:
    chosen = {id(call.operands[position].tensor) for position in positions}
    return call.converted(lambda tensor: tensor.array if id(tensor) in chosen else tensor)


def _problem(call: tuple[Call, Any], known: tuple[Call, Any], has_values: bool) -> str | None:
    """Return how the results of a call, and what it wrote, differ from those known."""
    found, wanted = _given(*call), _given(*known)
    if len(found) != len(wanted):
        return f"it gives {len(found)} Tensors, not {len(wanted)}"
    problems = (_difference(one.tensor, other, has_values) for one, other in zip(found, wanted, strict=True))
    return next((problem for problem in problems if problem is not None), None)


def _given(call: Call, result: Any) -> list[Operand]:
    """Return the Tensors that a call gave, or arrays as such: results, then written arguments."""
    operator = call.operator
    found = results_of(operator, _wrapped(result))
    for position in sorted(operator.signature.written):
        found += _written(operator, position, call.arguments[position])
    return found


def _written(operator: Operator, position: int, value: Any) -> list[Operand]:
    values = value if isinstance(value, list | tuple) else [value]
    name = f"argument '{operator.signature.names[position]}'"
    return [Operand(name, position, each) for each in _wrapped(values) if each is not None]


def _wrapped(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_wrapped(item) for item in value]
    return wrap(value) if isinstance(value, np.ndarray) else value


def _difference(found: Tensor, wanted: Operand, has_values: bool) -> str | None:
    tensor = wanted.tensor
    if (found.shape, found.dtype) != (tensor.shape, tensor.dtype):
        shown = [f"{dtype_name(each.dtype)} of shape {tuple(each.shape)}" for each in (found, tensor)]
        return f"{wanted.name} is {shown[0]}, not {shown[1]}"
    if not has_values:
        return None
    rtol, atol = closeness.TOLERANCES.get(tensor.dtype, (0.0, 0.0))
    try:
        assert_close(found, tensor, rtol=10 * rtol, atol=10 * atol, equal_nan=True)
    except AssertionError as error:
        return f"{wanted.name} differs\n{error}"
    return None
