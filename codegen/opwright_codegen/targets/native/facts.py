"""Operators with C kernels that have fast shims: C writes what is there, or results that look like an operand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright_codegen.declared.parts import Binding, FunctionKernel, Meta, Native, Plans
from opwright_codegen.formula.ast import Call, Constant, Formula, Kind, Reference
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind

__all__ = ["NativeFacts", "ShapeOf", "looks_like", "native_facts", "shapes_of"]

# The dtypes that `pointwise` computes and returns as they are, by its `kind`; an absent kind has none.
_ALL: Final = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
_INEXACT: Final = ("float32", "float64", "complex64", "complex128")
_KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "default": (*_ALL, *_INEXACT), "no_opmath": (*_ALL, *_INEXACT), "int_to_float": _INEXACT, "bool": ("bool",),
    "complex_to_float": (*_ALL, *_INEXACT[:2]), "bool_to_long": (*_ALL[1:], *_INEXACT),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NativeFacts:
    """A C kernel that needs no plan for dense arrays. `way`: how results are made.

    `new`: the C shim allocates the result. `out`: it fills the array of `out`. `inplace`: it allocates, and the array
    of `self` takes the values. `written`: it writes the arguments themselves.
    """

    kernel: Native
    way: str

    @property
    def writes(self) -> bool:
        """Whether arguments are written, in one way or another."""
        return self.way != "new"

    @property
    def is_truth(self) -> bool:
        """Whether the result is bool whatever the operands are: no fast shim makes such."""
        return False

    @property
    def takes_plain_arrays(self) -> bool:
        """Whether there is a shim for plain arrays: they stand for Tensors that are surely there."""
        return not self.writes and not any(a.is_optional for a in self.kernel.arguments if a.sort == "array")


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The shape of a result as C can tell it: that of an array, without the dimension `dim`, or with 1 for it."""

    array: str
    dim: int | None = None
    keeps: bool = False


def shapes_of(kernel: FunctionKernel, meta: Meta) -> tuple[ShapeOf | None, ...]:
    """Return the shape of each result; None where `meta` alone tells it."""
    if not isinstance(meta, Plans) or len(meta.formulas) != kernel.outputs:
        return (None,) * kernel.outputs
    there = {a.name for a in kernel.arguments if a.sort == "array" and not a.is_optional}
    return tuple(_shape_of(formula, there) for formula in meta.formulas)


def _shape_of(formula: Formula, arrays: set[str]) -> ShapeOf | None:
    match formula:
        case Call(Reference(Kind.RULE, "like"), (Reference(Kind.ARGUMENT, name),)) if name in arrays:
            return ShapeOf(name)
        case Call(Reference(Kind.RULE, "reduce"), (Reference(Kind.ARGUMENT, name), Constant(int() as dim)), words) if (
            name in arrays and type(dim) is int and not any(word in ("dim", "keepdim") for word, _ in words)
        ):
            return ShapeOf(name, dim)
        case Call(
            Reference(Kind.RULE, "reduce"),
            (Reference(Kind.ARGUMENT, name), Constant(int() as dim), Constant(bool() as keeps)),
        ) if name in arrays and type(dim) is int:
            return ShapeOf(name, dim, keeps)
        case _:
            return None


_WAYS: Final = {SchemaKind.FUNCTIONAL: "new", SchemaKind.OUT: "out", SchemaKind.INPLACE: "inplace"}


def native_facts(binding: Binding) -> NativeFacts | None:
    """Return what the fast shims of a binding are about, or None where it has none."""
    kernel = binding.kernel
    if not isinstance(kernel, Native) or binding.key != "CPU":
        return None
    if kernel.writes:
        return NativeFacts(kernel, "written")
    way = _WAYS.get(binding.view.schema.kind)
    return None if way is None or looks_like(kernel, binding.meta) is None else NativeFacts(kernel, way)


def looks_like(kernel: Native, meta: Meta) -> str | None:
    """Return the array whose shape and dtype the only result has, where arrays are as the convention has them."""
    if not isinstance(meta, Plans) or kernel.outputs != 1 or not isinstance(call := meta.formulas[0], Call):
        return None
    own = {a.name for a in kernel.arguments if a.sort == "array" and not a.dtype and not a.is_optional}
    scalars = {a.name for a in kernel.arguments if a.sort == "scalar" and not a.is_optional}
    names = [part.name for part in call.arguments if isinstance(part, Reference) and part.kind is Kind.ARGUMENT]
    if len(names) != len(call.arguments) or not names or names[0] not in own or not set(names) <= own | scalars:
        return None
    match call.function:
        case Reference(Kind.RULE, "pointwise") if kernel.convention == "elementwise":
            kept = _kept(call, kernel.results[0].dtype)
        case Reference(Kind.RULE, "like"):
            kept = _KEPT["default"] if _makes(call.keywords, kernel.results[0].dtype) else ()
        case _:
            return None
    return names[0] if set(kernel.dtypes) <= set(kept) else None


def _makes(keywords: tuple[tuple[str, Formula], ...], dtype: str) -> bool:
    """Whether `like` gives results of the dtype that the function makes: its own where that is ''."""
    said = [word.name for _, word in keywords if isinstance(word, Reference) and word.kind is Kind.DTYPE]
    if len(said) != len(keywords) or any(name != "dtype" for name, _ in keywords):
        return False
    return said == ([dtype] if dtype else [])


def _kept(call: Call, result: str) -> tuple[str, ...]:
    """Return the dtypes of operands for which `pointwise` gives the dtype that the function makes."""
    is_truth = result == "bool" and ("kind", "bool") in [
        (name, word.value) for name, word in call.keywords if isinstance(word, Constant)
    ]
    kept = _KEPT["default"] if is_truth or not result else ()
    for keyword in call.keywords:
        match keyword:
            case "kind", Constant("bool") if is_truth:
                continue
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
