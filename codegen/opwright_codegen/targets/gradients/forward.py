"""Target `forward.py`: the tangents of results, from the forward formulas of derivatives.yaml.

Note [Terms]
A tangent that was not given stands for zero. A formula that is a sum is computed term by term, so that a term of one
tangent alone is left out where that is not given; where a term needs several, those that are not given become zeros.
Products, quotients and functions that are linear are drawn into the sum for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from opwright_codegen.declared.parts import (
    DEFAULT_KEY,
    DerivativeSet,
    Differentiability,
    ForwardDerivative,
    ForwardKind,
    KernelModules,
    OperatorSet,
)
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Tuple,
    Unary,
    Verbatim,
    rewrite,
    walk,
)
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.targets.gradients.backward_functions import backward_functions
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import LINE, fill_comment, formula_lines, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView, signature

__all__ = [
    "FOLDER",
    "TEMPLATE",
    "Function",
    "Rule",
    "Speaker",
    "context",
    "function_of",
    "is_complete",
    "rule_call",
    "rules",
]

FOLDER = "forward"
TEMPLATE = "forward.py.j2"
_RESERVED = (
    "Any", "ForwardRule", "RULES", "TangentFormula", "annotations", "builtins", "dtypes", "math", "ops",
    "or_zeros", "sum_terms", "tangent",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by which tangents go through an operator and its variants: the functions of an entry."""

    views: tuple[OperatorView, ...]
    entry: Differentiability
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A generated function: its comment, its `def` line, and its statements."""

    comment: str
    signature: str
    statements: tuple[str, ...]


def rules(view: NamespaceView, operators: OperatorSet, derivatives: DerivativeSet) -> tuple[Rule, ...]:
    """Return the rules of operators whose differentiable results all have a forward formula, or that have none such."""
    namer = Namer(_RESERVED)
    inplace = {
        group.functional.name: group.inplace.name
        for group in operators.groups
        if group.functional is not None and group.inplace is not None
    }
    found = []
    for name, by_key in derivatives.entries.items():
        entry = by_key.get(DEFAULT_KEY)
        if entry is None or name not in view.operators or not is_complete(entry):
            continue
        names = [name, inplace[name]] if name in inplace else [name]
        views = tuple(view.operators[each] for each in names)
        base = views[0].stub
        functions = [
            namer.claim("_".join((base, *(each.outputs if i else ())))) for i, each in enumerate(entry.forward)
        ]
        found.append(Rule(views, entry, tuple(functions)))
    return tuple(found)


def is_complete(entry: Differentiability) -> bool:
    """Return whether all differentiable results have a forward formula, or there are none."""
    if not entry.differentiable_inputs:
        return True
    names = entry.operator.schema.output_names
    given = {output for forward in entry.forward for output in forward.outputs}
    return all(names[position] in given for position in entry.differentiable_outputs)


def context(view: NamespaceView, found: Sequence[Rule], functions: KernelModules) -> dict[str, object] | None:
    """Return what the template shows; None where there are no rules."""
    if not found:
        return None
    formulas = [forward.formula for rule in found for forward in rule.entry.forward if forward.formula is not None]
    taken = [*_RESERVED, *(name for rule in found for name in rule.functions)]
    modules, backward = backward_functions(formulas, functions, taken)

    def called(part: Formula) -> Formula | None:
        return Verbatim(backward[part.name]) if _is_function(part) else None

    speaker = Speaker(
        lambda formula: rewrite(spelled(formula, {}, view.calls), called),
        Spelling(builtin="builtins."),
        tuple(modules.values()),
    )
    made = []
    rows = []
    for rule in found:
        for name, forward in zip(rule.functions, rule.entry.forward, strict=True):
            made.append(function_of(rule.views[0], name, forward, view.function(rule.views[0]), speaker))
        rows += [_row(each, rule) for each in rule.views]
    words = words_in(text for each in made for text in (each.signature, *each.statements))
    whole = [name for name in ("builtins", "math") if name in words]
    extra = [(module.rpartition(".")[0], module.rpartition(".")[2], alias) for module, alias in modules.items()]
    extra += view.imports(words)
    used = (
        (words & {"Any", "dtypes", "or_zeros", "sum_terms"}) | {"ForwardRule"} | ({"TangentFormula"} if made else set())
    )
    return {"functions": made, "rows": rows, "imports": import_lines(used, whole, extra)}


# -- functions


@dataclass(frozen=True, slots=True)
class Speaker:
    """The language of a generated module: how it calls operators and functions, its prefixes, and names it has."""

    spell: Callable[[Formula], Formula]
    spelling: Spelling
    names: tuple[str, ...] = ()


def function_of(view: OperatorView, name: str, forward: ForwardDerivative, linear: str, speaker: Speaker) -> Function:
    """Return the function of one forward formula. `linear` is the operator as the module calls it."""
    return _Builder(view, name, forward, linear, speaker).build()


class _Builder:
    """The builder of the function of one forward formula."""

    def __init__(
        self, view: OperatorView, name: str, forward: ForwardDerivative, linear: str, speaker: Speaker
    ) -> None:
        self.view = view
        self.name = name
        self.forward = forward
        self.speaker = speaker
        assert forward.formula is not None  # formulas in our language alone are rendered
        self.formula = forward.formula
        if forward.kind is ForwardKind.LINEAR and isinstance(self.formula, Call):
            self.formula = replace(self.formula, function=Verbatim(linear))
        self.arguments, self.results = read_by(view.schema, forward)
        namer = Namer((*_RESERVED, *speaker.names))
        self.own = {each: namer.claim(each) for each in self.arguments}
        self.tangents = {each: namer.claim(f"{each}_t") for each in forward.tangents}
        self.own_results = {each: namer.claim(each) for each in self.results}

    def build(self) -> Function:
        parameters = [*self.own.values(), *self.tangents.values(), *self.own_results.values()]
        comment = fill_comment(f"{self.view.declaration}: {', '.join(self.forward.outputs)}")
        head = signature(self.name, [f"{each}: Any" for each in parameters], "Any")
        return Function(comment, head, tuple(self._statements()))

    def _statements(self) -> Iterator[str]:
        is_sum = len(self.tangents) > 1 and not isinstance(self.formula, Tuple)
        terms = list(_terms(self.formula)) if is_sum else [self.formula]
        counts = [_tangents_in(term) for term in terms]
        for name, own in self.tangents.items():
            if len(self.tangents) > 1 and any(name in each and len(each) > 1 for each in counts):
                yield f"{own} = or_zeros({own}, {self.own[name]})"
        if len(terms) > 1:
            choices = [self._choice(*pair) for pair in zip(terms, counts, strict=True)]
            is_long = any(len(emit(choice, self._spelling)) > LINE - 9 for choice in choices)
            for position, names in enumerate(counts):
                if is_long and len(names) == 1:
                    yield from self._assigned(f"term{position}", terms[position], *names)
                    choices[position] = Verbatim(f"term{position}")
            yield from self._returned(Call(Verbatim("sum_terms"), tuple(choices)))
        else:
            yield from self._returned(terms[0])

    def _choice(self, term: Formula, names: frozenset[str]) -> Formula:
        """Return the term; None where its only tangent is not given."""
        if len(names) != 1:
            return term
        (name,) = names
        term = self._spelled(term)
        return Conditional(Comparison(Verbatim(self.tangents[name]), (("is", Constant(None)),)), Constant(None), term)

    def _returned(self, formula: Formula) -> Iterator[str]:
        """Yield the statements that return a value; its conjugate in two, where that is too long for a line."""
        text = self._lines(formula, "return ")
        match formula:
            case Call(Attribute(value, "conj"), (), ()) if len(text) + 4 > LINE:
                yield self._lines(value, "tangent = ")
                yield "return tangent.conj()"
            case _:
                yield text

    def _assigned(self, variable: str, term: Formula, name: str) -> Iterator[str]:
        """Yield the statements that compute a term where its tangent is given."""
        yield f"{variable} = None"
        yield f"if {self.tangents[name]} is not None:"
        yield formula_lines(self._spelled(term), self._spelling, 8, f"    {variable} = ")

    def _lines(self, formula: Formula, before: str) -> str:
        return formula_lines(self._spelled(formula), self._spelling, 4, before)

    def _spelled(self, formula: Formula) -> Formula:
        return self.speaker.spell(formula)

    @property
    def _spelling(self) -> Spelling:
        return replace(
            self.speaker.spelling,
            arguments=self.own
            | {f"{name}_p": own for name, own in self.own.items()}
            | {f"{name}_t": own for name, own in self.tangents.items()}
            | self.own_results,
        )


def _is_function(part: Formula) -> TypeGuard[Reference]:
    return isinstance(part, Reference) and part.kind is Kind.FUNCTION


def read_by(schema: FunctionSchema, forward: ForwardDerivative) -> tuple[list[str], list[str]]:
    """Return the arguments and the results that the function of a formula takes, in the order of the schema: those it
    names, and the values of tangents that may have to become zeros."""
    assert forward.formula is not None
    names = {node.name for node in walk(forward.formula) if isinstance(node, Reference) and node.kind is Kind.ARGUMENT}
    names |= set(forward.primals)
    if len(forward.tangents) > 1:
        names |= set(forward.tangents)
    arguments = [argument.name for argument in schema.arguments if argument.name in names]
    return arguments, [name for name in schema.output_names if name in forward.results]


# -- terms (Note [Terms])


def _terms(formula: Formula) -> Iterator[Formula]:
    """Yield the terms of the formula as a sum; itself, where it is none."""
    for sign, term in _signed(formula):
        yield Unary("-", term) if sign < 0 else term


def _signed(formula: Formula) -> Iterator[tuple[int, Formula]]:
    match formula:
        case Binary("+", left, right):
            yield from _signed(left)
            yield from _signed(right)
        case Binary("-", left, right):
            yield from _signed(left)
            yield from ((-sign, term) for sign, term in _signed(right))
        case Binary("*" | "/" as operator, left, right) if not _tangents_in(right):
            yield from ((sign, Binary(operator, term, right)) for sign, term in _signed(left))
        case Binary("*", left, right) if not _tangents_in(left):
            yield from ((sign, Binary("*", left, term)) for sign, term in _signed(right))
        case Unary("-", operand):
            yield from ((-sign, term) for sign, term in _signed(operand))
        case Call(Attribute(value, "conj" as name), (), ()):
            yield from ((sign, Call(Attribute(term, name), ())) for sign, term in _signed(value))
        case Call(Reference(Kind.FUNCTION, "scaled") as function, (value, factor), ()) if not _tangents_in(factor):
            yield from ((sign, Call(function, (term, factor))) for sign, term in _signed(value))
        case _:
            yield 1, formula


def _tangents_in(formula: Formula) -> frozenset[str]:
    return frozenset(
        node.name.removesuffix("_t")
        for node in walk(formula)
        if isinstance(node, Reference) and node.kind is Kind.TANGENT
    )


# -- the table

_NOTHING, _FIRST = Tuple(()), Tuple((Constant(0),))


def _row(view: OperatorView, rule: Rule) -> str:
    """Return the operator's line in RULES."""
    short = view.name.removeprefix(f"{view.schema.name.namespace}::")
    return formula_lines(rule_call(rule.entry, rule.functions), Spelling(), 4, f"{quoted(short)}: ", ",")


