"""Numbers and lists of numbers where tensors are declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import is_array
from opwright_core.arrays.dtypes import CANONICAL, FLOATING
from opwright_core.arrays.nested_lists import array_of
from opwright_core.arrays.promotion import result_type
from opwright_core.arrays.sizes import is_number
from opwright_core.dispatch.call.conversion import Mismatch
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.signature import argument_error, element
from opwright_core.inputs.wrapped_numbers import takes_numbers, wrap_numbers
from opwright_core.tensors.tensor import Tensor

__all__ = ["PLAIN_NUMBERS", "takes_values", "with_tensors"]

_NUMBERS: Final = (bool, int, float, complex, np.generic)
_DEEPEST: Final = 64  # NumPy's arrays have no more dimensions: a list within itself has no end
PLAIN_NUMBERS: Final = frozenset((bool, int, float, complex))


def takes_values(operator: Operator) -> bool:
    """Whether the operator takes lists and numbers for tensors: ATen's do not, whose overloads tell these apart."""
    return not operator.name.startswith("aten::")


def with_tensors(operator: Operator, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments with sequences of tensors as lists, numbers and lists of numbers as tensors or arrays.

    Raises ArgumentError for what no tensor can be made of, and where the operator does not take it.
    """
    checked = list(args)
    numbers: list[int] = []
    late: list[tuple[list[Any], int, int]] = []  # where values stand, whose dtypes depend on the tensors beside them
    for position, is_list, is_optional, has_optional_items in operator.signature.tensors:
        value = checked[position]
        if value is None and is_optional:
            continue
        if not is_list and is_number(value) and takes_numbers(operator, position):
            numbers.append(position)
        elif not is_list:
            _take(operator, position, checked, position, late, "")
        elif isinstance(value, list | tuple):
            items = checked[position] = list(value)
            for index, item in enumerate(items):
                if item is not None or not has_optional_items:
                    _take(operator, position, items, index, late, element(index, item))
        else:
            raise argument_error(operator, position, value)
    _make_arrays(operator, checked, late)
    if numbers:
        try:
            wrap_numbers(operator, checked)
        except Mismatch as error:
            raise argument_error(operator, numbers[0], args[numbers[0]], str(error)) from None
    return tuple(checked)


def _take(
    operator: Operator, position: int, values: list[Any], place: int, late: list[tuple[list[Any], int, int]], where: str
) -> None:
    """Look at one tensor: nothing is to be done, or it is a value for later. Raises ArgumentError."""
    value = values[place]
    if isinstance(value, Tensor | np.ndarray) or is_array(value):
        return
    if isinstance(value, np.generic):  # what NumPy's reductions return: an array of no dimension
        values[place] = np.asarray(value)
    elif takes_values(operator) and _is_of_numbers(value) and position not in operator.signature.written:
        late.append((values, place, position))
    else:
        raise argument_error(operator, position, value, where)


def _is_of_numbers(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list | tuple):
        if PLAIN_NUMBERS.issuperset(map(type, value)):
            return True
        return depth < _DEEPEST and all(_is_of_numbers(each, depth + 1) for each in value)
    return isinstance(value, _NUMBERS) or type(value) is np.ndarray


def _make_arrays(operator: Operator, checked: list[Any], late: list[tuple[list[Any], int, int]]) -> None:
    """Replace values by arrays of the dtypes that NumPy has for them; floats by that of floating tensors beside."""
    if not late:
        return
    inexact = [each for each in _tensors(operator, checked) if each.dtype in FLOATING or each.dtype.kind == "c"]
    for values, place, position in late:
        try:
            made = array_of(values[place])
        except (ValueError, OverflowError) as error:
            raise argument_error(operator, position, values[place], str(error)) from None
        if made.dtype not in CANONICAL:
            raise argument_error(operator, position, values[place], f"NumPy makes an array of {made.dtype} of it")
        if inexact and made.dtype.kind in "fc":
            made = made.astype(result_type(*inexact, made.dtype.type(0).item()))
        values[place] = made


def _tensors(operator: Operator, checked: Sequence[Any]) -> Iterator[Any]:
    """Yield the tensors and arrays among arguments that are declared as tensors."""
    for position, is_list, *_ in operator.signature.tensors:
        for each in checked[position] if is_list and checked[position] is not None else (checked[position],):
            if isinstance(each, Tensor) or is_array(each):
                yield each
