"""Operators whose plans are kept from call to call, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from opwright_codegen.bindings.bind import Binding, Inline, Named
from opwright_codegen.bindings.metas import Plans, ViewOf
from opwright_codegen.formula.ast import Kind, Reference, walk
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.views.annotations import Tensors, tensors_in
from opwright_codegen.views.names import BuiltinNames

__all__ = ["KnownFacts", "is_own", "key_kind", "key_parts", "known_facts", "passed_kind", "view_kinds"]

# Types whose values are equal where they say the same; of numbers, 1 and 1.0 are equal, and plans differ.
_EXACT: Final = frozenset(("int", "SymInt", "bool", "SymBool", "str", "ScalarType", "Device", "Layout", "MemoryFormat"))
_NUMBERS: Final = frozenset(("Scalar", "number", "float", "SymFloat", "complex"))
_VIEWS: Final = (["Tensor"], ["Tensor[]"])
_TENSORS: Final = (Tensors.NONE, Tensors.ONE, Tensors.OPTIONAL, Tensors.LIST)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """A binding whose plans are kept. `planned` are the arguments that they depend on."""

    planned: frozenset[str]


def known_facts(binding: Binding, key: str) -> KnownFacts | None:
    """Return the facts of a binding, or None where its plans are not kept."""
    kernel, meta, schema = binding.kernel, binding.meta, binding.view.schema
    if key != "CPU" or not isinstance(meta, Plans) or not isinstance(kernel, Inline | Named):
        return None
    if any(str(found.type) != "Tensor" for found in schema.returns) or not schema.returns:
        return None
    if schema.kind is not SchemaKind.FUNCTIONAL and len(schema.returns) > 1:
        return None
    held = {a.name: tensors_in(a.type) for a in schema.arguments}
    is_listed = Tensors.LIST in held.values()
    if not all(each in _TENSORS for each in held.values()) or (is_listed and not meta.is_list):
        return None
    if None in meta.operands:
        return None
    nodes = [node for formula in meta.formulas for node in walk(formula) if isinstance(node, Reference)]
    if any(node.kind is Kind.RULE and ":" in node.name for node in nodes):
        return None  # a user's, of which more is not known
    planned = frozenset(node.name for node in nodes if node.kind is Kind.ARGUMENT)
    is_kept = all(
        key_parts(argument, "", "", BuiltinNames(())) for argument in schema.arguments if argument.name in planned
    )
    return KnownFacts(planned) if is_kept else None


def view_kinds(binding: Binding, key: str) -> str:
    """Return the kinds of a view's arguments, where one array is viewed and all else is in the key; else nothing."""
    schema, kernel = binding.view.schema, binding.kernel
    if key != "CPU" or not isinstance(binding.meta, ViewOf) or not isinstance(kernel, Named):
        return ""
    if [str(found.type) for found in schema.returns] not in _VIEWS or not is_own(kernel.function.module):
        return ""
    held = [tensors_in(a.type) for a in schema.arguments]
    if held[0] is not Tensors.ONE or any(each is not Tensors.NONE for each in held[1:]):
        return ""
    is_kept = all(key_parts(argument, "", "", BuiltinNames(())) for argument in schema.arguments)
    return "".join(map(key_kind, schema.arguments)) if is_kept else ""


def is_own(module: str) -> bool:
    """Whether kernels of a module are ours, whose errors say what is wrong."""
    return module.startswith(("opwright.", "opwright_kernels."))


def key_parts(argument: Argument, own: str, array: str, builtins: Mapping[str, str]) -> list[str]:
    """Return the parts of the key that are about an argument; none where its type has none."""
    is_tuple = builtins["tuple"]
    match tensors_in(argument.type):
        case Tensors.ONE:
            return _seen(array)
        case Tensors.OPTIONAL:
            return [f"None if {array} is None else ({', '.join(_seen(array))})"]
        case Tensors.LIST:
            return [f"{is_tuple}([({', '.join(_seen('item'))}) for item in {array}])"]
    text = str(argument.type)
    name = text.removesuffix("?")
    if name in _EXACT:
        return [own]
    if name in _NUMBERS:
        return [f"{builtins['type']}({own})", own]
    if name.startswith(("int[", "SymInt[", "float[")):
        return [f"None if {own} is None else {is_tuple}({own})" if text.endswith("?") else f"{is_tuple}({own})"]
    return []


def key_kind(argument: Argument) -> str:
    """Return how the key has an argument, in a letter: a tensor (`T`), one or None (`O`), a list of them (`L`), of
    ints (`I`) or floats (`F`), a number with its type (`N`), a value that says what it is (`V`)."""
    held = {Tensors.ONE: "T", Tensors.OPTIONAL: "O", Tensors.LIST: "L"}.get(tensors_in(argument.type))
    name = str(argument.type).removesuffix("?")
    if held is not None:
        return held
    return "V" if name in _EXACT else "N" if name in _NUMBERS else "F" if name.startswith("float[") else "I"


def passed_kind(argument: Argument) -> str:
    """Return a letter for an argument that is not in the key: of a tensor the kernel gets the array."""
    held = {Tensors.ONE: "t", Tensors.OPTIONAL: "o", Tensors.LIST: "l"}
    return held.get(tensors_in(argument.type), ".")


def _seen(array: str) -> list[str]:
    """Return what a rule may read of an array."""
    return [f"{array}.shape", f"{array}.strides", f"{array}.dtype"]
