"""Rules about the parts of a schema by themselves: types that there are, names, defaults of the right type."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Literal, NamedTuple

from opwright_codegen.errors import nearest
from opwright_codegen.schema.defaults import EnumName, Value
from opwright_codegen.schema.model import Argument
from opwright_codegen.schema.types import BaseType, ClassType, GenericType, ListType, OptionalType, Type

__all__ = ["KNOWN_TYPES", "SchemaProblem", "fits", "problems_of_argument", "problems_of_type"]

KNOWN_TYPES = frozenset(
    {
        *("Tensor", "int", "float", "bool", "str", "complex", "Scalar", "number", "SymInt", "SymFloat", "SymBool"),
        *("ScalarType", "Layout", "Device", "DeviceIndex", "MemoryFormat", "Generator", "Storage", "Stream", "QScheme"),
        *("Dimname", "DimVector", "ConstQuantizerPtr", "GraphModule", "Capsule", "PyObject", "NoneType"),
        *("Any", "AnyEnumType", "AnyClassType", "AnyListType", "AnyTupleType"),
    }
)
_GENERIC_ARITY = {"Dict": 2, "Future": 1, "Await": 1, "RRef": 1}
_CUSTOM_CLASS = "__torch__.torch.classes."
_ENUM = "enum.Enum"  # any value of an enumeration of Python's, as `infer_schema` writes it
_TYPE_HINTS: dict[str, str] = {
    **dict.fromkeys(
        ["int64_t", "int32_t", "long", "size_t", "int64", "integer", "Int", "SymInteger"],
        "write int, or SymInt for a size that may be symbolic",
    ),
    **dict.fromkeys(["double", "float32", "float64", "Float", "real"], "write float"),
    **dict.fromkeys(["string", "String", "string_view", "char"], "write str"),
    **dict.fromkeys(["boolean", "Bool", "bool_"], "write bool"),
    **dict.fromkeys(["dtype", "DType"], "write ScalarType"),
    **dict.fromkeys(
        ["tensor", "Tensor", "Tensors", "ndarray", "NDArray", "array", "Array", "ArrayLike", "TensorList"],
        "write Tensor",
    ),
    "device": "write Device",
    **dict.fromkeys(["Callable", "function"], "an operator takes no functions: name the choices as a str"),
    **dict.fromkeys(["Optional", "optional"], "an optional value is written TYPE?"),
    **dict.fromkeys(["List", "list", "Sequence", "vector", "ArrayRef", "IntArrayRef"], "a list is written TYPE[]"),
    **dict.fromkeys(["Tuple", "tuple"], "a tuple is written (TYPE, TYPE)"),
    "Dict": "a dictionary is written Dict(KEY, VALUE)",
    "dict": "a dictionary is written Dict(KEY, VALUE)",
    "Future": "a future is written Future(TYPE)",
    "void": "no result is written ()",
}


_USUAL = "Tensor, int, float, bool, str, Scalar, ScalarType, Device, Generator and TYPE[], TYPE? of these"
_KEYWORDS_OF_ATEN = ("from",)  # `random_.from(Tensor(a!) self, int from, …)`; the stubs call it `from_`

# The names that defaults may be, by type; and those of an int, which are numbers of ATen's.
_ENUMS = {
    "Layout": ("strided",),
    "MemoryFormat": ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"),
    "ScalarType": (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "short", "int32", "int", "int64", "long"),
        *("float16", "half", "bfloat16", "float32", "float", "float64", "double"),
        *("complex64", "cfloat", "complex128", "cdouble"),
    ),
}
_REDUCTIONS = ("Mean", "Sum")
_EXAMPLES = {  # defaults as they are written, by type
    "int": "an integer (1, -1)",
    "SymInt": "an integer (1, -1)",
    "float": "a number (1.0, 1e-05)",
    "bool": "True or False",
    "str": 'a text ("mean")',
    "Scalar": "a number (1, 1.5)",
}


class SchemaProblem(NamedTuple):
    """A broken rule and the part of the schema that breaks it."""

    code: str
    message: str
    part: Literal["name", "argument", "argument name", "default", "return", "whole"]
    place: int = 0
    hint: str | None = None


def problems_of_type(
    type: Type, part: Literal["argument", "return"], index: int, variables: bool
) -> Iterator[SchemaProblem]:
    match type:
        case OptionalType(elem) | ListType(elem):
            yield from problems_of_type(elem, part, index, variables)
        case GenericType(name, args):
            wanted = _GENERIC_ARITY.get(name)
            if wanted is not None and len(args) != wanted:
                message = f"{name} takes {wanted} type{'s' if wanted > 1 else ''}, not {len(args)}"
                yield SchemaProblem("type-arguments", message, part, index, _TYPE_HINTS.get(name))
            for arg in args:
                yield from problems_of_type(arg, part, index, variables)
        case ClassType(path):
            if path != _ENUM and not (path.startswith(_CUSTOM_CLASS) and path.count(".") >= 4):
                last = path.rpartition(".")[2]
                hint: str | None = _TYPE_HINTS.get(last, f"a custom class is written {_CUSTOM_CLASS}NAMESPACE.NAME")
                yield SchemaProblem("unknown-type", f"unknown type specifier '{path}'", part, index, hint)
        case BaseType(name):
            if name not in KNOWN_TYPES and not (variables and name[0].islower()):
                near = nearest(name, KNOWN_TYPES)
                hint = _TYPE_HINTS.get(name) or (f"did you mean {near}?" if near else f"the types are {_USUAL}")
                yield SchemaProblem("unknown-type", f"unknown type specifier '{name}'", part, index, hint)


def problems_of_argument(argument: Argument, index: int) -> Iterator[SchemaProblem]:
    if keyword.iskeyword(argument.name) and argument.name not in _KEYWORDS_OF_ATEN:
        message = f"no argument can be called {argument.name}, a word of Python's: no call could pass it by name"
        yield SchemaProblem(
            "reserved-name", message, "argument name", index, f"write {argument.name}_, or another name"
        )
    if argument.default is not None and not fits(argument.default.value, argument.type):
        message = f"the default {argument.default} of '{argument.name}' is not of type {argument.type}"
        hint = _default_hint(argument)
        yield SchemaProblem("default-type", message, "default", index, hint)
    elif argument.default is not None and argument.default.is_bare:
        message = f"the default of '{argument.name}' is a word, and a device is named by a text"
        yield SchemaProblem("default-type", message, "default", index, f"write {argument.default.text}")


def _default_hint(argument: Argument) -> str | None:
    assert argument.default is not None
    words = _ENUMS.get(str(argument.type.base()), _REDUCTIONS)
    if isinstance(argument.default.value, EnumName) and not argument.type.is_list_like:
        near = nearest(argument.default.value.name, words)
        return f"did you mean {near}?" if near else f"known names: {', '.join(words)}"
    if argument.default.value is None:
        return f"a value that may be None has the type {argument.type}?"
    if argument.type.is_list_like:
        return "one value may stand for a list of known size only, TYPE[N]"
    name = str(argument.type.base())
    return f"write {_EXAMPLES[name]}, or another type" if name in _EXAMPLES else None


def fits(value: Value, type: Type) -> bool:
    """Whether a default's value can be one of the type. Of types whose values have no literals, any may be written."""
    match type:
        case OptionalType(elem):
            return value is None or fits(value, elem)
        case ListType(elem):
            return isinstance(value, tuple) and all(fits(item, elem) for item in value)
        case BaseType("bool" | "SymBool"):
            return isinstance(value, bool)
        case BaseType("int" | "SymInt"):
            # A name is one of an enumeration that the kernel takes as an int.
            if isinstance(value, EnumName):
                return value.name in _REDUCTIONS
            return isinstance(value, int) and not isinstance(value, bool)
        case BaseType("float" | "SymFloat"):
            return isinstance(value, float)
        case BaseType("complex"):
            return isinstance(value, complex)
        case BaseType("Scalar" | "number"):
            return isinstance(value, int | float | complex)
        case BaseType("str" | "Device"):
            return isinstance(value, str)
        case BaseType("Layout" | "MemoryFormat" | "ScalarType" as name) if isinstance(value, EnumName):
            return value.name in _ENUMS[name]
        case BaseType("ScalarType" | "Layout" | "MemoryFormat" | "QScheme" | "DeviceIndex"):
            return isinstance(value, EnumName) or (isinstance(value, int) and not isinstance(value, bool))
        case BaseType("Tensor" | "Generator" | "Storage" | "Stream"):
            return False
        case _:
            return True
