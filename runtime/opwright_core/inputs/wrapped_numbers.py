"""Python numbers where a Tensor is declared: `opwright.ops.aten.add.Tensor(x, 2)`.

PyTorch takes them in its arithmetic operators (a list of names in its parser). Here the schemas say where: binary
operators with an overload that declares a Scalar for one of the two operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright_core.arrays.dtypes import wrapped_scalar
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import SymbolicBool, SymbolicFloat, SymbolicInt, is_number, is_symbolic
from opwright_core.dispatch.call.conversion import converter
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import META
from opwright_core.late_bound import late_bound
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["is_number", "symbols_of", "takes_numbers", "wrap_numbers"]


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
    is_plain = any(not isinstance(value, Tensor) for value in tensors)
    modes = active_modes()
    inside = tensors if modes is None or modes.top is None else map(late_bound.levels().value_of_no_level, tensors)
    fakes = [] if is_plain else [tensor for tensor in inside if tensor.keys & META]
    has_data = is_plain or not (fakes or (modes is not None and modes.include & META))
    arrays = _arrays_of(numbers, tensors, _VALUES if has_data else _STAND_INS)
    for position, array in arrays.items():
        if is_plain:
            args[position] = array
        else:
            made = wrap(array)
            args[position] = made if has_data else late_bound.fakes().fake_number(made, numbers[position], fakes)


def symbols_of(operator: Operator, args: Sequence[Any]) -> Mapping[int, Any]:
    """Return the symbolic numbers that fakes among the operands stand for, by position, if the operator makes the same
    tensors of them again."""
    operands = {position: args[position] for position in _operands(operator)}
    fakes = late_bound.fakes()
    known = {position: fakes.number_of(value) for position, value in operands.items()}
    numbers = {position: value for position, value in known.items() if is_symbolic(value)}
    if not numbers or not all(takes_numbers(operator, position) for position in numbers):
        return {}
    tensors = [value for position, value in operands.items() if position not in numbers]
    arrays = _arrays_of(numbers, tensors, _STAND_INS)
    return numbers if all(array.dtype is operands[position].dtype for position, array in arrays.items()) else {}


def _arrays_of(
    numbers: Mapping[int, Any], tensors: Sequence[Any], plain: Mapping[type, Callable[[Any], Any]]
) -> dict[int, np.ndarray[Any, Any]]:
    """Return each number in its own dtype, to keep its value (300 beside int8), unless that changes the common dtype.

    `plain` gives the value of a symbolic number by its type.
    """
    common = result_type(*tensors, *numbers.values())
    made = {}
    for position, number in numbers.items():
        kind = next((kind for kind in plain if isinstance(number, kind)), None)
        own = np.asarray(number if kind is None else plain[kind](number))
        keeps = result_type(*tensors, own) is common
        made[position] = own if keeps else np.asarray(wrapped_scalar(own.item(), common))
    return made


# Values of symbolic numbers: the actual ones, which a guard fixes, and any of the type for tensors without data.
_VALUES: Final[Mapping[type, Callable[[Any], Any]]] = {SymbolicInt: int, SymbolicFloat: float, SymbolicBool: bool}
_STAND_INS: Final[Mapping[type, Callable[[Any], Any]]] = {
    SymbolicInt: lambda number: 0,
    SymbolicFloat: lambda number: 0.0,
    SymbolicBool: lambda number: False,
}


def _operands(operator: Operator) -> list[int]:
    """Return the positions of what is declared `Tensor` and not written."""
    signature = operator.signature
    return [
        position
        for position, is_list, is_optional, _ in signature.tensors
        if not is_list and not is_optional and position not in signature.written
    ]
