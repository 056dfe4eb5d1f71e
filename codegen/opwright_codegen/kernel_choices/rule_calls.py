"""Checks of calls of rules in `meta`: number and names of arguments, known words, integer sizes.

What a rule wants is read off its annotations: `int` and sequences of it are sizes and dimensions, `Literal[...]` lists
the words that are known, `DtypeKinds` are words of dtypes, and `CoreDimensions` is a signature as NumPy writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.formula.ast import (
    Binary,
    Call,
    Conditional,
    Constant,
    Formula,
    Kind,
    List,
    Reference,
    Tuple,
    Unary,
)
from opwright_codegen.formula.sorts import NOTHING, Given, Sort, described, narrowed, sort_of
from opwright_codegen.kernel_choices.core_dimensions import check_signature, takes_signature
from opwright_codegen.kernels.source_functions import KernelFunction, Parameter
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Span

__all__ = ["check_rule_call"]

_INTEGERS = frozenset(("int", "Shape", "Sequence[int]", "list[int]", "tuple[int, ...]", "None"))
_WORD = re.compile(r"'([^']*)'")
_DTYPE_KINDS = ("bool", "integer", "floating", "complex", "float16", "bfloat16", "float32", "float64")
_TYPES_OF_SIZES = ("int", "SymInt")


def check_rule_call(
    call: Call, rule: KernelFunction, schema: FunctionSchema, span: Span, given: Given = NOTHING
) -> Iterator[SchemaError]:
    """Yield what is wrong with a call of `rule`, each with its position. `span` is that of the whole formula; `given`
    are the optional arguments that are no None there."""
    at = call.span or span
    positional = rule.positional
    names = [name for name, _ in call.keywords]
    if len(call.arguments) > len(positional) and rule.vararg is None:
        extra = call.arguments[len(positional)]
        given_by_position = len(call.arguments)
        taken = _count(len(positional), "positional argument")
        message = f"{rule.name}() takes {taken}, and {given_by_position} are given"
        yield SchemaError("rule-arguments", message, extra.span or at, f"it takes: {_shown(rule)}")
    for name, value in call.keywords:
        if name not in rule.parameters and not rule.takes_keywords:
            near = nearest(name, rule.parameters)
            hint = f"did you mean {near!r}?" if near else f"it takes: {_shown(rule)}"
            yield SchemaError("rule-arguments", f"{rule.name}() has no parameter {name!r}", value.span or at, hint)
        elif name in [parameter.name for parameter in positional[: len(call.arguments)]]:
            message = f"{rule.name}() gets {name!r} by position and by name"
            yield SchemaError("rule-arguments", message, value.span or at)
    named = {parameter.name for parameter in positional[: len(call.arguments)]} | set(names)
    missing = [p.name for p in rule.signature if p.is_required and p.name not in named]
    if missing:
        message = f"{rule.name}() misses {', '.join(map(repr, missing))}"
        yield SchemaError("rule-arguments", message, at, f"it takes: {_shown(rule)}")
    by_name = {parameter.name: parameter for parameter in rule.signature}
    passed = [*zip(positional, call.arguments, strict=False)]
    passed += [(by_name[name], value) for name, value in call.keywords if name in by_name]
    if takes_signature(rule):
        sizes = ((name, value) for name, value in call.keywords if name not in by_name)
        passed += [(Parameter(name, "int"), value) for name, value in sizes if not _is_text(value)]
    if rule.vararg is not None:
        rest = Parameter(rule.vararg, rule.vararg_annotation)
        passed += [(rest, value) for value in call.arguments[len(positional) :]]
    for parameter, value in passed:
        wrong = [*_check_value(parameter, value, rule, schema, at)]
        yield from wrong or _check_sort(parameter, value, rule, schema, at, given)
    yield from check_signature(call, rule, at)


def _is_text(value: Formula) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shown(rule: KernelFunction) -> str:
    words = [p.name for p in rule.positional]
    words += [f"*{rule.vararg}"] if rule.vararg else []
    return ", ".join([*words, *(f"{p.name}=" for p in rule.signature if p.is_keyword)])


def _check_value(
    parameter: Parameter, value: Formula, rule: KernelFunction, schema: FunctionSchema, at: Span
) -> Iterator[SchemaError]:
    annotation = parameter.annotation
    if set(annotation.split(" | ")) <= _INTEGERS and annotation != "None":
        wrong = _not_integer(value, schema, "None" in annotation.split(" | "))
        if wrong is not None:
            found, reason = wrong
            message = f"{rule.name}(): {parameter.name!r} takes integers, and {reason}"
            hint = "divide with //" if isinstance(found, Binary) and found.operator == "/" else None
            yield SchemaError("size-integer", message, found.span or at, hint)
    words = _WORD.findall(annotation) if annotation.startswith("Literal[") else None
    if annotation.startswith("DtypeKinds"):
        words = list(_DTYPE_KINDS)
    if words is not None:
        many = annotation.startswith("DtypeKinds")
        for constant in _constants(value):
            for word in str(constant.value).split() if many else [str(constant.value)]:
                if constant.value is not None and word not in words:
                    near = nearest(word, words)
                    hint = f"did you mean {near!r}?" if near else f"known are: {', '.join(words)}"
                    message = f"{rule.name}(): {word!r} is not known for {parameter.name!r}"
                    yield SchemaError("rule-word", message, constant.span or at, hint)


# What a parameter takes, by its annotation; `None` besides where that says so. Numbers stand for tensors in some rules.
_TAKEN = {
    "Any": frozenset((Sort.TENSOR, Sort.NUMBER, Sort.SEQUENCE, Sort.TEXT)),
    "bool": frozenset((Sort.NUMBER,)),
    "float": frozenset((Sort.NUMBER,)),
    "complex": frozenset((Sort.NUMBER,)),
    "int": frozenset((Sort.NUMBER,)),
    "str": frozenset((Sort.TEXT,)),
    "DtypeKinds": frozenset((Sort.TEXT,)),
    "CoreDimensions": frozenset((Sort.TEXT,)),
    "Literal": frozenset((Sort.TEXT,)),
    "Shape": frozenset((Sort.SEQUENCE,)),
    "Sequence": frozenset((Sort.SEQUENCE,)),
    "list": frozenset((Sort.SEQUENCE,)),
    "tuple": frozenset((Sort.SEQUENCE,)),
}  # fmt: skip


def _check_sort(
    parameter: Parameter, value: Formula, rule: KernelFunction, schema: FunctionSchema, at: Span, given: Given
) -> Iterator[SchemaError]:
    """Yield errors for a value that is surely none of what the parameter is annotated as."""
    kinds = parameter.annotation.split(" | ")
    if not {kind.partition("[")[0] for kind in kinds} <= _TAKEN.keys() | {"None"}:
        return
    taken = set().union(*(_TAKEN.get(kind.partition("[")[0], frozenset((Sort.NONE,))) for kind in kinds))
    holds_tensors = parameter.annotation.startswith(("Sequence[Any", "list[Any"))
    for part, known in _results_of(value, given):
        sort = sort_of(part, schema, known)
        if holds_tensors and isinstance(part, List):
            yield from _check_items(parameter, part, rule, schema, at)
        is_none = sort in (Sort.NONE, Sort.OPTIONAL)
        if sort is None or sort in taken or (is_none and Sort.NONE in taken):
            continue
        if is_none and rule.module.partition(".")[0] != "opwright_core" and "Any" in kinds:
            continue
        message = f"{rule.name}(): {parameter.name!r} takes {parameter.annotation}, and {described(part, schema, sort)}"
        hint = f"as in: … if {part.name} is None else …" if is_none and isinstance(part, Reference) else None
        yield SchemaError("rule-arguments", message, part.span or at, hint)


def _check_items(
    parameter: Parameter, value: List, rule: KernelFunction, schema: FunctionSchema, at: Span
) -> Iterator[SchemaError]:
    """Yield errors for lists and texts in a list of tensors."""
    for item in value.items:
        sort = sort_of(item, schema)
        if sort in (Sort.SEQUENCE, Sort.TEXT):
            message = f"{rule.name}(): {parameter.name!r} takes tensors, and {described(item, schema, sort)}"
            yield SchemaError("rule-arguments", message, item.span or at)


def _results_of(value: Formula, given: Given) -> Iterator[tuple[Formula, Given]]:
    """Yield what the value may be: of a choice, both branches."""
    match value:
        case Conditional(_, then, otherwise):
            inner = {id(node): known for node, known in narrowed(value, given)}
            yield from _results_of(then, inner[id(then)])
            yield from _results_of(otherwise, inner[id(otherwise)])
        case _:
            yield value, given


def _constants(value: Formula) -> Iterator[Constant]:
    match value:
        case Constant():
            yield value
        case Conditional(_, then, otherwise):
            yield from _constants(then)
            yield from _constants(otherwise)
        case _:
            return


def _not_integer(value: Formula, schema: FunctionSchema, none: bool) -> tuple[Formula, str] | None:
    """Return the part of a formula that is surely no integer, and what it is; None where there is none."""
    match value:
        case Constant(None):
            return None if none else (value, "this is None")
        case Constant(found) if type(found) is not int:
            return value, f"{found!r} is {_a(type(found).__name__)}"
        case Binary("/", _, _):
            return value, "a quotient is a float"
        case Binary(_, left, right):
            return _not_integer(left, schema, False) or _not_integer(right, schema, False)
        case Unary(_, operand):
            return _not_integer(operand, schema, False)
        case Conditional(_, then, otherwise):
            return _not_integer(then, schema, none) or _not_integer(otherwise, schema, none)
        case List(items) | Tuple(items):
            return next((wrong for item in items if (wrong := _not_integer(item, schema, False))), None)
        case Reference(Kind.CONSTANT | Kind.DTYPE, name):
            return value, f"{name} is none"
        case Reference(Kind.ARGUMENT, name):
            declared = next(str(a.type) for a in schema.arguments if a.name == name)
            is_integer = declared.startswith(_TYPES_OF_SIZES)
            return None if is_integer else (value, f"{name!r} is declared {declared}")
        case _:
            return None


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"
