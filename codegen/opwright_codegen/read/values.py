"""The values that the keys of an entry may have: YAML nodes in, typed values out, SchemaError for a wrong type."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Final

from opwright_codegen.documents.nodes import (
    is_verbatim,
    matching,
    node_span,
    read_list,
    read_scalar,
    text_span,
    unknown,
    wrong_type,
)
from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode
from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import Constant, Formula, Unary
from opwright_codegen.read.model import Kernel, Precomputed, UfuncLoop
from opwright_codegen.schema.element_rules import fits
from opwright_codegen.schema.model import Argument, FunctionSchema
from opwright_codegen.schema.types import BaseType, Type
from opwright_codegen.source import Source, Span, Text

Reader = Callable[[Node, Source], object]

_BOOLEANS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}
# Only ASCII: these names become names in generated code, where look-alikes are nobody's friend.
_OPERATOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def read_text(node: Node, source: Source) -> Text:
    scalar = read_scalar(node, source)
    return Text(scalar.text.rstrip("\n"), text_span(scalar, source))


def read_doc(node: Node, source: Source) -> str:
    """Read prose as a docstring has it: without common indentation, and only with characters that show."""
    scalar = read_scalar(node, source)
    lines = inspect.cleandoc(scalar.text).split("\n")
    if all(line.isprintable() for line in lines):
        return "\n".join(line.rstrip() for line in lines).strip()
    raise SchemaError("doc-character", "a character of the text cannot be shown", text_span(scalar, source))


def read_boolean(node: Node, source: Source) -> bool:
    if type(node) is ScalarNode and node.plain and node.text in _BOOLEANS:
        return _BOOLEANS[node.text]
    raise wrong_type("True or False", node, source)


read_identifier = matching("an identifier", _IDENTIFIER, "TensorIteratorBase")
read_module = matching("a module name", _DOTTED, "linalg")


def read_variants(node: Node, source: Source) -> tuple[str, ...]:
    variants = []
    for name, span in _comma_list(node, source):
        if name not in ("function", "method"):
            raise unknown("variant", name, ("function", "method"), span)
        if name in variants:
            raise SchemaError("duplicate-variant", f"the variant {name!r} is listed twice", span)
        variants.append(name)
    return tuple(variants)


def read_operator_name(node: Node, source: Source) -> str:
    scalar = read_scalar(node, source)
    return _operator_name(scalar.text, text_span(scalar, source))


def read_operator_names(node: Node, source: Source) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for name, span in _comma_list(node, source):
        if _operator_name(name, span) in names:
            raise SchemaError("duplicate-operator", f"{name} is listed twice", span)
        names[name] = None
    return tuple(names)


def read_strings(node: Node, source: Source) -> tuple[str, ...]:
    return tuple(scalar.text for scalar in read_list(node, source))


def read_dispatch(node: Node, source: Source) -> tuple[tuple[str, Kernel], ...]:
    """Read one item a key: `CPU, CUDA: f` gives two. Whether the keys exist is a rule, not a matter of type."""
    if type(node) is not MappingNode:
        raise wrong_type(
            "a mapping from dispatch keys to kernels", node, source, "write lines such as 'CPU: my_kernel'"
        )
    kernels: dict[str, Kernel] = {}
    for keys, (key_node, value) in node.pairs.items():
        scalar = read_scalar(value, source)
        kernel = Kernel(scalar.text.rstrip("\n"), text_span(scalar, source))
        for key in keys.split(","):
            key = key.strip()
            if key in kernels:
                span = node_span(key_node, source)
                raise SchemaError("duplicate-key", f"the dispatch key {key!r} appears twice", span)
            kernels[key] = kernel
    return tuple(kernels.items())


def read_precomputed(node: Node, source: Source) -> Precomputed:
    """Read lines `argument -> type name, type name`; the last may be `type name, …` alone, which replaces nothing."""
    replace: dict[str, tuple[Argument, ...]] = {}
    added: tuple[Argument, ...] = ()
    lines = read_list(node, source)
    for index, line in enumerate(lines):
        name, arrow, arguments = line.text.partition("->")
        span = text_span(line, source)
        if arrow and not _IDENTIFIER.fullmatch(name.strip()):
            raise SchemaError("precomputed-argument", f"{name.strip()!r} is not the name of an argument", span)
        if arrow and name.strip() in replace:
            raise SchemaError("precomputed-argument", f"{name.strip()!r} is replaced twice", span)
        if arrow:
            replace[name.strip()] = _read_arguments(arguments, span)
        elif index < len(lines) - 1:
            hint = "a line without '->' adds arguments, and stands last"
            raise SchemaError("precomputed-argument", "'argument -> type name, …' is expected", span, hint)
        else:
            added = _read_arguments(line.text, span)
    return Precomputed(tuple(replace.items()), added)


UFUNC_LOOP_KEYS = (
    "CUDAFunctor", "CUDAFunctorOnOther", "CUDAFunctorOnSelf", "CPUScalar", "CPUVector", "ScalarOnly", "Generic",
)  # fmt: skip
_DTYPE_CLASSES = {
    "Integral": ("Byte", "Char", "Int", "Long", "Short"),
    "Floating": ("Float", "Double"),
    "Complex": ("ComplexFloat", "ComplexDouble"),
}
_DTYPE_CLASSES["All"] = _DTYPE_CLASSES["Integral"] + _DTYPE_CLASSES["Floating"]
_DTYPE_CLASSES["AllAndComplex"] = _DTYPE_CLASSES["All"] + _DTYPE_CLASSES["Complex"]
_DTYPE_CLASSES["FloatingAndComplex"] = _DTYPE_CLASSES["Floating"] + _DTYPE_CLASSES["Complex"]
_DTYPES = (
    *_DTYPE_CLASSES["AllAndComplex"], "Half", "ComplexHalf", "Bool", "BFloat16", "Float8_e5m2", "Float8_e5m2fnuz",
    "Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e8m0fnu",
)  # fmt: skip
_UFUNC_LOOP = re.compile(r"([A-Za-z_][A-Za-z0-9_]*) \(([^()]*)\)")


def read_ufunc_loops(node: Node, source: Source) -> tuple[UfuncLoop, ...]:
    """Read the loops of `ufunc_inner_loop`; `add (All, Half)` alone stands for the key Generic."""
    if type(node) is ScalarNode:
        return (_ufunc_loop("Generic", node, source),)
    if type(node) is not MappingNode:
        raise wrong_type("a text or a mapping", node, source)
    loops = []
    for key, (key_node, value) in node.pairs.items():
        if key not in UFUNC_LOOP_KEYS:
            raise unknown("ufunc key", key, UFUNC_LOOP_KEYS, node_span(key_node, source))
        loops.append(_ufunc_loop(key, value, source))
    return tuple(loops)


def _ufunc_loop(key: str, node: Node, source: Source) -> UfuncLoop:
    scalar = read_scalar(node, source)
    span = text_span(scalar, source)
    found = _UFUNC_LOOP.fullmatch(scalar.text)
    if found is None:
        raise SchemaError("ufunc-loop", "a function and its dtypes are expected", span, "for example: add (All, Half)")
    dtypes: dict[str, None] = {}
    for word in found[2].split(","):
        name = word.strip()
        if name not in _DTYPES and name not in _DTYPE_CLASSES:
            raise unknown("dtype", name, (*_DTYPE_CLASSES, *_DTYPES), span)
        dtypes.update(dict.fromkeys(_DTYPE_CLASSES.get(name, (name,))))
    return UfuncLoop(key, found[1], tuple(dtypes))


def parse_elsewhere(text: str, span: Span) -> FunctionSchema:
    """Parse the schema `text`, which stands nowhere in the file as it is; errors point at `span`."""
    try:
        return FunctionSchema.parse(text)
    except SchemaError as error:
        raise error_at(error, span) from None


def error_at(error: SchemaError, span: Span) -> SchemaError:
    """Return the error, which says where it is in a text of its own, at the position of that text in the file."""
    return SchemaError(error.code, error.message, span, error.hint)


def _read_arguments(text: str, span: Span) -> tuple[Argument, ...]:
    return parse_elsewhere(f"precomputed({text.strip()}) -> ()", span).arguments


def _comma_list(node: Node, source: Source) -> Iterator[tuple[str, Span]]:
    scalar = read_scalar(node, source)
    span = text_span(scalar, source)
    exact = is_verbatim(scalar, span)
    at = 0
    for part in scalar.text.rstrip("\n").split(","):
        word = part.strip()
        start = at + (len(part) - len(part.lstrip()))
        yield word, span.sub(start, start + max(len(word), 1)) if exact else span
        at += len(part) + 1


def _operator_name(name: str, span: Span) -> str:
    if _OPERATOR_NAME.fullmatch(name):
        return name
    if "::" in name:
        message, hint = f"{name!r} has a namespace", "the namespace is that of the entry: leave it out"
    else:
        message, hint = f"{name!r} is not the name of an operator", "for example add.out"
    raise SchemaError("name-form", message, span, hint)


_NAMED: Final = tuple(map(BaseType, ("ScalarType", "Layout", "MemoryFormat", "QScheme", "int")))  # named by a text
_FLOATS: Final = tuple(map(BaseType, ("float", "SymFloat", "complex")))


def is_literal_of(value: Formula, type: Type) -> bool:
    """Return whether a literal is a value of a type, as calls take it: an int for a float, one value for a list, a text
    for a name."""
    match value:
        case Unary("-", Constant(int() | float() | complex() as literal)):
            pass
        case Constant(literal) if literal is not ...:
            pass
        case _:
            return False
    if literal is None:
        return type.is_optional
    base = type.base()
    if isinstance(literal, str) or base not in _FLOATS:
        return fits(literal, base) or (isinstance(literal, str) and base in _NAMED)
    return fits(complex(literal), BaseType("complex"))
