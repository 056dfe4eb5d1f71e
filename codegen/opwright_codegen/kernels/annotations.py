"""Annotations of functions as texts in which names mean one thing, whatever a module has imported them as.

`plan.Plan`, `rules.Plan`, `"Plan"` and the alias `P` of `import Plan as P` are all `Plan`; `typing.Any` is `Any`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["Annotations", "statements"]

_KNOWN: Final = (
    "opwright",
    "opwright_core",
    "opwright_kernels",
    "typing",
    "typing_extensions",
    "collections",
)  # where names are from
_SAME: Final = {"PlanApart": "Plan", "Tuple": "tuple", "List": "list"}
_DEPTH: Final = 20  # of aliases of aliases, one of which may be of itself


class Annotations:
    """The meanings of names of a module: those that it imports, and aliases and subclasses that it defines."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._imported: dict[str, str] = {}
        self._aliases: dict[str, ast.expr] = {}
        for node in statements(body):
            match node:
                case ast.Import(names=names):
                    shown = {each.asname or each.name: each.name for each in names}  # `import a.b` gives the name a
                    self._imported |= {name.partition(".")[0]: _bound(name, full) for name, full in shown.items()}
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    self._imported |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._aliases[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._aliases[name] = value
                case ast.ClassDef(name=name, bases=[base]):
                    self._aliases[name] = base
                case _ if type(node).__name__ == "TypeAlias":  # of Python 3.12
                    self._aliases[node.name.id] = node.value  # type: ignore[attr-defined]
                case _:
                    pass

    def text(self, node: ast.expr | None) -> str:
        """Return the annotation as text, "" where there is none."""
        if node is None:
            return ""
        if isinstance(node, ast.Name) and node.id not in self._imported and node.id not in self._aliases:
            return node.id
        return ast.unparse(_Resolved(self, 0).visit(node))

    def meaning(self, node: ast.expr, depth: int) -> ast.expr | None:
        """Return what a name, maybe with attributes, stands for; None where the module does not say it."""
        head, *rest = _dotted(node)
        qualified = self._imported.get(head)
        if qualified is not None:
            path = [*qualified.split("."), *rest]
            last = _SAME.get(path[-1], path[-1])
            return ast.Name(last) if path[0] in _KNOWN and len(path) > 1 else None
        alias = self._aliases.get(head) if not rest else None
        if alias is None or depth >= _DEPTH:
            return None
        found = _Resolved(self, depth + 1).visit(alias)
        return found if "Plan" in ast.unparse(found) else None


class _Resolved(ast.NodeTransformer):
    """A copy of an expression with names replaced by what they stand for; what is given stays as it is."""

    def __init__(self, annotations: Annotations, depth: int) -> None:
        self._annotations = annotations
        self._depth = depth

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that was imported, or stands for plans."""
        return self._annotations.meaning(node, self._depth) or node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace a name behind a module's."""
        return (self._annotations.meaning(node, self._depth) if _dotted(node) else None) or node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Replace a text by the annotation that it holds."""
        if not isinstance(node.value, str):
            return node
        try:
            found: ast.expr = self.visit(ast.parse(node.value.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            return node
        return found

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace names in brackets, but for the words of `Literal`; `Annotated` is what stands first in it."""
        value = self.visit(node.value)
        name = value.id if isinstance(value, ast.Name) else ""
        if name == "Literal":
            return ast.Subscript(value, node.slice)
        inner = self.visit(node.slice)
        if name == "Annotated" and isinstance(inner, ast.Tuple) and inner.elts:
            return inner.elts[0]
        return ast.Subscript(value, inner)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        """Replace names among several."""
        return ast.Tuple([self.visit(each) for each in node.elts])

    def visit_List(self, node: ast.List) -> ast.expr:
        """Replace names among the parameters of a function's type."""
        return ast.List([self.visit(each) for each in node.elts])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace names in unions."""
        return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))


def _bound(name: str, module: str) -> str:
    return module.partition(".")[0] if name == module else module


def _dotted(node: ast.expr) -> list[str]:
    """Return the parts of `a.b.c`; nothing for what is no name."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=value, attr=name):
            parts = _dotted(value)
            return [*parts, name] if parts else []
        case _:
            return []


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements at the top level, also where they stand under a condition."""
    for node in body:
        match node:
            case ast.If(body=then, orelse=otherwise):
                yield from statements([*then, *otherwise])
            case ast.Try(body=tried, handlers=handlers, orelse=otherwise, finalbody=last):
                yield from statements([*tried, *(x for h in handlers for x in h.body), *otherwise, *last])
            case ast.With(body=inner):
                yield from statements(inner)
            case _:
                yield node
