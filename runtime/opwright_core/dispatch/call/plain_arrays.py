"""Operators on plain arrays: wrapped for the call, unwrapped after it, written ones keeping their identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from opwright_core.arrays.devices import is_array
from opwright_core.arrays.storage import Extra, PlainArrayError, PlainStorage, storage_of
from opwright_core.dispatch.call.signature import Signature, argument_error, element
from opwright_core.errors import AutogradError
from opwright_core.keys import GRAD, NO_KEYS, PRIVATE, RUNTIME
from opwright_core.state import with_modes
from opwright_core.tensors.given_arrays import check_steps
from opwright_core.tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

Find = Callable[[int], Callable[..., Any]]  # a kernel by keys
__all__ = ["NoArray", "call_with_arrays", "check_tensors", "check_with_arrays", "is_all_numpy"]


class NoArray(Exception):
    """Something else than a tensor or an array, where a tensor is declared: `opwright.other_arrays` handles it."""


def check_tensors(operator: Operator, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with sequences of tensors as lists. Raises NoArray for what is neither tensor nor array."""
    checked = list(args)
    for position, is_list, is_optional, has_optional_items in operator.signature.tensors:
        value = checked[position]
        if value is None and is_optional:
            continue
        if not is_list:
            checked[position] = _checked(value)
        elif isinstance(value, list | tuple):
            checked[position] = [None if item is None and has_optional_items else _checked(item) for item in value]
        else:
            raise NoArray
    return tuple(checked)


def _checked(value: Any) -> Any:
    if isinstance(value, Tensor | np.ndarray) or is_array(value):
        return value
    if isinstance(value, np.generic):  # what NumPy's reductions return: an array of no dimension
        return np.asarray(value)
    raise NoArray


def is_all_numpy(signature: Signature, args: tuple[Any, ...]) -> bool:
    """Whether there are tensor arguments and all of them are plain NumPy arrays."""
    found = False
    for position, is_list, *_ in signature.tensors:
        value = args[position]
        for item in value if is_list and value is not None else (value,):
            if type(item) is np.ndarray:
                found = True
            elif item is not None:
                return False
    return found


def call_with_arrays(
    operator: Operator, args: tuple[Any, ...], keyset: int | None = None, find: Find | None = None
) -> Any:
    """Call with tensor arguments that may be plain arrays. Without a keyset, keys come from the arguments and the
    modes. `find` gives the kernel for the keys, if it is not the one that handles them.

    All plain: plain results. With a Tensor among them: Tensors, except written arrays, which are returned themselves.
    Raises AutogradError where a plain array would have to record, RuntimeError where one would have to be resized.
    """
    call = _Call(operator, args)
    keys = with_modes(call.keys)
    if keyset is not None:
        keys = keyset & RUNTIME | keys & PRIVATE if keyset & RUNTIME else NO_KEYS
    if keys != NO_KEYS and keys & GRAD and call.writes_array:
        raise AutogradError(
            f"{operator.name}() would write a result that requires grad into a plain array, which cannot record it; "
            "pass a Tensor, or call it under no_grad"
        )
    kernel = find(keys) if find is not None else operator.table.get(keys) or operator.resolve(keys)
    try:
        return call.unwrap(kernel(*call.args))
    except PlainArrayError as error:
        raise PlainArrayError(f"{operator.name}() {error}") from None


def check_with_arrays(operator: Operator, args: tuple[Any, ...], result: Any, check: Callable[..., Any]) -> Any:
    """Check what a function on plain arrays returned, as if the call had been on Tensors over these: `check(result,
    args)` returns a Tensor, of which the array is returned."""
    call = _Call(operator, args)
    return call.unwrap(check(result, call.args))


class _Call:
    """One call's arguments with plain arrays wrapped, and the way back."""

    __slots__ = ("args", "has_tensor", "keys", "operator", "originals", "writes_array", "written")

    def __init__(self, operator: Operator, args: tuple[Any, ...]) -> None:
        self.operator = operator
        self.keys = 0
        self.has_tensor = False
        self.writes_array = False
        self.originals: dict[int, tuple[Tensor, Any]] = {}  # by id of the wrapping Tensor, which is kept alive here
        self.written: set[int] = set()
        wrapped = list(args)
        for position, is_list, *_ in operator.signature.tensors:
            value = args[position]
            is_written = position in operator.signature.written
            if is_list and value is not None:
                wrapped[position] = [self._wrap(item, is_written, position, index) for index, item in enumerate(value)]
            else:
                wrapped[position] = self._wrap(value, is_written, position)
        self.args = tuple(wrapped)

    def _wrap(self, value: Any, is_written: bool, position: int, index: int = -1) -> Any:
        if value is None:
            return None
        if isinstance(value, Tensor):
            self.has_tensor = True
            self.keys |= value.keys
            return value
        try:
            tensor = wrap(value)
            if type(value) is np.ndarray:
                check_steps(value)
        except (TypeError, ValueError) as error:
            place = "" if index < 0 else f"{element(index, value)}: "
            raise argument_error(self.operator, position, value, f"{place}{error}") from None
        self.keys |= tensor.keys
        self.originals[id(tensor)] = tensor, value
        if is_written:
            self.writes_array = True
            tensor.extra = Extra(PlainStorage(tensor.array))
            self.written.add(id(tensor))
        return tensor

    def unwrap(self, result: Any) -> Any:
        """Return results for the caller."""
        for identity in self.written:
            tensor, array = self.originals[identity]
            if tensor.array is not storage_of(tensor).array:  # (the wrapped one: empty arrays get other strides)
                raise PlainArrayError(
                    f"would have to resize a plain array from shape {tuple(array.shape)} to "
                    f"{tuple(tensor.array.shape)}; pass an array of that shape, or a Tensor"
                )
        return self._unwrap(result) if self.originals else result

    def _unwrap(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            original = self.originals.get(id(value))
            if original is not None and (not self.has_tensor or id(value) in self.written):
                return original[1]
            return value if self.has_tensor else value.array
        if isinstance(value, list | tuple):
            items = map(self._unwrap, value)
            return type(value)(items) if type(value) in (list, tuple) else type(value)(*items)  # (one with names)
        return value
