"""The meaning of `meta`: formulas over rules, or a view of an argument.

Note [Operands of rules]
A kernel gets arrays cast to the dtype that the plan computes in: `plan.operands`. Which arguments those are follows
from the rule: what it takes as `*operands`, and its positional parameters annotated as arrays (`Any`, `Array`, lists
of them). Where a list is the only one (`cat`), the operands are its elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import assert_never

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import Call, Conditional, Formula, Kind, Reference, rewrite
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.formula.sorts import check_sorts, narrowed
from opwright_codegen.kernel_choices.core_dimensions import one_for_each_result, sizes_as_texts
from opwright_codegen.kernel_choices.kernel_calls import check_plans, check_view, operand_problems
from opwright_codegen.kernel_choices.rule_calls import check_rule_call
from opwright_codegen.kernels.forms import MetaFormulas, PathMeta, ViewMeta, meta_form
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass, replace
from opwright_codegen.source import Span

__all__ = ["Meta", "MetaBinder", "Plans", "ViewOf"]


@dataclass(frozen=True, slots=True)
class Plans:
    """A `meta` of formulas: one for each output, or a single one whose rule returns a plan for each.

    `operands` are the arguments that the rule's operands are, None where one is no argument; `is_list`: they are the
    elements of the only one.
    """

    formulas: tuple[Formula, ...]
    operands: tuple[str | None, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class ViewOf:
    """A `meta: view`: results share the memory of this argument."""

    argument: str


Meta = Plans | ViewOf | None


class MetaBinder:
    """The binder of each `meta`, once. Wrong calls of rules are added to the errors; other mistakes are raised."""

    def __init__(self, rules: KernelModules, errors: Errors) -> None:
        self._rules = rules
        self._errors = errors
        self._bound: dict[str, Meta] = {}

    def bind(self, base: Operator) -> Meta:
        """Return the bound `meta` of an operator. Raises SchemaError."""
        if base.name not in self._bound:
            with self._rules.spelled(base.meta.text, base.meta.span) if base.meta is not None else nullcontext():
                self._bound[base.name] = self._bind(base)
        return self._bound[base.name]

    def _bind(self, base: Operator) -> Meta:
        if base.meta is None:
            return None
        form = meta_form(base.meta)
        match form:
            case ViewMeta():
                viewed = _viewed_argument(base)
                check_view(base, True, base.meta.span)
                return ViewOf(viewed)
            case PathMeta(module, name):
                rule = self._rules.find_path(module, name, base.meta.span)
                outs = base.schema.out_arguments
                arguments = tuple(Reference(Kind.ARGUMENT, a.name) for a in base.schema.arguments if a not in outs)
                call = Call(Reference(Kind.RULE, f"{module}:{name}"), arguments)
                for error in check_rule_call(call, rule, base.schema, base.meta.span):
                    self._errors.add(error)
                check_plans((rule,), base, base.meta.span)
                check_view(base, False, base.meta.span)
                return Plans((call,), *_operands(rule, arguments))
            case MetaFormulas(formulas):
                scope = Scope.for_meta(base.schema, self._rules.public)
                single = [each for formula in formulas for each in one_for_each_result(formula, self._rules.find)]
                named = [sizes_as_texts(formula, self._rules.find) for formula in single]
                return self._plans(base, [resolve(formula, scope) for formula in named])
            case _:
                assert_never(form)

    def _plans(self, base: Operator, formulas: Sequence[Formula]) -> Plans:
        assert base.meta is not None
        outputs = len(base.schema.returns)
        if len(formulas) not in (1, outputs):
            message = f"{base.schema.name} has {outputs} outputs, and 'meta' {len(formulas)} formulas"
            raise SchemaError("meta-count", message, base.meta.span, "one formula for each output")
        calls = [call for formula in formulas for call in self._rule_calls(base, formula)]
        rules = [self._rule(call, base.meta.span) for call in calls]
        given = {id(node): known for formula in formulas for node, known in narrowed(formula)}
        for formula in formulas:
            check_sorts(formula, base.schema)
        for call, rule in zip(calls, rules, strict=True):
            for error in check_rule_call(call, rule, base.schema, base.meta.span, given[id(call)]):
                self._errors.add(error)
            for error in operand_problems(call, rule, base.schema, base.meta.span):
                self._errors.add(error)
        if len(calls) == len(formulas):
            check_plans(rules, base, base.meta.span)
        check_view(base, False, base.meta.span)
        own = (rule for rule in rules if not rule.module.startswith(_OURS))
        paths = {rule.name: f"{rule.module}:{rule.name}" for rule in own}
        return Plans(tuple(_by_path(each, paths) for each in formulas), *_operands(rules[0], calls[0].arguments))

    def _rule(self, call: Call, span: Span) -> KernelFunction:
        found = self._rules.find(_rule_name(call), call.span or span)
        assert found is not None  # the formula is resolved
        return found

    def _rule_calls(self, base: Operator, formula: Formula) -> list[Call]:
        match formula:
            case Conditional(_, then, otherwise):
                return [*self._rule_calls(base, then), *self._rule_calls(base, otherwise)]
            case Call(Reference(Kind.RULE)):
                return [formula]
            case _:
                assert base.meta is not None
                hint = "as in: pointwise(self, other)"
                raise SchemaError("meta-form", "'meta' calls a rule", formula.span or base.meta.span, hint)


def _by_path(formula: Formula, paths: Mapping[str, str]) -> Formula:
    """Return the formula with rules of a project's own by their paths: generated code finds the others in one
    position."""

    def change(part: Formula) -> Formula | None:
        is_own = isinstance(part, Reference) and part.kind is Kind.RULE and part.name in paths
        return replace(part, name=paths[part.name]) if isinstance(part, Reference) and is_own else None

    return rewrite(formula, change)


_OURS = ("opwright_core.rules", "opwright_kernels.rules")  # all that the first has is defined below the second
_ARRAYS = ("Any", "Array", "Operand")


def _rule_name(call: Call) -> str:
    assert isinstance(call.function, Reference)
    return call.function.name


def _operands(rule: KernelFunction, arguments: Sequence[Formula]) -> tuple[tuple[str | None, ...], bool]:
    """Return the arguments that are operands, and whether they are one list: Note [Operands of rules]."""
    found: list[str | None] = []
    is_list = False
    positional = rule.positional
    for position, argument in enumerate(arguments):
        if position < len(positional):
            text = positional[position].annotation
            if not any(word in text for word in _ARRAYS):
                continue
            is_list = text.startswith(("Sequence[", "list["))
        elif rule.vararg is None:
            continue
        is_argument = isinstance(argument, Reference) and argument.kind is Kind.ARGUMENT
        name = argument.name if is_argument and isinstance(argument, Reference) else None
        found.append(None if name in found else name)
    return tuple(found), is_list and len(found) == 1


def _viewed_argument(base: Operator) -> str:
    for argument in base.schema.arguments:
        if argument.type.is_tensor_like and not argument.is_write:
            return argument.name
    assert base.meta is not None
    message = f"{base.schema.name} is no view: it has no tensor that it only reads"
    raise SchemaError("meta-view", message, base.meta.span)
