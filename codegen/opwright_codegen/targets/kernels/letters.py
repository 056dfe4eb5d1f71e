"""Letters for arguments, as keys of the runtime's caches of plans and views have them (`plans.plan_keys`)."""

from __future__ import annotations

from typing import Final

from opwright_codegen.declared.parts import Binding, Named, ViewOf
from opwright_codegen.schema.model import Argument
from opwright_codegen.views.annotations import Tensors, tensors_in

__all__ = ["letter", "view_kinds"]

# Types whose values are equal where they say the same; of numbers, 1 and 1.0 are equal, and plans differ.
_EXACT: Final = frozenset(("int", "SymInt", "bool", "SymBool", "str", "ScalarType", "Device", "Layout", "MemoryFormat"))
_NUMBERS: Final = frozenset(("Scalar", "number", "float", "SymFloat", "complex"))
_LETTERS: Final = {Tensors.ONE: "T", Tensors.OPTIONAL: "O", Tensors.LIST: "L", Tensors.OPTIONAL_LIST: "P"}
_VIEWS: Final = (["Tensor"], ["Tensor[]"])


def letter(argument: Argument, *, is_read: bool, is_listed: bool = True) -> str:
    """Return the letter of an argument: a capital one where the rule reads it. Without `is_listed` the tensors of a
    list are no operands one by one."""
    held = tensors_in(argument.type)
    if held is Tensors.NONE:
        return _value_letter(argument) if is_read else "."
    found = _LETTERS.get(held, "Q")
    found = "P" if found == "L" and not is_listed else found
    return found if is_read else found.lower()


def _value_letter(argument: Argument) -> str:
    name = str(argument.type).removesuffix("?")
    if name in _EXACT:
        return "V"
    if name in _NUMBERS:
        return "N"
    return "F" if name.startswith("float[") else "I" if name.startswith(("int[", "SymInt[")) else "X"


def view_kinds(binding: Binding, key: str) -> str:
    """Return the letters of the arguments of a view, of which one array is viewed and all else is in the key; else
    nothing."""
    schema, kernel = binding.view.schema, binding.kernel
    if key != "CPU" or not isinstance(binding.meta, ViewOf) or not isinstance(kernel, Named):
        return ""
    if [str(found.type) for found in schema.returns] not in _VIEWS:
        return ""
    found = "".join(letter(argument, is_read=True) for argument in schema.arguments)
    return found if found[:1] == "T" and set(found[1:]) <= set("VNFI") else ""
