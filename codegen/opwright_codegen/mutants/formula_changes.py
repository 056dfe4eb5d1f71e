"""Changes of formulas and expressions: each node of the text's tree gives those that its kind has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from opwright_codegen.mutants.mutant import Change

__all__ = ["changes_of_formula"]

_LONGEST: Final = 4000  # characters: nesting and the number of changes are bounded by it
_OPPOSITE: Final[dict[type[ast.operator], ast.operator]] = {ast.Add: ast.Sub(), ast.Sub: ast.Add()}
_DIRECTED: Final = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult, ast.Mod)
_JOINING: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_BOUNDS: Final[dict[type[ast.cmpop], ast.cmpop]] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
}


def changes_of_formula(text: str) -> Iterator[Change]:
    """Yield the text with each change that it can have; nothing where it is no expression."""
    if len(text) > _LONGEST:
        return
    try:
        tree = ast.parse(text.strip(), mode="eval")
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
        found = {ast.unparse(tree)}  # what changes nothing is none
        for node in nodes:
            for kind, other in _changes(node):
                changed = ast.unparse(_with(tree, node, other))
                if changed not in found:
                    found.add(changed)
                    yield Change(kind, changed)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def _changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield what may stand in place of a node, with the class of the change."""
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            if type(operator) in _OPPOSITE:
                yield "sign flipped", ast.BinOp(left, _OPPOSITE[type(operator)], right)
            if isinstance(operator, _JOINING):
                yield ("term dropped" if type(operator) in _OPPOSITE else "factor dropped"), left
            if isinstance(operator, _DIRECTED):
                yield "operands swapped", ast.BinOp(right, operator, left)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign flipped", operand
        case ast.Call():
            yield from _call_changes(node)
        case ast.Constant(value=bool() as value):
            yield "constant changed", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant changed", ast.Constant(value + 1)
        case ast.Compare(left=left, ops=[operator], comparators=comparators) if type(operator) in _BOUNDS:
            yield "bound changed", ast.Compare(left, [_BOUNDS[type(operator)]], comparators)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            yield "branches swapped", ast.IfExp(test, otherwise, body)


def _call_changes(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    if len(node.args) >= 2 and not any(isinstance(each, ast.Starred) for each in node.args[:2]):
        yield "operands swapped", ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        yield "call dropped", node.func.value
    elif len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        yield "call dropped", node.args[0]
    for at in range(len(node.keywords)):
        yield "keyword dropped", ast.Call(node.func, node.args, node.keywords[:at] + node.keywords[at + 1 :])


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old = old
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        """Return what stands in place of a node: a new tree, since others are made of the same nodes."""
        if node is self._old:
            return self._new
        return type(node)(**{name: self._copied(value) for name, value in ast.iter_fields(node)})

    def _copied(self, value: object) -> object:
        if isinstance(value, list):
            return [self._copied(each) for each in value]
        return self.visit(value) if isinstance(value, ast.AST) else value


def _with(tree: ast.Expression, old: ast.expr, new: ast.expr) -> ast.AST:
    found: ast.AST = _Replacing(old, new).visit(tree)
    return found