def rule_call(entry: Differentiability, functions: Sequence[str]) -> Call:
    """Return the call that makes the rule of an operator from the functions of its forward formulas."""
    schema = entry.operator.schema
    formulas = []
    for name, forward in zip(functions, entry.forward, strict=True):
        arguments, results = read_by(schema, forward)
        values = [_positions(each, schema) for each in (arguments, forward.tangents, results, forward.outputs)]
        formulas.append(_made("TangentFormula", [Verbatim(name), *values], [_NOTHING, _NOTHING, _NOTHING, _FIRST]))
    inputs, ignored = entry.differentiable_inputs, entry.non_differentiable
    if not entry.differentiable_outputs:
        ignored = tuple(argument.name for argument in schema.arguments if argument.type.is_tensor_like)
    values = [_positions(inputs, schema), Tuple(tuple(formulas)), _positions(ignored, schema)]
    return _made("ForwardRule", values, [_NOTHING, _NOTHING])


def _made(name: str, values: list[Formula], defaults: list[Formula]) -> Call:
    """Return the call that makes a tuple of these values, of which the last ones have defaults."""
    while defaults and values[-1] == defaults[-1]:
        values, defaults = values[:-1], defaults[:-1]
    return Call(Verbatim(name), tuple(values))


def _positions(names: Sequence[str], schema: FunctionSchema) -> Formula:
    """Return the positions of arguments, or of results."""
    positions = {name: position for position, name in enumerate(schema.output_names)}
    positions |= {argument.name: position for position, argument in enumerate(schema.arguments)}
    return Tuple(tuple(Constant(positions[name]) for name in names))
