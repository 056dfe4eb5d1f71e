"""Rules about the schema of a declared operator, beyond syntax: types, names, defaults, aliases, out arguments."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Literal, NamedTuple

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.schema.defaults import EnumName, Value
from opwright_codegen.schema.model import Argument, FunctionSchema, Return, SchemaKind
from opwright_codegen.schema.types import BaseType, ClassType, GenericType, ListType, OptionalType, Type
from opwright_codegen.source import Span

__all__ = ["KNOWN_TYPES", "check_types", "schema_problems"]

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
_TYPE_HINTS: dict[str, str] = {
    **dict.fromkeys(
        ["int64_t", "int32_t", "long", "size_t", "int64", "integer", "Int", "SymInteger"],
        "write int, or SymInt for a size that may be symbolic",
    ),
    **dict.fromkeys(["double", "float32", "float64", "Float", "real"], "write float"),
    **dict.fromkeys(["string", "String", "std.string", "string_view", "char"], "write str"),
    **dict.fromkeys(["boolean", "Bool", "bool_"], "write bool"),
    **dict.fromkeys(["dtype", "torch.dtype", "DType"], "write ScalarType"),
    **dict.fromkeys(
        ["tensor", "torch.Tensor", "at.Tensor", "Tensors", "ndarray", "array", "TensorList"], "write Tensor"
    ),
    **dict.fromkeys(["device", "torch.device"], "write Device"),
    **dict.fromkeys(["Optional", "optional"], "an optional value is written TYPE?"),
    **dict.fromkeys(["List", "list", "Sequence", "vector", "ArrayRef", "IntArrayRef"], "a list is written TYPE[]"),
    **dict.fromkeys(["Tuple", "tuple"], "a tuple is written (TYPE, TYPE)"),
    "Dict": "a dictionary is written Dict(KEY, VALUE)",
    "dict": "a dictionary is written Dict(KEY, VALUE)",
    "Future": "a future is written Future(TYPE)",
    "void": "no result is written ()",
}


# ATen has such operators: `__and__`, `__ilshift__`. Of other names of that form Python's objects have their own.
_PYTHON_OPERATORS = frozenset(
    f"__{kind}{word}__"
    for kind in ("", "i", "r")
    for word in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("and", "or", "xor", "lshift", "rshift"),
    )
) | {"__neg__", "__pos__", "__abs__", "__invert__"}


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


class _Problem(NamedTuple):
    """A broken rule and the part of the schema that breaks it."""

    code: str
    message: str
    part: Literal["name", "argument", "argument name", "default", "return", "whole"]
    place: int = 0
    hint: str | None = None


def schema_problems(schema: FunctionSchema) -> list[SchemaError]:
    """Return what is wrong with the schema as the declaration of an operator, each problem at its place."""
    return _errors(schema, [*_of_parts(schema), *_of_name(schema), *_of_order(schema), *_of_writes(schema)])


def check_types(schema: FunctionSchema, *, type_variables: bool = False) -> None:
    """Raise SchemaError at the first type that does not exist. TorchScript's type variables (`t`, `tVal`: a word in
    small letters) are types only when asked for: in the declaration of an operator they are misspelt ones."""
    found: list[_Problem] = []
    for i, argument in enumerate(schema.arguments):
        found += _of_type(argument.type, "argument", i, type_variables)
    for i, result in enumerate(schema.returns):
        found += _of_type(result.type, "return", i, type_variables)
    for error in _errors(schema, found):
        raise error


def _errors(schema: FunctionSchema, problems: list[_Problem]) -> list[SchemaError]:
    if not problems:
        return []
    return [SchemaError(p.code, p.message, _span(schema, p), p.hint) for p in problems]


def _span(schema: FunctionSchema, problem: _Problem) -> Span:
    from opwright_codegen.schema.spans import locate

    spans = locate(schema.text if schema.text is not None else str(schema), schema.span)
    match problem.part:
        case "name":
            return spans.name
        case "argument":
            return spans.arguments[problem.place].type
        case "argument name":
            return spans.arguments[problem.place].name
        case "default":
            return spans.arguments[problem.place].default or spans.arguments[problem.place].whole
        case "return":
            return spans.returns[problem.place].whole
        case "whole":
            return spans.whole


_MAX_REMEMBERED = 20_000
_fine: dict[int, Argument | Return] = {}  # arguments and results without problems of their own, by id, kept alive here


def _of_parts(schema: FunctionSchema) -> list[_Problem]:
    """Return the problems of each argument and result by itself, looked at once: schemas share most of theirs."""
    found: list[_Problem] = []
    for i, argument in enumerate(schema.arguments):
        if _fine.get(id(argument)) is not argument:
            own = [*_of_type(argument.type, "argument", i, False), *_of_argument(argument, i)]
            found += own
            if not own:
                _remember(argument)
    for i, result in enumerate(schema.returns):
        if _fine.get(id(result)) is not result:
            own = list(_of_type(result.type, "return", i, False))
            found += own
            if not own:
                _remember(result)
    return found


def _remember(part: Argument | Return) -> None:
    if len(_fine) > _MAX_REMEMBERED:
        _fine.clear()
    _fine[id(part)] = part


def _of_type(type: Type, part: Literal["argument", "return"], index: int, variables: bool) -> Iterator[_Problem]:
    match type:
        case OptionalType(elem) | ListType(elem):
            yield from _of_type(elem, part, index, variables)
        case GenericType(name, args):
            wanted = _GENERIC_ARITY.get(name)
            if wanted is not None and len(args) != wanted:
                message = f"{name} takes {wanted} type{'s' if wanted > 1 else ''}, not {len(args)}"
                yield _Problem("type-arguments", message, part, index, _TYPE_HINTS.get(name))
            for arg in args:
                yield from _of_type(arg, part, index, variables)
        case ClassType(path):
            if not (path.startswith(_CUSTOM_CLASS) and path.count(".") >= 4):
                hint: str | None = _TYPE_HINTS.get(path, f"a custom class is written {_CUSTOM_CLASS}NAMESPACE.NAME")
                yield _Problem("unknown-type", f"unknown type specifier '{path}'", part, index, hint)
        case BaseType(name):
            if name not in KNOWN_TYPES and not (variables and name[0].islower()):
                near = nearest(name, KNOWN_TYPES)
                hint = _TYPE_HINTS.get(name, f"did you mean {near}?" if near else None)
                yield _Problem("unknown-type", f"unknown type specifier '{name}'", part, index, hint)


def _of_argument(argument: Argument, index: int) -> Iterator[_Problem]:
    if keyword.iskeyword(argument.name) and argument.name not in _KEYWORDS_OF_ATEN:
        message = f"no argument can be called {argument.name}, a word of Python's: no call could pass it by name"
        yield _Problem("reserved-name", message, "argument name", index, f"write {argument.name}_, or another name")
    if argument.default is not None and not _fits(argument.default.value, argument.type):
        message = f"the default {argument.default} of '{argument.name}' is not of type {argument.type}"
        hint = _default_hint(argument)
        yield _Problem("default-type", message, "default", index, hint)
    elif argument.default is not None and argument.default.is_bare:
        message = f"the default of '{argument.name}' is a word, and a device is named by a text"
        yield _Problem("default-type", message, "default", index, f"write {argument.default.text}")


def _default_hint(argument: Argument) -> str | None:
    assert argument.default is not None
    words = _ENUMS.get(str(argument.type.base()), _REDUCTIONS)
    if isinstance(argument.default.value, EnumName) and not argument.type.is_list_like:
        near = nearest(argument.default.value.name, words)
        return f"did you mean {near}?" if near else f"known names: {', '.join(words)}"
    if argument.default.value is None:
        return f"a value that may be None has the type {argument.type}?"
    return "one value may stand for a list of known size only, TYPE[N]" if argument.type.is_list_like else None


def _fits(value: Value, type: Type) -> bool:
    """Whether a default's value can be one of the type. Of types whose values have no literals, any may be written."""
    match type:
        case OptionalType(elem):
            return value is None or _fits(value, elem)
        case ListType(elem):
            return isinstance(value, tuple) and all(_fits(item, elem) for item in value)
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


