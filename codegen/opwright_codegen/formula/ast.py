"""Formulas as frozen data. Equality ignores where a formula stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from types import EllipsisType

from opwright_codegen.records import dataclass, field
from opwright_codegen.source import Span

__all__ = [
    "Attribute", "Binary", "Boolean", "Call", "Comparison", "Conditional", "Constant", "Formula", "Kind", "List",
    "Name", "Reference", "Slice", "Subscript", "Tuple", "Unary", "Verbatim", "children", "depth", "rewrite", "walk",
]  # fmt: skip


class Kind(Enum):
    """The kinds of things that a name in a formula stands for."""

    ARGUMENT = "argument"
    GRAD = "gradient"  # `grad`, `grads`, `grad_NAME`
    RESULT = "result"  # `result`, `result0`, …
    MASK = "mask"  # `grad_input_mask`
    PRIMAL = "primal"  # `self_p` in a forward formula
    TANGENT = "tangent"  # `self_t`
    SAVED = "saved fact"  # `self_shape`, which stands for `self.shape`
    FUNCTION = "backward function"
    MODULE = "array module"  # `xp`
    OPERATOR = "operator"
    RULE = "rule"
    DTYPE = "dtype"
    CONSTANT = "constant"  # `inf`, `nan`, `pi`
    BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a formula. `span` is None in formulas that the generator makes itself."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name(_Node):
    """A name that is not resolved yet."""

    name: str


@dataclass(frozen=True, slots=True)
class Reference(_Node):
    """A name that is resolved. `name` is the schema's: `from`, where the formula may say `from_`."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class Verbatim(_Node):
    """Python text of the generator's own making, never of a user's."""

    text: str


@dataclass(frozen=True, slots=True)
class Constant(_Node):
    value: int | float | complex | str | bool | EllipsisType | None

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal in Python, and different formulas; so are 0.0 and -0.0, and nan is itself.
        return isinstance(other, Constant) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[type, str]:
        return type(self.value), repr(self.value)


@dataclass(frozen=True, slots=True)
class Attribute(_Node):
    value: Formula
    name: str


@dataclass(frozen=True, slots=True)
class Call(_Node):
    function: Formula
    arguments: tuple[Formula, ...]
    keywords: tuple[tuple[str, Formula], ...] = ()


@dataclass(frozen=True, slots=True)
class Slice(_Node):
    """A slice `lower:upper:step`, as an index or as an item of one that is a tuple."""

    lower: Formula | None
    upper: Formula | None
    step: Formula | None = None


@dataclass(frozen=True, slots=True)
class Subscript(_Node):
    value: Formula
    index: Formula


@dataclass(frozen=True, slots=True)
class Tuple(_Node):
    items: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class List(_Node):
    items: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Unary(_Node):
    """An operation on one operand; `operator` is one of `- + ~ not`."""

    operator: str
    operand: Formula


@dataclass(frozen=True, slots=True)
class Binary(_Node):
    operator: str
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Comparison(_Node):
    """A comparison `first < a <= b`: one operator and one operand in each of `rest`, which is not empty."""

    first: Formula
    rest: tuple[tuple[str, Formula], ...]


@dataclass(frozen=True, slots=True)
class Boolean(_Node):
    """A boolean operation: `and` or `or` of two values or more."""

    operator: str
    values: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Conditional(_Node):
    """A choice `then if test else otherwise`."""

    test: Formula
    then: Formula
    otherwise: Formula


Formula = (
    Name | Reference | Verbatim | Constant | Attribute | Call | Slice | Subscript | Tuple | List
    | Unary | Binary | Comparison | Boolean | Conditional
)  # fmt: skip


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return what the formula is made of, in the order in which it is written."""
    match formula:
        case Attribute(value):
            return (value,)
        case Call(function, arguments, keywords):
            return (function, *arguments, *(value for _, value in keywords))
        case Slice(lower, upper, step):
            return tuple(part for part in (lower, upper, step) if part is not None)
        case Subscript(value, index):
            return (value, index)
        case Tuple(items) | List(items):
            return items
        case Unary(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Comparison(first, rest):
            return (first, *(operand for _, operand in rest))
        case Boolean(_, values):
            return values
        case Conditional(test, then, otherwise):
            return (then, test, otherwise)
        case Name() | Reference() | Verbatim() | Constant():
            return ()


def walk(formula: Formula) -> Iterator[Formula]:
    """Yield the formula and all it is made of, the outer before the inner, from left to right."""
    pending = [formula]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def depth(formula: Formula) -> int:
    """Return how many formulas stand in each other. Does not recurse: the result may be that nothing else should."""
    deepest = 0
    pending = [(formula, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in children(node))
    return deepest


def rewrite(formula: Formula, change: Callable[[Formula], Formula | None]) -> Formula:
    """Return the formula with the result of `change` for each part that has one; inside such a part it is not asked."""
    changed = change(formula)
    if changed is not None:
        return changed

    def inner(part: Formula) -> Formula:
        return rewrite(part, change)

    def option(part: Formula | None) -> Formula | None:
        return None if part is None else inner(part)

    span = formula.span
    match formula:
        case Attribute(value, name):
            return Attribute(inner(value), name, span=span)
        case Call(function, arguments, keywords):
            named = tuple((name, inner(value)) for name, value in keywords)
            return Call(inner(function), tuple(map(inner, arguments)), named, span=span)
        case Slice(lower, upper, step):
            return Slice(option(lower), option(upper), option(step), span=span)
        case Subscript(value, index):
            return Subscript(inner(value), inner(index), span=span)
        case Tuple(items):
            return Tuple(tuple(map(inner, items)), span=span)
        case List(items):
            return List(tuple(map(inner, items)), span=span)
        case Unary(operator, operand):
            return Unary(operator, inner(operand), span=span)
        case Binary(operator, left, right):
            return Binary(operator, inner(left), inner(right), span=span)
        case Comparison(first, rest):
            return Comparison(inner(first), tuple((operator, inner(operand)) for operator, operand in rest), span=span)
        case Boolean(operator, values):
            return Boolean(operator, tuple(map(inner, values)), span=span)
        case Conditional(test, then, otherwise):
            return Conditional(inner(test), inner(then), inner(otherwise), span=span)
        case Name() | Reference() | Verbatim() | Constant():
            return formula
