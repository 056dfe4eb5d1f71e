"""Signatures of core dimensions, `"(m,k),(k,n)->(m,n)"`: NumPy's, with the sizes of results as formulas.

NEP 20 says what `3`, `n?` and `n|1` mean: https://numpy.org/neps/nep-0020-gufunc-signature-enhancement.html.
`opwright_codegen.kernel_choices.core_dimensions` reads the same language, for errors with a position.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import guard_or_false, holds

__all__ = ["CoreSizes", "Dimension", "Signature", "read_signature"]

_DIMENSION: Final = re.compile(r"(?:(?P<size>\d+)|(?P<name>[A-Za-z_]\w*))(?P<mark>\?|\|1)?\Z")
_DOT: Final = "(n),(n)->()"  # NumPy's `dot` is `matmul` as well
_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip


class Dimension(NamedTuple):
    """A dimension of an operand: a name, or a fixed size. An optional one may be missing, one that broadcasts be 1."""

    name: str
    size: int | None
    is_optional: bool
    broadcasts: bool


class Signature(NamedTuple):
    """Dimensions of each operand, and sizes of the result, each with the optional dimension that it is, or ""."""

    text: str
    inputs: tuple[tuple[Dimension, ...], ...]
    output: tuple[tuple[str, ast.expr], ...]


@functools.lru_cache(maxsize=256)
def read_signature(text: str) -> Signature:
    """Return what a signature says. Raises ValueError for what is none."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    groups = re.fullmatch(r"\([^()]*\)(?:,\([^()]*\))*", inputs)
    if not arrow or groups is None or not re.fullmatch(r"\(.*\)", output):
        raise ValueError(f"{text!r} is no signature of core dimensions, as in '(m,k),(k,n)->(m,n)'")
    read = tuple(tuple(map(_dimension, _items(each))) for each in re.findall(r"\(([^()]*)\)", inputs))
    return Signature(text, read, tuple(map(_size, _items(output[1:-1]))))


def _items(text: str) -> list[str]:
    return text.split(",") if text else []


def _dimension(text: str) -> Dimension:
    found = _DIMENSION.match(text)
    if found is None:
        raise ValueError(
            f"{text!r} is no core dimension of an operand: a name or a number, maybe with ? or |1 behind it"
        )
    size = None if found["size"] is None else int(found["size"])
    return Dimension(found["name"] or found["size"], size, found["mark"] == "?", found["mark"] == "|1")


def _size(text: str) -> tuple[str, ast.expr]:
    """Return the optional dimension that a size of a result is, "" if it is none, and the size as a tree."""
    name, mark, _ = text.partition("?")
    return (name if mark else ""), read_size(name)


def read_size(text: str) -> ast.expr:
    """Return the tree of a size: integers and names with + - * // % and parentheses. Raises ValueError."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no size of a result") from None
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=int()) | ast.Name() | ast.BinOp() | ast.UnaryOp(op=ast.USub()):
                continue
            case ast.operator() if type(node) in _OPERATORS:
                continue
            case ast.unaryop() | ast.expr_context():
                continue
            case _:
                raise ValueError(f"{text!r} is no size of a result: names and numbers with + - * // % make one")
    return tree


class CoreSizes:
    """The sizes of one call, by the names of the signature; `given` are those that it was told."""

    def __init__(self, signature: Signature, given: Mapping[str, Any]) -> None:
        self._signature = signature
        self._sizes = {name: size for name, size in given.items() if not isinstance(size, str)}
        self._formulas = {name: read_size(size) for name, size in given.items() if isinstance(size, str)}
        self._missing: frozenset[str] = frozenset()

    def split(self, shapes: Sequence[Shape], *, batched: bool) -> list[Shape]:
        """Return the dimensions of each operand that come before its core dimensions, whose sizes are learnt.

        Raises RuntimeError for shapes that do not fit the signature.
        """
        cores = self._cores(shapes, batched)
        batches = []
        for names, shape in zip(cores, shapes, strict=True):
            at = len(shape) - len(names)
            batches.append(shape[:at])
            for dimension, size in zip(names, shape[at:], strict=True):
                self._learn(dimension, size, shapes)
        for core in cores:
            for dimension in core:
                self._sizes.setdefault(dimension.name, 1)  # of dimensions that are 1 wherever they may broadcast
        for name in self._sizes.keys() & self._formulas.keys():
            if not holds(self._sizes[name] == (wanted := self._value(self._formulas.pop(name)))):
                raise RuntimeError(f"{self._signature.text}: {name} is {self._sizes[name]}, and has to be {wanted}")
        return batches

    def _cores(self, shapes: Sequence[Shape], batched: bool) -> list[list[Dimension]]:
        """Return the dimensions that operands have: one with too few lacks its optional ones, which all others then
        lack as well."""
        inputs = self._signature.inputs
        if len(inputs) != len(shapes):
            raise RuntimeError(f"{self._signature.text} has {len(inputs)} operands, and {len(shapes)} are given")
        for names, shape in zip(inputs, shapes, strict=True):
            if len(shape) < sum(each.name not in self._missing for each in names):
                self._missing |= {each.name for each in names if each.is_optional}
        cores = [[each for each in names if each.name not in self._missing] for names in inputs]
        for position, (core, shape) in enumerate(zip(cores, shapes, strict=True)):
            if len(shape) < len(core) or (not batched and len(shape) > len(core)):
                least = "at least " if batched else ""
                dimensions = "dimension" if len(core) == 1 else "dimensions"
                hint = "; matmul takes matrices, too" if self._signature.text == _DOT and len(shape) > 1 else ""
                raise RuntimeError(
                    f"argument {position} must have {least}{len(core)} {dimensions}, but has {len(shape)}{hint}"
                )
        return cores

    def _learn(self, dimension: Dimension, size: Any, shapes: Sequence[Shape]) -> None:
        if dimension.broadcasts and guard_or_false(size == 1):
            return
        known = dimension.size if dimension.size is not None else self._sizes.setdefault(dimension.name, size)
        if not holds(known == size):
            shown = " and ".join("x".join(map(str, each)) for each in shapes)
            what = f"{size} is not {known}" if dimension.size is not None else f"{dimension.name} is {known} and {size}"
            raise RuntimeError(f"shapes {shown} do not fit {self._signature.text}: {what}")

    def result(self) -> Shape:
        """Return the sizes of the result. Raises RuntimeError for one that is negative, or that nothing says."""
        return tuple([self._checked(size) for name, size in self._signature.output if name not in self._missing])

    def _checked(self, tree: ast.expr) -> Any:
        size = self._value(tree)
        if not holds(size >= 0):
            raise RuntimeError(f"{self._signature.text}: the result would have the negative size {size}")
        return size

    def _value(self, tree: ast.expr) -> Any:
        match tree:
            case ast.Constant(value=number):
                return number
            case ast.Name(id=name) if name in self._sizes:
                return self._sizes[name]
            case ast.Name(id=name) if name in self._formulas:
                self._sizes[name] = self._value(self._formulas.pop(name))
                return self._sizes[name]
            case ast.Name(id=name):
                lacks = "is missing" if name in self._missing else "is not known"
                raise RuntimeError(f"{self._signature.text}: the size {name!r} of the result {lacks}: say {name}=…")
            case ast.UnaryOp(operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                divisor = self._value(right)
                if isinstance(op, ast.FloorDiv | ast.Mod) and not holds(divisor != 0):
                    raise RuntimeError(f"{self._signature.text}: a size is divided by 0")
                return _OPERATORS[type(op)](self._value(left), divisor)
        raise AssertionError("read_size takes no other trees")
