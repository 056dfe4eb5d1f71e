"""Plain containers and numbers of a file, and the checks that all its parts pass."""

from __future__ import annotations

import pickle
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import Device
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.arrays.size import Size
from opwright_core.tensors.tensor import Tensor

__all__ = ["CONTAINERS", "Refused", "check_key", "counts", "fill_metadata", "is_count", "require", "text_as_bytes"]

_MOST_DIMENSIONS: Final = 64  # of NumPy
_MOST_KEYS: Final = 256  # parts of one key of a dict


class Refused(pickle.UnpicklingError):
    """A part of a file that does not fit the rest."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the file is damaged, or was made to do harm: it has {what}")


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Refused(what)


def check_key(key: Any) -> Any:
    """Return a key of a dict, or an element of a set. Refuse what takes long to hash: deep tuples, the same tuple many
    times within itself, and ints beyond 64 bits, of which many have one hash."""
    left, waiting = _MOST_KEYS, [(key, 0)]
    while waiting:
        part, depth = waiting.pop()
        left -= 1
        require(left > 0 and depth < 20, "a key of a dict with too many parts")
        if isinstance(part, tuple | frozenset):
            waiting += [(each, depth + 1) for each in part]
        elif type(part) is int:
            require(-(2**63) <= part < 2**64, "a key of a dict that is an int of more than 64 bits")
        else:
            require(part is None or isinstance(part, _KEYS), f"a key of a dict of type {type(part).__name__}")
    return key


_KEYS: Final = (
    bool, float, complex, str, bytes, np.dtype, np.generic, Device, Layout, MemoryFormat, Tensor, type, range,
)  # fmt: skip


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= sys.maxsize


def counts(values: Any, what: str) -> tuple[int, ...]:
    require(isinstance(values, tuple) and len(values) <= _MOST_DIMENSIONS, f"{what} that are no tuple of sizes")
    require(all(map(is_count, values)), f"{what} that are no sizes")
    return tuple(values)


def _size(sizes: Any) -> Size:
    return Size(counts(sizes, "sizes"))


def _elements(values: Any) -> list[Any]:
    require(type(values) in (list, tuple), "a container of no elements")
    return [check_key(each) for each in values]


def text_as_bytes(text: Any, encoding: Any) -> bytes:
    require(type(text) is str and encoding in ("latin1", "latin-1"), "bytes of another encoding than Latin-1")
    return bytes(text, "latin-1")


def _bytearray(data: Any = b"", encoding: Any = "latin-1") -> bytearray:
    return bytearray(data if type(data) is bytes else text_as_bytes(data, encoding))


def _complex(real: Any, imag: Any) -> complex:
    require(type(real) is float and type(imag) is float, "a complex number without parts")
    return complex(real, imag)


def _range(*limits: Any) -> range:
    require(all(type(each) is int for each in limits) and limits[2:] != (0,), "a range of no ints")
    return range(*limits)


def _slice(*limits: Any) -> slice:
    require(len(limits) == 3 and all(each is None or type(each) in _LIMITS for each in limits), "a slice of no numbers")
    return slice(*limits)


# (Nothing that holds others: CPython frees a slice in a slice in a slice … by recursion.)
_LIMITS: Final = frozenset([type(None), bool, int, float, str])


def _ordered_dict() -> OrderedDict[Any, Any]:
    return OrderedDict()


def fill_metadata(made: OrderedDict[Any, Any], state: Any) -> Any:
    """Give a dict the versions of modules, as `Module.state_dict` does, and return them. Refuse other attributes."""
    known = type(state) is dict and list(state) == ["_metadata"] and type(state["_metadata"]) in (dict, OrderedDict)
    require(known, "attributes of a dict other than _metadata")
    made._metadata = state["_metadata"]  # type: ignore[attr-defined]
    return state["_metadata"]


def _counter(counts: Any) -> Counter[Any]:
    is_counts = type(counts) is dict and all(type(count) is int for count in counts.values())
    require(is_counts, "a Counter of no counts")
    return Counter(counts)


def _default_dict(factory: Any = None) -> defaultdict[Any, Any]:
    require(factory is None or any(factory is each for each in _FACTORIES), "a defaultdict of an unknown factory")
    return defaultdict(factory)


_FACTORIES: Final = (list, dict, set, frozenset, tuple, bytes, bytearray, complex, OrderedDict)

# What makes a container or a number, by its class.
CONTAINERS: Final[dict[Any, Callable[..., Any]]] = {
    complex: _complex, bytearray: _bytearray, range: _range, slice: _slice, OrderedDict: _ordered_dict,
    defaultdict: _default_dict, Counter: _counter, Size: _size, set: lambda values: set(_elements(values)),
    frozenset: lambda values: frozenset(_elements(values)), bytes: lambda data=b"": bytes(_bytearray(data)),
}  # fmt: skip
