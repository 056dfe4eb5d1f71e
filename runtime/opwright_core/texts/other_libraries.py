"""Hints for what other libraries do otherwise: their arrays, sequences for tensors, NumPy's defaults."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

from numpy import ndarray

from opwright_core.arrays.dtypes import CANONICAL
from opwright_core.arrays.nested_lists import array_of
from opwright_core.tensors.tensor import Tensor

__all__ = ["full_name", "how_to_make_tensor", "numpys_default"]

_SHORT: Final = ("builtins", "numpy", "opwright", "opwright_core")  # the libraries whose types need no module
# What NumPy takes where a value has to be given, as in PyTorch.
_DEFAULTS: Final = {("linspace", "steps"): 50, ("logspace", "steps"): 50}
_SEQUENCES: Final = (list, tuple, range, bool, int, float, complex)


def full_name(kind: type) -> str:
    """Return a type's name, with its library where that is another: `torch.Tensor`, `jaxlib.ArrayImpl`."""
    library = kind.__module__.partition(".")[0]
    return kind.__qualname__ if library in _SHORT else f"{library}.{kind.__qualname__}"


def how_to_make_tensor(value: Any) -> str:
    """Return which function of NumPy makes an array of a value, which calls take as a tensor, to go on with after a
    message; empty where none does. (Functions that make Tensors may not be installed.)"""
    if isinstance(value, list | tuple) and value and all(isinstance(each, Tensor) for each in value):
        return "; numpy.stack(...) makes an array of tensors of one shape"
    if isinstance(value, list | tuple) and any(hasattr(each, "__dlpack__") for each in value):
        return "; numpy.from_dlpack(...) makes an array of one of another library, without a copy"
    if isinstance(value, _SEQUENCES):
        return "; numpy.asarray(...) makes an array of it" if _is_of_plain_dtype(value) else ""
    if isinstance(value, ndarray):
        return ""  # of a dtype that no function takes
    if hasattr(value, "__dlpack__"):
        return "; numpy.from_dlpack(...) makes an array of it, without a copy"
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return "; numpy.asarray(...) makes an array of it"
    return "; numpy.asarray(...) makes an array of it" if isinstance(value, memoryview | bytearray | array) else ""


def _is_of_plain_dtype(value: Any) -> bool:
    """Whether NumPy makes an array of it that a tensor can be: not of ragged lists, text, large ints."""
    try:
        return array_of(value).dtype in CANONICAL
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False


def numpys_default(function: str, missing: Sequence[str]) -> str:
    """Return what NumPy takes for an argument that must be given here, to go on with after a message."""
    found = [f"{name}={_DEFAULTS[function, name]}" for name in missing if (function, name) in _DEFAULTS]
    return f"; NumPy's default is {found[0]}" if found else ""
