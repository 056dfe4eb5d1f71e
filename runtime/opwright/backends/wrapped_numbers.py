"""Python numbers where a Tensor is declared: `opwright.ops.aten.add.Tensor(x, 2)`.

PyTorch takes them in its arithmetic operators (a list of names in its parser). Here the schemas say where: binary
operators with an overload that declares a Scalar for one of the two operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opwright.ground.questions import hooks
from opwright_core.arrays.dtypes import DType, wrapped_scalar
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import SymbolicBool, SymbolicFloat, SymbolicInt, is_number
from opwright_core.dispatch.call.conversion import converter
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import META
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["is_number", "takes_numbers", "wrap_numbers"]


def takes_numbers(operator: Operator, position: int) -> bool:
    """Whether the operator takes a number for its argument at `position`, which is declared as a Tensor."""
    operands = _operands(operator)
    return (
        position in operands
        and len(operands) == 2
        and any(
            argument.type == "Scalar" and place in operands
            for overload in registry.overloads[operator.packet_name].operators.values()
            for place, argument in enumerate(overload.arguments)
        )
    )


def wrap_numbers(operator: Operator, args: list[Any]) -> None:
    """Replace the numbers among the operands by tensors without dimensions that promote as the numbers would.

    Beside plain arrays they become plain arrays. Raises Mismatch for an int beyond 64 bits.
    """
    to_scalar = converter("Scalar")
    operands = {position: args[position] for position in _operands(operator)}
    numbers = {position: to_scalar(value) for position, value in operands.items() if is_number(value)}
    tensors = [value for position, value in operands.items() if position not in numbers]
    common = result_type(*tensors, *numbers.values())
    is_plain = any(not isinstance(value, Tensor) for value in tensors)
    for position, number in numbers.items():
        array = _wrapped(number, common, tensors)
        args[position] = array if is_plain else _beside(tensors, array)


def _beside(tensors: list[Any], array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor of the array; without data, where the other operand has none, or in a FakeTensorMode."""
    number = wrap(array)
    modes = active_modes()
    if any(tensor.keys & META for tensor in tensors):
        fakes = hooks.fakes()
        number = fakes.as_fake(number, fakes.mode_of(tensors))
    elif modes is not None and modes.include & META and not tensors:
        fakes = hooks.fakes()
        number = fakes.as_fake(number, fakes.active_mode())
    return number


def _wrapped(number: complex, common: DType, tensors: list[Any]) -> np.ndarray[Any, Any]:
    """Return the number in its own dtype, to keep its value (300 beside int8), unless that changes the common dtype."""
    own = np.asarray(_as_plain(number, tensors))
    if result_type(*tensors, own) is common:
        return own
    return np.asarray(wrapped_scalar(own.item(), common))


def _as_plain(number: Any, tensors: list[Any]) -> Any:
    """Return the value of a symbolic number; beside tensors without data, any value of its type."""
    kinds: dict[type, type] = {SymbolicInt: int, SymbolicFloat: float, SymbolicBool: bool}
    kind = next((kind for base, kind in kinds.items() if isinstance(number, base)), None)
    if kind is None:
        return number
    return kind(0) if any(isinstance(each, Tensor) and each.keys & META for each in tensors) else kind(number)


def _operands(operator: Operator) -> list[int]:
    """Return the positions of what is declared `Tensor` and not written."""
    signature = operator.signature
    return [
        position
        for position, is_list, is_optional, _ in signature.tensors
        if not is_list and not is_optional and position not in signature.written
    ]
