"""Calls of functions with `out=`, which the one out variant of the name takes: loaded with the first."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["OutCall", "out_call_of"]


class OutCall:
    """An out variant, for calls with the values of the function's parameters and with what it writes, called `name`."""

    __slots__ = ("_converted", "_operator", "_tensors", "name")

    def __init__(self, operator: Operator) -> None:
        signature = operator.signature
        self.name = signature.names[-1]
        self._operator = operator
        self._tensors = tuple([each for each in signature.tensors if each.position < len(signature.names) - 1])
        held = {each.position for each in self._tensors}
        self._converted = tuple([at for at in range(len(signature.names) - 1) if at not in held])

    def takes(self, values: tuple[Any, ...]) -> bool:
        """Whether these are tensors where the operator takes them, so that no other overload is meant."""
        for position, is_list, is_optional, _ in self._tensors:
            kind = type(values[position])
            is_one = kind is list if is_list else kind is Tensor or kind is ndarray
            if not is_one and not (is_optional and values[position] is None):
                return False
        return True

    def call(self, values: tuple[Any, ...], out: Any) -> Any:
        """Call it with values of which none was converted yet."""
        operator, given = self._operator, [*values, out]
        for position in self._converted:
            value = given[position]
            given[position] = operator.convert(
                position, operator.signature.defaults[position] if value is NOT_GIVEN else value
            )
        return operator.call(*given)


def out_call_of(operators: tuple[Operator, ...]) -> OutCall | None:
    """Return the one out variant that takes what the first operator takes, and one argument more."""
    first = operators[0].signature
    found = [
        operator
        for operator in operators
        if operator.signature.names[:-1] == first.names and operator.signature.types[:-1] == first.types
    ]
    return OutCall(found[0]) if len(found) == 1 else None
