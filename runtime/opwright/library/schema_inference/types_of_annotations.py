"""Annotations of Python functions as the types of a schema, and their default values as its defaults."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import types
import typing
from typing import Any, Final

import numpy as np

from opwright.inspection import schema as _schema
from opwright.registering.custom_classes import find_custom_class
from opwright.types import Number
from opwright_core.arrays.devices import Device, find_backend
from opwright_core.arrays.dtypes import as_dtype, dtype_name
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.random_state.generator import Generator
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "PARAMETERS", "RESULTS", "advice", "holds_arrays", "list_instead", "parameter_type", "result_type", "tuple_items",
    "written_default",
]  # fmt: skip

_BASES: Final[dict[Any, str]] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "complex",
    Number: "Scalar",
    np.dtype: "ScalarType",
    Device: "Device",
    Generator: "Generator",
}
_LISTS: Final = (list, collections.abc.Sequence)
_NONE: Final = types.NoneType
_RESULTS: Final = frozenset(("Tensor", "Tensor?", "Tensor[]", "SymInt", "float", "bool", "Scalar", "complex", "str"))

_DEFAULTS: Final[dict[str, Any]] = {
    "bool": bool,
    "SymInt": int,
    "float": int | float,
    "complex": int | float | complex,
    "Scalar": int | float | complex,
    "str": str,
    "Device": str,
}

# For messages.
PARAMETERS: Final = (
    "Tensor, int, float, bool, complex, str, dtype, device, types.Number (int | float | bool), Generator, enum.Enum "
    "and its subclasses, classes given to register_custom_class, arrays such as numpy.ndarray; X | None, list[X] and "
    "Sequence[X] of these, list[X] | None, and list[Tensor | None]"
)
RESULTS: Final = (
    "None, Tensor, Tensor | None, list[Tensor], int, float, bool, complex, str, types.Number, arrays such as "
    "numpy.ndarray, and tuple[...] of these"
)


def parameter_type(annotation: Any) -> str | None:
    """Return the type that a parameter annotated so has in a schema; None where there is none."""
    without = _of_optional(annotation)
    if without is not None:
        found = _list_type(without) or _base_type(without)
        return None if found is None else f"{found}?"
    return _base_type(annotation) or _list_type(annotation)


def result_type(annotation: Any) -> str | None:
    """Return the type that a result annotated so has in a schema; None where there is none."""
    items = _arguments(annotation, (tuple,))
    if items is not None and len(items) == 2 and items[1] is ...:
        annotation = list[items[0]]  # type: ignore[valid-type]  # any number of them
    found = parameter_type(annotation)
    is_custom = isinstance(annotation, type) and find_custom_class(annotation) is not None
    return found if found in _RESULTS or is_custom else None


def holds_arrays(annotation: Any) -> bool:
    """Whether the annotation stands for Tensor, or a list of them, and says that it is given as arrays."""
    if annotation is Tensor:
        return False
    return _is_array(annotation) or any(holds_arrays(item) for item in typing.get_args(annotation))


def tuple_items(annotation: Any) -> tuple[Any, ...] | None:
    """Return X and Y of `tuple[X, Y]`; None for anything else, `tuple[X, ...]` among it."""
    if typing.get_origin(annotation) is not tuple:
        return None
    items = typing.get_args(annotation)
    return None if ... in items else items


def list_instead(annotation: Any) -> str | None:
    """Return `list[X]` for a parameter annotated `tuple[X, X]` or `tuple[X, ...]`, and the type of the values of a
    `Literal`, where that is a type."""
    if typing.get_origin(annotation) is typing.Literal:
        kinds = {type(value) for value in typing.get_args(annotation)}
        kind = kinds.pop()
        return None if kinds or parameter_type(kind) is None else kind.__name__
    items = [item for item in typing.get_args(annotation) if item is not ...]
    if typing.get_origin(annotation) is not tuple or not items or any(item != items[0] for item in items):
        return None
    found = list[items[0]]  # type: ignore[valid-type]
    return None if parameter_type(found) is None else str(found)


def advice(annotation: Any) -> str | None:
    """Return what to write instead of an annotation that has no type, where that can be said: another type, or
    parameters for what a mapping or a dataclass holds."""
    without = _of_optional(annotation)
    if without is not None:
        found = advice(without)
        return f"{found} | None" if found is not None and found.startswith("for example, ") else found
    instead = list_instead(annotation)
    if instead is not None:
        return f"for example, {instead}"
    kind = typing.get_origin(annotation) or annotation
    if kind is typing.Literal and len({type(value) for value in typing.get_args(annotation)}) > 1:
        return "an argument has one type, and these values have several: write one that all of them have"
    if isinstance(kind, type) and issubclass(kind, collections.abc.Mapping):
        return "an operator takes no mappings: give its values as parameters, or keys and values as two lists"
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        names = ", ".join(field.name for field in dataclasses.fields(kind))
        return f"give the fields ({names}) as parameters, or the class to register_custom_class"
    return None


def _base_type(annotation: Any) -> str | None:
    try:
        found = _BASES.get(annotation)
    except TypeError:  # it has no hash
        return None
    if found is None and typing.get_origin(annotation) is np.dtype:
        return "ScalarType"
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return None if annotation in (Layout, MemoryFormat) else "enum.Enum"  # (no enumerations in PyTorch)
    custom = find_custom_class(annotation) if isinstance(annotation, type) else None
    if custom is not None:
        return custom.name
    return "Tensor" if found is None and _is_array(annotation) else found


def _is_array(annotation: Any) -> bool:
    """Whether it is the array type of a backend, alone or with parameters as in `numpy.typing.NDArray[...]`."""
    kind = typing.get_origin(annotation) or annotation
    value = getattr(kind, "__value__", kind)  # of a `type` alias, as which NumPy 2.5 writes NDArray
    kind = typing.get_origin(value) or value
    return isinstance(kind, type) and kind not in _LISTS and find_backend(kind) is not None


def _list_type(annotation: Any) -> str | None:
    items = _arguments(annotation, _LISTS)
    if items is None:
        return None
    without = _of_optional(items[0])
    if without is not None:
        return "Tensor?[]" if _base_type(without) == "Tensor" else None
    found = _base_type(items[0])
    return None if found is None else f"{found}[]"


def _arguments(annotation: Any, origins: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return what stands in the brackets of `list[X]`; None where it is another type, or has none."""
    return typing.get_args(annotation) or None if typing.get_origin(annotation) in origins else None


def _of_optional(annotation: Any) -> Any:
    """Return X of `X | None` and `Optional[X]`; None for anything else."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return None
    items = typing.get_args(annotation)
    rest = tuple(item for item in items if item is not _NONE)
    return typing.Union[rest] if len(rest) < len(items) else None  # noqa: UP007 (of a tuple)


def written_default(value: Any, text: str) -> str:
    """Return a default of a parameter of this type as a schema writes it.

    Raises TypeError or RuntimeError for a value that the type does not take.
    """
    if value is None:
        return "None"
    base = text.removesuffix("?")
    if base.endswith("[]"):
        if not isinstance(value, list | tuple):
            raise TypeError(f"{value!r} is no list")
        return f"[{', '.join([written_default(item, base[:-2]) for item in value])}]"
    if base == "ScalarType" and not isinstance(value, str):
        return dtype_name(as_dtype(value))
    if base == "Device":
        value = str(Device(value))
    elif isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, _DEFAULTS.get(base, ())) or (isinstance(value, bool) and base not in ("bool", "Scalar")):
        raise TypeError(f"{value!r} is no {base}")
    return _schema.spell(value)
