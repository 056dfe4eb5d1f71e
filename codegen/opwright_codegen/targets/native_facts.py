"""Operators with C kernels that have fast shims: their results have shape and dtype of the operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from opwright_codegen.bindings.bind import Binding, Native
from opwright_codegen.bindings.metas import Plans
from opwright_codegen.formula.ast import Call, Constant, Kind, Reference
from opwright_codegen.schema.model import SchemaKind

__all__ = ["NativeFacts", "allocates", "native_facts"]

# The dtypes that `pointwise` computes and returns as they are, by its `kind`; an absent kind has none.
_ALL: Final = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
_INEXACT: Final = ("float32", "float64", "complex64", "complex128")
_KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "default": (*_ALL, *_INEXACT), "no_opmath": (*_ALL, *_INEXACT), "int_to_float": _INEXACT, "bool": ("bool",),
    "complex_to_float": (*_ALL, *_INEXACT[:2]), "bool_to_long": (*_ALL[1:], *_INEXACT),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NativeFacts:
    """A C kernel whose result has shape and dtype of its operands: the C shim may allocate it."""

    kernel: Native
    writes: bool = False
    is_truth: bool = False


def native_facts(binding: Binding) -> NativeFacts | None:
    """Return what the fast shims of a binding are about, or None where it has none."""
    kernel, meta, schema = binding.kernel, binding.meta, binding.view.schema
    if not isinstance(kernel, Native) or binding.key != "CPU" or not isinstance(meta, Plans):
        return None
    return NativeFacts(kernel) if schema.kind is SchemaKind.FUNCTIONAL and allocates(kernel, meta) else None


def allocates(kernel: Native, meta: Plans) -> bool:
    """Whether the one result has shape and dtype of operands that all have the same."""
    if kernel.convention != "elementwise" or kernel.outputs != 1:
        return False
    return set(kernel.dtypes) <= set(_kept(meta, kernel))


def _kept(meta: Plans, kernel: Native) -> tuple[str, ...]:
    """Return the dtypes that `meta` surely keeps, with the shape that all arrays have."""
    call = meta.formulas[0]
    if not isinstance(call, Call) or call.function != Reference(Kind.RULE, "pointwise"):
        return ()
    names = [part.name for part in call.arguments if isinstance(part, Reference) and part.kind is Kind.ARGUMENT]
    if len(names) != len(call.arguments) or sorted(names) != sorted(kernel.arrays):
        return ()
    kept = _KEPT["default"]
    for keyword in call.keywords:
        match keyword:
            case "kind", Constant(str() as kind):
                kept = tuple(dtype for dtype in kept if dtype in _KEPT.get(kind, ()))
            case "accepts", Constant(str() as words):
                kept = tuple(dtype for dtype in kept if _is_accepted(dtype, words.split()))
            case _:
                return ()
    return kept


def _is_accepted(dtype: str, words: list[str]) -> bool:
    kind = {"b": "bool", "u": "integer", "i": "integer", "f": "floating", "c": "complex"}[dtype[0]]
    return kind in words
