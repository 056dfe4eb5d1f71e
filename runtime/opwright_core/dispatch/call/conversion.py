"""Conversion of arguments to their declared types, as in `torch.ops`, and the predicates by which stubs skip it.

A converter takes a value and returns what a kernel receives, or raises Mismatch. The rules follow `torch.ops` of
PyTorch 2.13; where it takes a value for something else in silence (an int for a dtype, a str for a list of str),
ours refuse, and where Python callers expect a value to be taken (NumPy scalars, device names), ours take it.
"""

from __future__ import annotations

import functools
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import CANONICAL, DType, as_dtype
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.arrays.size import Size
from opwright_core.arrays.sizes import INTS, SymbolicBool, SymbolicFloat, SymbolicInt, is_symbolic, sym_float
from opwright_core.names.late_imports import import_late
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "INTS", "Convert", "Mismatch", "base_type", "converter", "is_dtype", "is_int_list", "is_tensor_like", "plain_type",
]  # fmt: skip

Convert = Callable[[Any], Any]
# `(a!)` behind a type, and `!` alone; `(int)` alone is a tuple, and `Future(int)` a type.
_ANNOTATION: Final = re.compile(r"(?<=[\w\]])(?<!\bFuture)(?<!\bAwait)(?<!\bRRef)(?<!\bUnion)\([\w*|!> -]*\)|!")
_LIST: Final = re.compile(r"(.*)\[(\d*)\]")
_LARGEST: Final = 2**63
_SHAPES: Final = frozenset((tuple, Size))


class Mismatch(Exception):
    """A value that the declared type does not take; the text says what is wrong, where that is more than its type."""


def plain_type(text: str) -> str:
    """Return the type without alias annotations: `Tensor(a!)[]` is `Tensor[]`, and `Tensor!?` is `Tensor?`."""
    return _ANNOTATION.sub("", text)


def base_type(text: str) -> str:
    """Return a plain type without `?` and brackets: `int[2]?` is of `int`."""
    return text.rstrip("?[]0123456789")


def is_tensor_like(text: str) -> bool:
    """Whether the type is Tensor under any `?` and `[]`."""
    return base_type(plain_type(text)) == "Tensor"


@functools.cache
def converter(text: str) -> Convert:
    """Return the converter of a declared type. Types it does not know, and tensors, pass as they are."""
    text = plain_type(text)
    if text.endswith("?"):
        return _optional(converter(text[:-1]))
    found = _LIST.fullmatch(text)
    if found is None:
        return _CONVERTERS.get(text, _as_it_is)
    if found[1].rstrip("?") == "Tensor":
        return _as_it_is
    return _list_of(converter(found[1]), int(found[2]) if found[2] else None)


def _as_it_is(value: Any) -> Any:
    return value


def _optional(convert: Convert) -> Convert:
    def to_optional(value: Any) -> Any:
        return None if value is None else convert(value)

    return to_optional


def _list_of(convert: Convert, size: int | None) -> Convert:
    """Return a list from a list, a tuple, a range or a 1-d array; with a size, one value stands for that many of it."""

    exact = int if convert in (_to_int, _to_sym_int) else bool if convert is _to_bool else None

    def to_list(value: Any) -> list[Any]:
        if exact is not None and type(value) in _SHAPES:
            for item in value:
                if type(item) is not exact or not -_LARGEST <= item < _LARGEST:
                    break
            else:
                return [*value]
        if isinstance(value, (Tensor, np.ndarray)) and len(value.shape) == 1:
            value = value.tolist()
        if not isinstance(value, (list, tuple, range)) and not _is_sequence(value):
            if size is None and not (exact is int and _is_integer(value)):
                raise Mismatch
            return [convert(value)] * (size or 1)
        result = []
        for position, item in enumerate(value):
            try:
                result.append(convert(item))
            except Mismatch as error:
                raise Mismatch(f"element {position} is {type(item).__name__} {item!r}") from error
        return result

    return to_list


def _is_integer(value: Any) -> bool:
    """Whether the value is a NumPy integer, or a tensor of integers without dimensions: a size of one dimension."""
    if isinstance(value, np.integer):
        return True
    return isinstance(value, Tensor) and not value.shape and value.dtype.kind in "iu"


