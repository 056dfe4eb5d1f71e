"""Costs as texts: `2 * size(a, 0) * numel(result), transcendentals=numel(result)`, over a call's arguments and results.

The first number is that of operations; by name come `transcendentals`, `read` and `written`. The generator checks the
texts of schema files, and puts sizes for the names of dimensions there (`opwright_codegen.kernel_choices.costs`).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

__all__ = ["KEYS", "numbers_of", "parsed"]

KEYS: Final = ("transcendentals", "read", "written")
_OPERATORS: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.USub: operator.neg,
    ast.Not: operator.not_, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def _tensors(value: Any) -> Sequence[Any]:
    return () if value is None else value if isinstance(value, list | tuple) else (value,)


def _size(value: Any, *dims: int) -> int:
    """Return the size of a dimension, 1 of one that is not there; of several, the product."""
    rank = len(value.shape)
    return math.prod([int(value.shape[dim]) for dim in dims if -rank <= dim < rank])


def _sizes(value: Any, dims: Any = None) -> int:
    """Return the product of the sizes of dimensions in an argument: all of them for None, and for an empty list."""
    rank = len(value.shape)
    given = [dims] if isinstance(dims, int) else list(range(rank)) if not dims else list(dims)
    return _size(value, *given)


def _batches(*given: Any) -> int:
    """Return how many batches there are before the last dimensions of operands: `batches(a, 2, b, 2)`."""
    found: list[int] = []
    for value, core in zip(given[::2], given[1::2], strict=True):
        own = [] if value is None else [int(size) for size in value.shape[: max(0, len(value.shape) - core)]]
        most = max(len(own), len(found))
        own, found = [1] * (most - len(own)) + own, [1] * (most - len(found)) + found
        found = [one if other == 1 else other for one, other in zip(own, found, strict=True)]
    return math.prod(found)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "numel": lambda value: sum([math.prod(map(int, each.shape)) for each in _tensors(value)]),
    "nbytes": lambda value: sum([math.prod(map(int, each.shape)) * each.dtype.itemsize for each in _tensors(value)]),
    "itemsize": lambda value: value.dtype.itemsize,
    "rank": lambda value: len(value.shape),
    "size": _size,
    "sizes": _sizes,
    "batches": _batches,
    "prod": math.prod,
    "len": len,
    "max": max,
    "min": min,
    "log2": lambda value: max(value - 1, 0).bit_length(),  # rounded up
}


def numbers_of(text: str, values: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers that a text says, `flops` the first, given arguments and results by name."""
    call = parsed(text)
    found = {"flops": _value(call.args[0], values)}
    found |= {str(each.arg): _value(each.value, values) for each in call.keywords}
    return {name: math.ceil(number) for name, number in found.items()}


@cache
def parsed(text: str) -> ast.Call:
    """Return a text as the call that it is of a function without a name. Raises SyntaxError."""
    tree = ast.parse(f"_({text})", mode="eval").body
    if not isinstance(tree, ast.Call) or len(tree.args) != 1 or any(each.arg not in KEYS for each in tree.keywords):
        raise SyntaxError(f"{text!r} is no cost: as in 2 * n * m, transcendentals=n")
    return tree


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name) if name in values:
            return values[name]
        case ast.BinOp(left, sign, right):
            return _OPERATORS[type(sign)](_value(left, values), _value(right, values))
        case ast.UnaryOp(sign, operand):
            return _OPERATORS[type(sign)](_value(operand, values))
        case ast.Compare(left, [sign], [right]):
            return _OPERATORS[type(sign)](_value(left, values), _value(right, values))
        case ast.IfExp(test, then, otherwise):
            return _value(then if _value(test, values) else otherwise, values)
        case ast.BoolOp(sign, parts):
            found = (bool(_value(each, values)) for each in parts)
            return all(found) if isinstance(sign, ast.And) else any(found)
        case ast.Subscript(value, index):
            return _value(value, values)[_value(index, values)]
        case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
            return FUNCTIONS[name](*[_value(each, values) for each in arguments])
    raise SyntaxError(f"{ast.unparse(node)!r} cannot stand in a cost")
