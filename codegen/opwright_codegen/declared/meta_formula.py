"""A `meta` formula that is given at run time: its names and calls checked, and the rules that it calls with what.

The formula may name what it may in a schema file: arguments, rules of `opwright.rules`, dtypes, constants, a few
builtins. It may not name a function of the user's by its path: that is a fake kernel.
"""

from __future__ import annotations

from functools import cache

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import Call, Formula, Kind, Reference
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.kernel_choices.batches import family_of
from opwright_codegen.kernel_choices.family_calls import Family
from opwright_codegen.kernel_choices.metas import MetaBinder, Plans
from opwright_codegen.kernels.forms import MetaFormulas, meta_form
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Text

__all__ = ["BoundMeta", "Expression", "RuleCall", "bind_meta"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A value that a rule is passed: its text, and the operator's argument that it is, if it is one as it stands."""

    text: str
    argument: str | None


@dataclass(frozen=True, slots=True)
class RuleCall:
    """A call of a rule: by position, and by name."""

    rule: str
    positional: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class BoundMeta:
    """A formula whose names and calls are checked. `calls` has one for each output, or a single one whose rule gives
    the plans of all; None stands for a choice between rules. `operands` are those of `bindings.metas.Plans`, `family`
    that of the batching rule, where one call says it of all outputs."""

    schema: FunctionSchema
    formulas: tuple[Formula, ...]
    calls: tuple[RuleCall | None, ...]
    operands: tuple[str | None, ...]
    is_list: bool
    family: Family | None


def bind_meta(schema: FunctionSchema, text: str) -> BoundMeta:
    """Return the formula of an operator that is defined at run time. Raises SchemaError with the position in the
    text."""
    span = Source("meta", text).whole()
    form = meta_form(Text(text, span))
    if not isinstance(form, MetaFormulas):
        message = "a formula that is given at run time calls rules"
        raise SchemaError("meta-form", message, span, "as in: pointwise(x); a function of your own is a fake kernel")
    errors = Errors()
    bound = MetaBinder(_rules(), errors).bind(Operator(schema, span, meta=Text(text, span)))
    errors.raise_if_any()
    assert isinstance(bound, Plans)  # `view` and paths have other forms
    calls = tuple(_call(formula) for formula in bound.formulas)
    is_one = not bound.is_list and calls[0] is not None and calls.count(calls[0]) == len(calls)
    family = family_of(schema, bound.formulas[0], _rules()) if is_one else None
    return BoundMeta(schema, bound.formulas, calls, bound.operands, bound.is_list, family)


@cache
def _rules() -> KernelModules:
    return KernelModules(["opwright.rules"], of="rule")


def _call(formula: Formula) -> RuleCall | None:
    match formula:
        case Call(Reference(Kind.RULE, name), arguments, keywords):
            named = tuple((word, _expression(value)) for word, value in keywords)
            return RuleCall(name, tuple(map(_expression, arguments)), named)
    return None


def _expression(value: Formula) -> Expression:
    is_argument = isinstance(value, Reference) and value.kind is Kind.ARGUMENT
    name = value.name if is_argument and isinstance(value, Reference) else None
    return Expression(emit(value, Spelling(rule="", dtype="", constant="")), name)