def _is_sequence(value: Any) -> bool:
    """Whether the value is a sequence of another class, of a user's."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


def _one_element(value: Any) -> Any:
    """Return the Python number in a tensor or array of one element. Gradients end there, which is worth a warning."""
    if value.numel() != 1 if isinstance(value, Tensor) else value.size != 1:
        raise Mismatch(f"it has shape {tuple(value.shape)}, and only one element converts to a number")
    if isinstance(value, Tensor) and value.requires_grad:
        warnings.warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: no gradient will "
            "flow through it. Call .detach() first if that is meant.",
            UserWarning,
            stacklevel=6,
        )
    return value.item()


def _without_dimensions(value: Any) -> Any:
    """Return the Python number in a tensor or array without dimensions, as PyTorch's functions take it: not where its
    gradient would end."""
    if value.shape:
        raise Mismatch
    if isinstance(value, Tensor) and value.requires_grad:
        raise Mismatch("it requires a gradient, which would end there: .detach() or .item() says that this is meant")
    return value.item()


def _to_int(value: Any) -> int:
    if type(value) is int and -_LARGEST <= value < _LARGEST:
        return value
    if isinstance(value, float | complex | str | bytes):  # numpy.float64 is a float
        raise Mismatch
    if isinstance(value, Tensor | np.ndarray):
        value = _one_element(value)
    try:
        number = int(value) if isinstance(value, float | np.floating) else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        if type(value) is not np.bool_:
            raise Mismatch from None
        number = int(value)
    if not -_LARGEST <= number < _LARGEST:
        raise Mismatch("it does not fit 64 bits")
    return number


def _to_sym_int(value: Any) -> Any:
    return value if isinstance(value, SymbolicInt) else _to_int(value)


def _to_sym_float(value: Any) -> Any:
    return sym_float(value) if isinstance(value, SymbolicFloat | SymbolicInt) else _to_float(value)


def _to_sym_bool(value: Any) -> Any:
    return value if isinstance(value, SymbolicBool) else _to_bool(value)


def _to_float(value: Any) -> float:
    if isinstance(value, Tensor | np.ndarray):
        value = _one_element(value)
    if isinstance(value, complex | str | bytes | np.complexfloating):
        raise Mismatch
    if not isinstance(value, float | int | np.generic) and not is_symbolic(value):
        raise Mismatch
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Mismatch(str(error)) from None


def _to_complex(value: Any) -> complex:
    if isinstance(value, Tensor | np.ndarray):
        value = _one_element(value)
    is_taken = isinstance(value, complex | float | int | np.number | np.bool_ | SymbolicInt | SymbolicFloat)
    if not is_taken:
        raise Mismatch
    return complex(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, Tensor | np.ndarray):
        value = _one_element(value)
    if value is None or hasattr(type(value), "__bool__"):
        return bool(value)
    raise Mismatch


def _to_str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Mismatch


def _to_scalar(value: Any) -> Any:
    if type(value) is float or (type(value) is int and -(2**63) <= value < 2**64):
        return value
    if is_symbolic(value):
        return value
    if isinstance(value, Tensor | np.ndarray):
        value = _without_dimensions(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | float):
        return value if type(value) in (bool, float) else float(value)
    if isinstance(value, complex):
        return complex(value)
    if not isinstance(value, int):
        raise Mismatch
    if not -(2**63) <= value < 2**64:
        raise Mismatch("it does not fit 64 bits")
    return int(value)


def _to_dtype(value: Any) -> DType:
    if isinstance(value, np.dtype) and value in CANONICAL:
        return CANONICAL[value]
    if value is None or isinstance(value, (int, Tensor, np.ndarray)):
        raise Mismatch
    try:
        return as_dtype(value)
    except TypeError as error:
        raise Mismatch(str(error)) from None


def _to_device(value: Any) -> Device:
    if type(value) is Device:
        return value
    if value is None or isinstance(value, int):
        raise Mismatch
    try:
        return as_device(value)
    except (TypeError, RuntimeError) as error:
        raise Mismatch(str(error)) from None


def _member_of(kind: type[Layout] | type[MemoryFormat]) -> Convert:
    """Return a member, also by its name, or by another library's object that prints as one (`torch.strided`)."""

    def to_member(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        name = str(value).removeprefix("torch.").removeprefix("opwright.")
        if name not in kind.__members__:
            raise Mismatch
        return kind[name]

    return to_member


def _to_generator(value: Any) -> Any:
    if isinstance(value, import_late("opwright_core.random_state.generator").Generator):
        return value
    raise Mismatch


_CONVERTERS: Final[dict[str, Convert]] = {
    "int": _to_int,
    "SymInt": _to_sym_int,
    "SymFloat": _to_sym_float,
    "float": _to_float,
    "complex": _to_complex,
    "bool": _to_bool,
    "SymBool": _to_sym_bool,
    "str": _to_str,
    "Scalar": _to_scalar,
    "number": _to_scalar,
    "ScalarType": _to_dtype,
    "Device": _to_device,
    "Layout": _member_of(Layout),
    "MemoryFormat": _member_of(MemoryFormat),
    "Generator": _to_generator,
}


def is_dtype(value: object) -> bool:
    """Whether a kernel may receive the value for `ScalarType` as it is."""
    return isinstance(value, np.dtype) and CANONICAL.get(value) is value


def is_int_list(value: object) -> bool:
    """Whether a kernel may receive the value for `int[]` or `SymInt[]` as it is."""
    if type(value) is not list:
        return False
    for item in value:  # noqa: SIM110 (a generator costs more than the loop)
        if type(item) is not int:
            return False
    return True
