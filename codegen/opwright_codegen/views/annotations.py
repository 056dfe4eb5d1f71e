"""Types of schemas as the annotations of generated code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import assert_never

from opwright_codegen.schema.model import Return
from opwright_codegen.schema.types import BaseType, ClassType, GenericType, ListType, OptionalType, Type

__all__ = ["Side", "Tensors", "annotation", "result_fields", "return_annotation", "tensors_in"]


class Tensors(Enum):
    """The number of tensors that an argument holds."""

    NONE = "none"
    ONE = "Tensor"
    OPTIONAL = "Tensor?"
    LIST = "Tensor[]"
    OPTIONAL_LIST = "Tensor[]?"
    LIST_OF_OPTIONAL = "Tensor?[]"
    OTHER = "deeper"


_TENSOR = BaseType("Tensor")


@cache
def tensors_in(type: Type) -> Tensors:
    """Return how a value of the type holds tensors."""
    match type:
        case BaseType("Tensor"):
            return Tensors.ONE
        case OptionalType(BaseType("Tensor")):
            return Tensors.OPTIONAL
        case ListType(BaseType("Tensor")):
            return Tensors.LIST
        case OptionalType(ListType(BaseType("Tensor"))):
            return Tensors.OPTIONAL_LIST
        case ListType(OptionalType(BaseType("Tensor"))):
            return Tensors.LIST_OF_OPTIONAL
        case _:
            return Tensors.OTHER if type.is_tensor_like else Tensors.NONE


class Side(Enum):
    """The side from which an annotation sees a value."""

    CALLER = "what a caller may pass"
    KERNEL = "what a kernel gets, converted"
    RESULT = "what an operator returns"


# Types that are not here are `Any`.
_PASSED = {
    "int": "int",
    "SymInt": "int",
    "DeviceIndex": "int",
    "float": "float",
    "SymFloat": "float",
    "bool": "bool",
    "SymBool": "bool",
    "str": "str",
    "Scalar": "Scalar",
    "number": "Scalar",
    "complex": "complex",
    "ScalarType": "DTypeLike",
    "Device": "Device | str",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
    "Generator": "Generator",
}
_RESULT = _PASSED | {"ScalarType": "DType", "Device": "Device"}
_NAMES = {
    Side.CALLER: _PASSED,
    Side.RESULT: _RESULT,
    # A kernel may say that it takes real numbers alone.
    Side.KERNEL: _RESULT | {"Scalar": "Any", "number": "Any"},
}
_BUILTIN = frozenset(("int", "float", "bool", "str", "complex"))


def annotation(type: Type, builtins: Mapping[str, str], *, tensor: str = "Tensor", side: Side = Side.CALLER) -> str:
    """Return the Python annotation for a value of the type; `tensor` is the one for Tensors."""
    match type:
        case BaseType("Tensor"):
            return tensor
        case BaseType(name):
            found = _NAMES[side].get(name, "Any")
            if found in _BUILTIN:
                return builtins[found]
            return f"Device | {builtins['str']}" if found == "Device | str" else found
        case OptionalType(elem):
            inner = annotation(elem, builtins, tensor=tensor, side=side)
            return inner if inner == "Any" else f"{inner} | None"
        case ListType(elem, size):
            inner = annotation(elem, builtins, tensor=tensor, side=side)
            if side is not Side.CALLER:
                return f"{builtins['list']}[{inner}]"
            return f"Sequence[{inner}] | {inner}" if size is not None and elem != _TENSOR else f"Sequence[{inner}]"
        case GenericType("Tuple", args):
            inner = ", ".join(annotation(a, builtins, tensor=tensor, side=side) for a in args)
            return f"{builtins['tuple']}[{inner or '()'}]"
        case GenericType() | ClassType():
            return "Any"
        case _:
            assert_never(type)


def return_annotation(returns: Sequence[Return], builtins: Mapping[str, str], *, tensor: str = "Tensor") -> str:
    """Return the annotation for what an operator returns: one value, a tuple of several, or None."""
    found = [annotation(r.type, builtins, tensor=tensor, side=Side.RESULT) for r in returns]
    if len(found) == 1:
        return found[0]
    return f"{builtins['tuple']}[{', '.join(found)}]" if found else "None"


def result_fields(returns: Sequence[Return], builtins: Mapping[str, str], *, tensor: str = "Tensor") -> tuple[str, ...]:
    """Return the fields of the class for several results with names, annotated."""
    return tuple(f"{r.name}: {annotation(r.type, builtins, tensor=tensor, side=Side.RESULT)}" for r in returns)