def _of_name(schema: FunctionSchema) -> Iterator[_Problem]:
    name = schema.name
    for part in (name.namespace, name.base, name.overload):
        if part.startswith("__") and part.endswith("__") and not (part is name.base and part in _PYTHON_OPERATORS):
            yield _Problem("reserved-name", f"{part!r} is a name of Python's own", "name")
    if name.overload == "default":
        hint = "the overload without a name is the one called default"
        yield _Problem("reserved-overload", "'default' is not a legal overload name", "name", 0, hint)
    if name.base.endswith("_out"):
        hint = f"name the overload instead: {name.base.removesuffix('_out')}.{name.overload or 'out'}"
        yield _Problem("reserved-suffix", "operator names that end in _out are reserved", "name", 0, hint)
    if "functional" in name.overload and schema.kind is not SchemaKind.FUNCTIONAL:
        hint = "choose another overload name"
        yield _Problem(
            "reserved-overload", f"the overload says functional, the schema is {schema.kind.value}", "name", 0, hint
        )


def _of_order(schema: FunctionSchema) -> Iterator[_Problem]:
    """Check that each name stands once, and what has a default after what has none, among the positional arguments."""
    seen: set[str] = set()
    first_default: str | None = None
    for i, argument in enumerate(schema.arguments):
        if argument.name in seen:
            yield _Problem("duplicate-argument", f"there are two arguments '{argument.name}'", "argument name", i)
        seen.add(argument.name)
        if argument.kwarg_only:
            continue
        if argument.default is not None:
            first_default = first_default or argument.name
        elif first_default is not None:
            message = f"argument '{argument.name}' has no default, but follows '{first_default}', which has one"
            yield _Problem(
                "default-order", message, "argument name", i, "give it a default, or put it before, or after '*'"
            )
    if schema.is_vararg and any(a.default is not None for a in schema.arguments):
        at = next(i for i, a in enumerate(schema.arguments) if a.default is not None)
        yield _Problem("vararg-default", "arguments before '...' have no defaults", "default", at)
    names: set[str] = set()
    for i, result in enumerate(schema.returns):
        if result.name is not None and result.name in names:
            yield _Problem("duplicate-return", f"there are two results '{result.name}'", "return", i)
        names.add(result.name or "")


