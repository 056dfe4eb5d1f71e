"""Formulas to draw from in property tests, and the same ones as Python's own trees."""

import ast

from hypothesis import strategies as st

from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    List,
    Name,
    Reference,
    Slice,
    Subscript,
    Tuple,
    Unary,
    Verbatim,
)
from opwright_codegen.source import Source, Span, Text

NAMES = ("self", "other", "alpha", "dim", "xp", "x_1", "_softmax")
BINARY = ("|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//", "%", "@", "**")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=", "in", "not in")


def text_of(formula: str, before: str = "  meta: ") -> Text:
    """The text as it stands in a line of a schema file."""
    source = Source("ops.yaml", f"{before}{formula}\n")
    return Text(formula, Span(source, len(before), len(before) + len(formula)))


def formulas() -> st.SearchStrategy[Formula]:
    """Formulas that a text can stand for: no negative numbers, which are negations of others."""
    numbers = st.integers(0, 2**64 - 1) | st.floats(0, allow_nan=False, allow_infinity=False)
    complexes = st.floats(0, allow_nan=False, allow_infinity=False).map(lambda x: complex(0, x))
    constants = st.none() | st.booleans() | numbers | complexes | st.text(max_size=5) | st.just(...)
    leaves = st.sampled_from(NAMES).map(Name) | constants.map(Constant)
    return st.recursive(leaves, _compound, max_leaves=12)


def _compound(part: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    names = st.sampled_from(("shape", "dtype", "real"))
    parts = st.lists(part, max_size=3).map(tuple)
    keywords = st.dictionaries(st.sampled_from(("axis", "out", "dtype")), part, max_size=2)
    slices = st.builds(Slice, st.none() | part, st.none() | part, st.none() | part)
    comparison = st.tuples(st.sampled_from(COMPARISONS), part) | st.tuples(
        st.sampled_from(("is", "is not")), st.just(Constant(None))
    )
    return st.one_of(
        st.builds(Attribute, part, names),
        st.builds(Call, part, parts, keywords.map(lambda named: tuple(named.items()))),
        st.builds(
            Subscript, part, part | slices | st.lists(part | slices, min_size=1, max_size=3).map(tuple).map(Tuple)
        ),
        st.builds(Tuple, parts),
        st.builds(List, parts),
        st.builds(Unary, st.sampled_from(("-", "+", "~", "not")), part),
        st.builds(Binary, st.sampled_from(BINARY), part, part),
        st.builds(Comparison, part, st.lists(comparison, min_size=1, max_size=2).map(tuple)),
        st.builds(Boolean, st.sampled_from(("and", "or")), st.lists(part, min_size=2, max_size=3).map(tuple)),
        st.builds(Conditional, part, part, part),
    )


_OPERATORS: dict[str, ast.AST] = {
    "|": ast.BitOr(), "^": ast.BitXor(), "&": ast.BitAnd(), "<<": ast.LShift(), ">>": ast.RShift(), "+": ast.Add(),
    "-": ast.Sub(), "*": ast.Mult(), "/": ast.Div(), "//": ast.FloorDiv(), "%": ast.Mod(), "@": ast.MatMult(),
    "**": ast.Pow(), "<": ast.Lt(), "<=": ast.LtE(), "==": ast.Eq(), "!=": ast.NotEq(), ">": ast.Gt(), ">=": ast.GtE(),
    "in": ast.In(), "not in": ast.NotIn(), "is": ast.Is(), "is not": ast.IsNot(), "and": ast.And(), "or": ast.Or(),
}  # fmt: skip
_UNARY: dict[str, ast.unaryop] = {"-": ast.USub(), "+": ast.UAdd(), "~": ast.Invert(), "not": ast.Not()}
_LOAD = ast.Load()


def python_tree(formula: Formula) -> ast.expr:
    """What Python should understand when it reads the formula."""
    tree = python_tree
    match formula:
        case Name(name) | Reference(_, name):
            return ast.Name(name, _LOAD)
        case Constant(value):
            return ast.Constant(value)
        case Attribute(value, name):
            return ast.Attribute(tree(value), name, _LOAD)
        case Call(function, arguments, keywords):
            named = [ast.keyword(name, tree(value)) for name, value in keywords]
            return ast.Call(tree(function), list(map(tree, arguments)), named)
        case Slice():
            bounds = (formula.lower, formula.upper, formula.step)
            return ast.Slice(*(None if bound is None else tree(bound) for bound in bounds))
        case Subscript(value, index):
            return ast.Subscript(tree(value), tree(index), _LOAD)
        case Tuple(items):
            return ast.Tuple(list(map(tree, items)), _LOAD)
        case List(items):
            return ast.List(list(map(tree, items)), _LOAD)
        case Unary(operator, operand):
            return ast.UnaryOp(_UNARY[operator], tree(operand))
        case Binary(operator, left, right):
            return ast.BinOp(tree(left), _OPERATORS[operator], tree(right))  # type: ignore[arg-type]
        case Comparison(first, rest):
            return ast.Compare(tree(first), [_OPERATORS[o] for o, _ in rest], [tree(x) for _, x in rest])  # type: ignore[misc]
        case Boolean(operator, values):
            return ast.BoolOp(_OPERATORS[operator], list(map(tree, values)))  # type: ignore[arg-type]
        case Conditional(test, then, otherwise):
            return ast.IfExp(tree(test), tree(then), tree(otherwise))
        case Verbatim():
            raise TypeError("not from a text")
