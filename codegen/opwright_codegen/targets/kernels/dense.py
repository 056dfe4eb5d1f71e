"""Fast shims of pointwise operators: when arrays are so plain that NumPy's own result is the one the plan asks for."""

from __future__ import annotations

from opwright_codegen.declared.parts import Binding, Inline, Plans
from opwright_codegen.formula.ast import (
    Attribute,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    rewrite,
)
from opwright_codegen.formula.elementwise import TRUTHS, Names, is_elementwise, keeps_dtype, operands_broadcast
from opwright_codegen.formula.emit import with_out
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.views.annotations import Tensors, tensors_in

__all__ = ["ALL_KINDS", "DenseFacts", "dense_facts", "kinds_of_result"]

# The kinds of NumPy dtypes, by the words of `accepts`.
_KINDS = {"bool": "b", "integer": "iu", "floating": "f", "complex": "c"}
ALL_KINDS = "biufc"
# What is left of them where the result has the operands' dtype, by the rule's `kind`; absent: no fast shim.
_BY_KIND = {
    "default": ALL_KINDS,
    "no_opmath": ALL_KINDS,
    "int_to_float": "fc",
    "bool": ALL_KINDS,
    "complex_to_float": "biuf",
    "bool_to_long": "iufc",
}
# The kinds of a result whose kind is not that of the operands, by the rule's `kind` and theirs.
_PLANNED = {
    "bool": dict.fromkeys(ALL_KINDS, "b"),
    "complex_to_float": {"c": "f"},
    "bool_to_long": {"b": "i"},
    "int_and_complex_to_float": {"c": "f"},
}


@dataclass(frozen=True, slots=True)
class DenseFacts:
    """The facts of a fast shim: what it computes and when it may.

    `operands`: the tensor arguments; `scalars`: numbers among the operands; `ones`: arguments that must have their
    default; `whole`: what is computed where they are other numbers, of floating operands. `kinds`: NumPy's dtype kinds
    that it handles, '' for all. `checks_result`: the result's dtype is not known beforehand. `is_truth`: it is bool,
    else it is the operands'. `widened`: "e" where half and bfloat16 are computed in float32, "r" where numbers are
    rounded to them before that, else ''.
    """

    formula: Formula
    whole: Formula
    operands: tuple[str, ...]
    scalars: tuple[str, ...]
    ones: tuple[tuple[str, object], ...]
    kinds: str
    checks_result: bool
    is_truth: bool
    writes: bool
    widened: str
    writers: frozenset[str]  # functions that it calls and that take `out`

    @property
    def takes_plain_arrays(self) -> bool:
        """Whether there is a shim for plain arrays, too."""
        return not self.writes


# Rules that plan as `pointwise` does wherever a shim runs.
_RULES = (Reference(Kind.RULE, "pointwise"), Reference(Kind.RULE, "clamped_once"))


def dense_facts(binding: Binding) -> DenseFacts | None:
    """Return the fast shim of a binding, or None where there is none."""
    meta, kernel, schema = binding.meta, binding.kernel, binding.view.schema
    if not isinstance(meta, Plans) or not isinstance(kernel, Inline) or len(schema.returns) != 1:
        return None
    if schema.kind not in (SchemaKind.FUNCTIONAL, SchemaKind.INPLACE):
        return None
    call = meta.formulas[0]
    if not isinstance(call, Call) or call.function not in _RULES or len(meta.formulas) != 1:
        return None
    names = [a.name for a in call.arguments if isinstance(a, Reference) and a.kind is Kind.ARGUMENT]
    options = _options(call)
    if len(names) != len(call.arguments) or options is None or len(set(names)) != len(names):
        return None
    types = {a.name: a.type for a in schema.arguments}
    tensors = tuple(n for n in names if tensors_in(types[n]) is Tensors.ONE)
    scalars = tuple(n for n in names if str(types[n]) in ("Scalar", "number"))
    if len(tensors) + len(scalars) != len(names) or not tensors:
        return None
    every_tensor = [n for n, t in types.items() if t.is_tensor_like]
    if set(every_tensor) != set(tensors):
        return None
    defaults = {a.name: a.default.value for a in schema.arguments if a.default is not None}
    ones = tuple((name, defaults[name]) for name in options.fixed if name in defaults)
    if len(ones) != len(options.fixed) or not all(type(value) in (int, float) for _, value in ones):
        return None
    formula = rewrite(kernel.formula, lambda part: _folded(part, dict(ones)))
    writes = schema.kind is SchemaKind.INPLACE
    numbers = types.keys() - {*tensors, *scalars, *dict(ones)}
    found = Names(frozenset(tensors), frozenset(scalars), frozenset(numbers))
    return _facts(formula, kernel, found, _Shim(tensors, scalars, ones, options, writes))


