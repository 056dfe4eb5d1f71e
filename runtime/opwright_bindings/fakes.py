"""Tensors without data, of the shapes and dtypes of another framework's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.dimensions.layouts import fake
from opwright_core.arrays.sizes import is_number
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.signature import argument_error
from opwright_core.inputs.wrapped_numbers import takes_numbers

__all__ = ["check_arrays", "fake"]


def check_arrays(operator: Operator, values: Sequence[Any]) -> None:
    """Raise ArgumentError for a number or a list where an array is declared: a graph has arrays alone."""
    for position, is_list, _, _ in operator.signature.tensors:
        value = values[position]
        is_wrong = isinstance(value, list | tuple) or (is_number(value) and not takes_numbers(operator, position))
        if is_wrong and not is_list:
            raise argument_error(operator, position, value)
