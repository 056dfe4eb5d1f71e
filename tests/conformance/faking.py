"""Calls of real and of fake tensors, and what is known of their results without data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opwright
from opwright.fake import FakeTensorMode
from opwright.sizes import is_symbolic

Call = tuple[list[Any], dict[str, Any]]


def operator(name: str) -> Any:
    """Ours, by its name without the namespace."""
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def tensors_in(value: Any) -> Iterator[opwright.Tensor]:
    """The tensors of a value, and of lists in it."""
    if isinstance(value, opwright.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def converted(value: Any, convert: Callable[[Any], Any], kind: type = np.ndarray) -> Any:
    """The value with something else for each array, or each instance of another class."""
    if isinstance(value, kind):
        return convert(value)
    if isinstance(value, list | tuple):
        return type(value)(converted(item, convert, kind) for item in value)
    return value


def converted_call(call: Call, convert: Callable[[Any], Any], kind: type = np.ndarray) -> Call:
    """Arguments with something else for each array."""
    args, kwargs = call
    return (
        [converted(each, convert, kind) for each in args],
        {name: converted(each, convert, kind) for name, each in kwargs.items()},
    )


def called(function: Any, call: Call) -> Any:
    """The function's result, or the exception it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*call[0], **call[1])
        except Exception as error:
            return error


def concrete(value: Any) -> Any:
    """A size at the values of its symbols."""
    if not is_symbolic(value):
        return value
    return value.env.evaluate(value, {name: symbol.hint for name, symbol in value.env.symbols.items()})


def layout(tensor: opwright.Tensor) -> tuple[Any, ...]:
    """Shape, strides, offset, dtype and device."""
    sizes = tuple(map(concrete, tensor.shape)), tuple(map(concrete, tensor.stride()))
    return (*sizes, concrete(tensor.storage_offset()), tensor.dtype, tensor.device)


def facts(result: Any, given: list[opwright.Tensor]) -> Any:
    """What is known without data: layout, dtype, device, which argument it is and whose memory it shares."""
    if isinstance(result, opwright.Tensor):
        shares = [i for i, each in enumerate(given) if each.untyped_storage() is result.untyped_storage()]
        same = [i for i, each in enumerate(given) if each is result]
        return (*layout(result), same, shares)
    if isinstance(result, list | tuple):
        return [facts(item, given) for item in result]
    return concrete(result)


def with_own_memory(value: np.ndarray) -> np.ndarray:
    """The array with memory of its own under the same strides."""
    low = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if step < 0)
    high = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if step > 0)
    memory = np.zeros((high - low) // value.itemsize + 1 if value.size else 1, value.dtype)
    start = memory[-low // value.itemsize :]
    view = np.lib.stride_tricks.as_strided(start, value.shape, value.strides)
    if value.size:
        view[...] = value
    return view


def called_fake(function: Any, call: Call, mode: FakeTensorMode) -> tuple[Any, list[opwright.Tensor]]:
    """The result of a call with the fakes of its tensors, or the exception; and those fakes."""
    fakes = converted_call(call, mode.from_tensor, opwright.Tensor)
    with mode:
        result = called(function, fakes)
    return result, list(tensors_in([fakes[0], list(fakes[1].values())]))