def kinds_of_result(call: Call) -> dict[str, str]:
    """Return the kind of NumPy dtypes of a result planned by `pointwise` or `like`, by the kinds that a kernel's
    operands may have; nothing where whatever the kernel computes is converted."""
    words = {name: value.value for name, value in call.keywords if isinstance(value, Constant)}
    if call.function == Reference(Kind.RULE, "pointwise") and any(name == "dtype" for name, _ in call.keywords):
        return {}
    kind, accepts = str(words.get("kind", "default")), words.get("accepts")
    given = "fc" if kind.startswith("int_") else ALL_KINDS
    if isinstance(accepts, str):
        accepted = "".join([_KINDS.get(word, ALL_KINDS) for word in accepts.split()])  # (or names of dtypes)
        given = "".join([letter for letter in given if letter in accepted])
    return {each: _PLANNED.get(kind, {}).get(each, each) for each in given}


@dataclass(frozen=True, slots=True)
class _Options:
    kind: str
    kinds: str
    fixed: tuple[str, ...]
    has_exact_scalars: bool


def _options(call: Call) -> _Options | None:
    """Return what the rule's keywords say; None if one says what a fast shim does not know."""
    kind, kinds, is_exact = "default", ALL_KINDS, False
    fixed = []
    for name, value in call.keywords:
        match name, value:
            case "kind", Constant(str() as word) if word in _BY_KIND:
                kind = word
            case (("accepts" | "accepts_operands"), Constant(str() as words)) if set(words.split()) <= _KINDS.keys():
                accepted = "".join(_KINDS[word] for word in words.split())
                kinds = "".join(letter for letter in kinds if letter in accepted)
            case "exact_scalars", Constant(bool() as is_exact):
                pass
            case "side", Constant():  # of integers, and no shim takes these with numbers
                pass
            case "alpha", Reference(Kind.ARGUMENT, argument):
                fixed.append(argument)
            case _:
                return None
    kinds = "".join(letter for letter in kinds if letter in _BY_KIND[kind])
    return _Options(kind, kinds, tuple(fixed), is_exact)


def _folded(part: Formula, known: dict[str, object]) -> Formula | None:
    """Fold `a if alpha == 1 else b` into `a` where alpha is 1."""
    match part:
        case Conditional(Comparison(Reference(Kind.ARGUMENT, name), (("==", Constant(value)),)), then, _):
            if name in known and known[name] == value:
                return rewrite(then, lambda inner: _folded(inner, known))
    return None


@dataclass(frozen=True, slots=True)
class _Shim:
    tensors: tuple[str, ...]
    scalars: tuple[str, ...]
    ones: tuple[tuple[str, object], ...]
    options: _Options
    writes: bool


def _facts(formula: Formula, kernel: Inline, names: Names, shim: _Shim) -> DenseFacts | None:
    if not names.arrays <= operands_broadcast(formula) or not is_elementwise(formula, names):
        return None
    is_truth = shim.options.kind == "bool"
    if is_truth and _outer_ufunc(formula) not in TRUTHS:
        return None
    kinds = "".join(letter for letter in shim.options.kinds if letter in "fc" or not shim.scalars)
    if not kinds or (shim.writes and with_out(formula, "out", positional=True) is None):
        return None
    checks = not is_truth and not keeps_dtype(formula, names, kinds)
    is_widened = "f" in kinds and shim.options.kind != "no_opmath"
    shown = "" if kinds == ALL_KINDS else kinds
    return DenseFacts(
        formula,
        kernel.formula,
        shim.tensors,
        shim.scalars,
        shim.ones,
        shown,
        checks,
        is_truth,
        shim.writes,
        ("r" if shim.scalars and not shim.options.has_exact_scalars else "e") if is_widened else "",
        kernel.writers,
    )


def _outer_ufunc(formula: Formula) -> str | None:
    match formula:
        case Call(Attribute(Reference(Kind.MODULE), name)):
            return name
        case _:
            return None
