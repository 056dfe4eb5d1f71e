"""Arguments of C kernels: numbers, lists and texts in the form that a C shim reads; which arrays it may write to."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np

__all__ = ["NativeArgument", "is_in_order", "share_memory"]

_TEXT = re.compile(r"(\w+): (array|float|int|bool|scalar|text)(?::(\w+))?(\[\])?(\?)?(!)?")
_EACH = {"float": np.dtype("float64"), "int": np.dtype("int64"), "bool": np.dtype("bool")}
_LARGEST = 2**63


class NativeArgument:
    """An argument of a C kernel, from `name: sort`, with `:dtype` of what is always of one, `[]`, `?` and `!`."""

    __slots__ = ("dtype", "is_array", "is_list", "is_optional", "is_written", "name", "sort")

    def __init__(self, text: str) -> None:
        found = _TEXT.fullmatch(text)
        assert found is not None
        self.name, self.sort, dtype, is_list, is_optional, is_written = found.groups()
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.is_array = self.sort == "array"
        self.is_list = is_list is not None
        self.is_optional = is_optional is not None
        self.is_written = is_written is not None

    def value(self, given: Any, dtype: np.dtype[Any]) -> Any:
        """Return what is no array as C takes it; a `scalar` is for a kernel of the dtype.

        Raises OverflowError, RuntimeError or ValueError for what C does not hold.
        """
        if given is None and self.is_optional:
            return None
        if self.is_list:
            values = given if isinstance(given, (list, tuple, np.ndarray)) else [given]
            return np.array([self._one(value, dtype) for value in values], _EACH[self.sort])
        return self._one(given, dtype)

    def _one(self, given: Any, dtype: np.dtype[Any]) -> Any:
        match self.sort:
            case "bool":
                return bool(given)
            case "int":
                number = operator.index(given)
                if -_LARGEST <= number < _LARGEST:
                    return number
                raise OverflowError(f"{self.name!r} is {number}, which 64 bits do not hold")
            case "scalar":
                return self._scalar(given, dtype)
            case "text":
                text = str.__str__(given)
                if "\0" in text or any(0xD800 <= ord(char) < 0xE000 for char in text):
                    raise ValueError(f"{self.name!r} has a character that a text of C cannot have: {text!r}")
                return text
        try:
            return float(given)
        except OverflowError:
            raise OverflowError(f"{self.name!r} is larger than any float") from None

    def _scalar(self, given: Any, dtype: np.dtype[Any]) -> Any:
        value = given.item() if hasattr(given, "item") else given
        if dtype.kind == "c":
            value = complex(value)
            is_held = _is_held(value.real, dtype) and _is_held(value.imag, dtype)
        elif isinstance(value, complex):
            is_held = False
        elif dtype.kind == "f":
            value = float(value)
            is_held = _is_held(value, dtype)
        elif dtype.kind == "b":
            is_held = value in (0, 1)
            value = bool(value)
        else:
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            is_held = least <= value <= most and value == int(value)
            value = int(value) if is_held else value
        if is_held:
            return value
        raise RuntimeError(f"{self.name!r} is {given}, which {dtype} does not hold")


def _is_held(value: float, dtype: np.dtype[Any]) -> bool:
    """Whether a float is no larger than those of the dtype, be it not finite."""
    return not np.isfinite(value) or abs(value) <= float(np.finfo(dtype).max)


def is_in_order(array: np.ndarray[Any, Any]) -> bool:
    """Whether the elements lie in the order of their indices, with gaps of whole elements, as C shims write to."""
    reach = array.itemsize
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if size == 0:
            break
        if size > 1:
            if stride < reach:
                return False
            reach = stride * size
    return not any(stride % array.itemsize for stride in array.strides)


def share_memory(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Whether an element of one lies in the other. Where that is hard to tell, it is taken to."""
    effort: Any = 10_000  # (NumPy's annotations have 0 and -1 alone)
    try:
        return np.shares_memory(first, second, max_work=effort)
    except np.exceptions.TooHardError:
        return True