_TENSOR = BaseType("Tensor")


def _of_writes(schema: FunctionSchema) -> Iterator[_Problem]:
    """Check what an operator that writes to arguments returns, so that variants can stand for each other."""
    if schema.name.inplace:
        yield from _of_inplace(schema)
    mutated = schema.mutated_arguments
    if not mutated and not any(r.is_write for r in schema.returns):
        return
    outs = [a for a in mutated if a.kwarg_only]
    if outs:
        yield from _of_out(schema, outs)
    own = schema.self_argument
    for argument in mutated:
        if argument.kwarg_only or argument is own:
            continue
        for i, result in enumerate(schema.returns):
            if result.annotations == argument.annotations:
                message = f"'{argument.name}' is written to and returned, which only self and out arguments are"
                hint = "put it after '*' to make it an out argument, or do not return it"
                yield _Problem("mutable-returned", message, "return", i, hint)
    written = [r for r in schema.returns if r.is_write]
    if written and len(written) < len(schema.returns):
        at = next(i for i, r in enumerate(schema.returns) if not r.is_write)
        message = "results are either all arguments written to or none; this one is new"
        yield _Problem("mixed-returns", message, "return", at, "leave the written argument out of the results")
    aliases = {a.annotations for a in mutated}
    for i, result in enumerate(schema.returns):
        if result.is_write and result.annotations not in aliases:
            message = f"result {result} is no argument that is written to"
            unnamed = next(
                (a for a in mutated if a.type == result.type and a.annotation and a.annotation.is_fresh), None
            )
            yield _Problem("unknown-alias", message, "return", i, _named(unnamed) if unnamed else None)


def _named(argument: Argument) -> str:
    """Return how an argument that is written to can be a result: the two are in an alias set that has a name."""
    named = f"{argument.type}(a!)"
    return f"write {named} {argument.name} and -> {named}: what is marked with ! alone is no result"


def _of_inplace(schema: FunctionSchema) -> Iterator[_Problem]:
    own = schema.self_argument
    if own is None or not own.is_write:
        hint = f"write Tensor(a!) {own.name if own else 'self'}, or a name without the final '_'"
        yield _Problem(
            "inplace-self", f"in-place operator {schema.name} does not write to its self argument", "name", 0, hint
        )
        return
    if own.type != _TENSOR:
        if schema.returns:
            message = f"an in-place operator on {own.type} returns nothing"
            yield _Problem("inplace-returns", message, "return", 0, "write -> ()")
    elif len(schema.returns) != 1 or schema.returns[0].annotation != own.annotation:
        message = f"in-place operator {schema.name} must return '{own.name}' and nothing else"
        hint = f"write -> Tensor({own.annotation})" if own.annotation and not own.annotation.is_fresh else _named(own)
        yield _Problem("inplace-returns", message, "return" if schema.returns else "whole", 0, hint)


def _of_out(schema: FunctionSchema, outs: list[Argument]) -> Iterator[_Problem]:
    first = schema.arguments.index(outs[0])
    if schema.name.inplace:
        yield _Problem("inplace-out", "an in-place operator has no out arguments", "argument", first)
    for i, argument in enumerate(schema.arguments[first:], first):
        if not argument.is_write:
            message = (
                f"argument '{argument.name}', which is not written to, cannot follow out argument '{outs[0].name}'"
            )
            yield _Problem("argument-after-out", message, "argument name", i, "out arguments come last")
    if any(a.type != _TENSOR for a in outs):
        if schema.returns:
            message = f"an operator with out argument '{outs[0].name}' of type {outs[0].type} returns nothing"
            yield _Problem("out-returns", message, "return", 0, "write -> ()")
        return
    # PyTorch's scratch tensors, memory for intermediate results, are out arguments that are not returned.
    wanted = [a for a in outs if not a.name.startswith("_scratch_")]
    unnamed = next((a for a in wanted if a.annotation is not None and a.annotation.is_fresh), None)
    right = ", ".join(f"Tensor({a.annotation})" for a in wanted)
    hint = f"write -> {right if len(wanted) == 1 else f'({right})'}" if unnamed is None else _named(unnamed)
    if len(wanted) != len(schema.returns):
        message = f"there must be one result for each out argument, {len(wanted)} in all, not {len(schema.returns)}"
        yield _Problem("out-returns", message, "return" if schema.returns else "whole", 0, hint)
        return
    for i, (argument, result) in enumerate(zip(wanted, schema.returns, strict=True)):
        if argument.annotation != result.annotation or result.type != _TENSOR:
            kind = argument.type if unnamed else f"Tensor({argument.annotation})"
            message = f"result {i} must be out argument '{argument.name}', {kind}, not {result}"
            yield _Problem("out-returns", message, "return", i, hint)
