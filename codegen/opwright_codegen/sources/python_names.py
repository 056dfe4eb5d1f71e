"""The names of a Python source: imports, constants and functions, from the syntax tree."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Final

from opwright_codegen.records import dataclass
from opwright_codegen.schema.defaults import EnumName, Value

__all__ = ["Computed", "Names", "argument"]

_MAX_PARTS: Final = 16  # names with more dots, sums of more texts and longer chains of names are not followed
_SHORT: Final = (
    *(("half", "float16"), ("float", "float32"), ("double", "float64"), ("cfloat", "complex64")),
    *(("short", "int16"), ("int", "int32"), ("long", "int64"), ("cdouble", "complex128")),
)
_DTYPES: Final = dict(_SHORT) | {
    name: name
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
_NUMBERS: Final = {"math.inf": float("inf"), "torch.inf": float("inf"), "math.pi": 3.141592653589793}
_FOLDED: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LARGEST: Final = 2**63  # of the numbers that are folded


@dataclass(frozen=True, slots=True)
class Computed:
    """The answer for an expression whose value the source does not state; `text` shows the expression."""

    text: str


class Names:
    """The imports, aliases, constants and functions of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self._imported = {"torch": "torch"}
        self._assigned: dict[str, ast.expr | None] = {}  # of the module, assigned once
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    self._imported |= {alias.asname: alias.name for alias in node.names if alias.asname}
                case ast.ImportFrom():
                    self._imported |= {a.asname or a.name: f"{node.module or ''}.{a.name}" for a in node.names}
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions.setdefault(node.name, node)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as attribute):
                    if (full := self.dotted(attribute)).startswith("torch.library."):
                        self._imported[name] = full
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._assigned[name] = None if name in self._assigned else value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._assigned[name] = None if name in self._assigned else value

    def dotted(self, node: ast.expr | None) -> str:
        """Return a name as its imports have it, `torch.library.define`; "" for what is no name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MAX_PARTS:
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._imported.get(node.id, node.id), *reversed(parts)])

    def assigned(self, node: ast.expr) -> ast.expr | None:
        """Return the expression that a name of the module stands for; None for any other expression."""
        return self._assigned.get(node.id) if isinstance(node, ast.Name) else None

    def text(self, node: ast.expr | None) -> str | None:
        """Return the text that an expression is; None for what is computed."""
        value = self.value(node) if node is not None else None
        return value if isinstance(value, str) else None

    def value(self, node: ast.expr, depth: int = 0) -> Value | Computed:
        """Return the value of a literal, of a constant of the module, or of a sum of these."""
        if depth <= _MAX_PARTS:
            match node:
                case ast.Constant(value=None | bool() | int() | float() | complex() | str()):
                    return node.value  # type: ignore[return-value]  # no bytes
                case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                    return self._values(node, items, depth)
                case ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="set" | "list" | "tuple"), args=[], keywords=[]):
                    return ()
                case ast.UnaryOp(op=ast.USub(), operand=operand):
                    value = self.value(operand, depth + 1)
                    return -value if isinstance(value, int | float | complex) else self._computed(node)
                case ast.BinOp():
                    return self._folded(node, depth)
                case ast.JoinedStr(values=parts):
                    texts = [self.value(part, depth + 1) for part in parts]
                    if all(isinstance(text, str) for text in texts):
                        return "".join(map(str, texts))
                case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                    return self.value(inner, depth + 1)
                case ast.Name() | ast.Attribute():
                    return self._named(node, depth)
                case ast.Call(func=function, args=[only], keywords=[]) if self.dotted(function) == "torch.device":
                    return self.value(only, depth + 1)
                case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="inf" | "-inf" | "nan" as text)]):
                    return float(text)
        return self._computed(node)

    def _values(self, node: ast.expr, items: Sequence[ast.expr], depth: int) -> Value | Computed:
        values = [self.value(item, depth + 1) for item in items]
        known = tuple(value for value in values if not isinstance(value, Computed))
        return known if len(known) == len(values) else self._computed(node)

    def _folded(self, node: ast.BinOp, depth: int) -> Value | Computed:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
            return left + right
        fold = _FOLDED.get(type(node.op))
        if fold is None or not isinstance(left, int | float) or not isinstance(right, int | float):
            return self._computed(node)
        is_wrong = max(abs(left), abs(right)) >= _LARGEST or (isinstance(node.op, ast.Div) and not right)
        return self._computed(node) if is_wrong else fold(left, right)

    def _named(self, node: ast.Name | ast.Attribute, depth: int) -> Value | Computed:
        name = self.dotted(node)
        module, _, last = name.rpartition(".")
        if name in _NUMBERS:
            return _NUMBERS[name]
        if module == "torch" and last in _DTYPES:
            return EnumName(_DTYPES[last])
        value = self.assigned(node)
        return self._computed(node) if value is None else self.value(value, depth + 1)

    def _computed(self, node: ast.expr) -> Computed:
        return Computed(self.dotted(node) or "an expression")


def argument(call: ast.Call, index: int | None, name: str) -> ast.expr | None:
    """Return an argument by its position or name; None if it is not given."""
    if index is not None and len(call.args) > index:
        return call.args[index]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
