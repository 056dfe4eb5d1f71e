"""The keys `sharding` and `linear`: which dimension is which factor, and what cutting one costs.

`opwright.dimensions.written` reads the same language when a rule is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Final

from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Span, Text

__all__ = ["Sharding", "linear_groups", "sharding_of", "written_sharding"]

_PATH: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_WHOLE: Final = re.compile(r"whole\b\s*,?\s*(.*)", re.DOTALL)
_NAME: Final = re.compile(r"\.\.\.|\*|\(\)|\w+|[^\s\w]")
_KIND: Final = re.compile(r"\s*(\w+|\.\.\.)\s+(\w+)(?:\(\s*(\w+)\s*,\s*(\w+)\s*\))?\s*")
_WORDS: Final = ("sum", "max", "min", "again", "window", "whole")
_FREE: Final = ("...", "*", "1", "()")
_EXAMPLE: Final = "as in: m k, k n -> m n; k sum"


@dataclass(frozen=True, slots=True)
class Sharding:
    """A rule as text, or the path of a function that makes it; or the reason to cut nothing."""

    rule: str = ""
    whole: str = ""


def sharding_of(operator: Operator, kernels: KernelModules) -> Sharding:
    """Return what an operator's `sharding` says. Raises SchemaErrors for a wrong one."""
    text = operator.sharding
    if text is None:
        return Sharding()
    if _PATH.fullmatch(text.text.strip()):
        module, _, name = text.text.strip().partition(":")
        function = kernels.find_path(module, name, text.span)
        return Sharding(f"{function.module}:{function.name}")
    return written_sharding(operator.schema, text)


def written_sharding(schema: FunctionSchema, text: Text) -> Sharding:
    """Return what a text says of an operator of this schema. Raises SchemaErrors for a wrong one."""
    if _PATH.fullmatch(text.text.strip()):
        return Sharding(text.text.strip())
    if found := _WHOLE.fullmatch(text.text.strip()):
        if not found[1]:
            message = "'whole' is said with a reason"
            raise SchemaError("sharding-form", message, text.span, "as in: whole, since positions may be anywhere")
        return Sharding("", " ".join(found[1].split()))
    errors = Errors()
    for error in _Reader(schema, text).problems():
        errors.add(error)
    errors.raise_if_any()
    return Sharding(" ".join(text.text.split()))


class _Reader:
    """The reader of one rule: names with the places where they stand."""

    def __init__(self, schema: FunctionSchema, text: Text) -> None:
        self._schema = schema
        self._text = text

    def problems(self) -> Iterator[SchemaError]:
        """Yield what is wrong with the rule."""
        dims, _, said = self._text.text.partition(";")
        left, arrow, right = dims.partition("->")
        if not arrow:
            yield self._error("sharding-form", "'->' is missing", 0, len(dims), _EXAMPLE)
            return
        operands, results = self._groups(left, 0), self._groups(right, len(left) + 2)
        yield from self._counted(operands, results, len(left))
        names = {name for group in operands for name, _ in group}
        for name, at in [each for group in (*operands, *results) for each in group]:
            if not (name in _FREE or name.isidentifier()):
                message = f"{name!r} is no name of a dimension"
                yield self._error("sharding-form", message, at, at + len(name), _EXAMPLE)
        for name, at in [each for group in results for each in group]:
            if name not in names and name not in _FREE and name.isidentifier():
                yield self._unknown(name, at, names)
        kinds = yield from self._kinds(said, len(dims) + 1, names)
        for name, at in [each for group in operands for each in group]:
            is_missing = any(name not in [each for each, _ in group] for group in results)
            if is_missing and name not in kinds and (name.isidentifier() or name == "..."):
                message = f"{name!r} is not in each result, and nothing says how parts are put together"
                kinds.add(name)
                yield self._error("sharding-kind", message, at, at + len(name), f"say: {name} sum, or whole")

    def _groups(self, side: str, start: int) -> list[list[tuple[str, int]]]:
        """Return the names of each operand, or result, with where they stand."""
        found, at = [], start
        for part in side.split(","):
            found.append([(each[0], at + each.start()) for each in _NAME.finditer(part)])
            at += len(part) + 1
        return found

    def _counted(self, operands: Sequence[object], results: Sequence[object], arrow: int) -> Iterator[SchemaError]:
        tensors = sum(each.type.is_tensor_like for each in self._schema.arguments)
        if len(operands) != tensors:
            message = f"{len(operands)} operands are named, and the operator takes {tensors} tensors"
            yield self._error("sharding-form", message, 0, arrow, "an operand that may be None is named, too")
        if len(results) != len(self._schema.returns):
            message = f"{len(results)} results are named, and the operator returns {len(self._schema.returns)}"
            yield self._error("sharding-form", message, arrow, arrow + 2, _EXAMPLE)

    def _kinds(self, said: str, start: int, names: set[str]) -> Generator[SchemaError, None, set[str]]:
        """Yield what is wrong with kinds; return the factors that have one."""
        known: set[str] = set()
        at = start
        for part in re.split(r",(?![^(]*\))", said) if said.strip() else ():
            found = _KIND.fullmatch(part)
            first = at + len(part) - len(part.lstrip())
            at += len(part) + 1
            if found is None:
                yield self._error("sharding-form", "a factor and its kind are expected", first, at - 1, _EXAMPLE)
                continue
            name, word = found[1], found[2]
            known.add(name)
            if name not in names:
                yield self._unknown(name, first, names)
            begin = at - 1 - len(part) + found.start(2)
            if word not in _WORDS or (word == "window") != (found[3] is not None):
                near = nearest(word, _WORDS)
                message = f"there is no kind {word!r}" if word not in _WORDS else f"{word!r} is written otherwise"
                hint = f"did you mean {near!r}?" if near and near != word else f"{', '.join(_WORDS)}; window(1, 1)"
                yield self._error("sharding-kind", message, begin, begin + len(word), hint)
            for number in (3, 4):
                if found[number] and not (found[number].isdigit() or self._is_number(found[number])):
                    place = at - 1 - len(part) + found.start(number)
                    message = f"{found[number]!r} is neither a number nor an argument that is one"
                    yield self._error("sharding-kind", message, place, place + len(found[number]))
        return known

    def _is_number(self, name: str) -> bool:
        return any(each.name == name and not each.type.is_tensor_like for each in self._schema.arguments)

    def _unknown(self, name: str, at: int, names: set[str]) -> SchemaError:
        near = nearest(name, names - {*_FREE})
        hint = f"did you mean {near!r}?" if near else "a new dimension, which is not cut, is 1"
        return self._error("sharding-factor", f"no operand has the factor {name!r}", at, at + len(name), hint)

    def _error(self, code: str, message: str, start: int, end: int, hint: str | None = None) -> SchemaError:
        span: Span = self._text.span
        if span.text == self._text.text:  # (a text that is folded over lines, or quoted with escapes, is not)
            span = span.sub(start, max(start + 1, end))
        elif span.text[1:-1] == self._text.text:
            span = span.sub(start + 1, max(start + 1, end) + 1)
        return SchemaError(code, message, span, hint)


def linear_groups(schema: FunctionSchema, text: Text | None) -> tuple[tuple[int, ...], ...]:
    """Return the positions of tensors in which `linear` says that an operator is linear: `a, b` in each by itself,
    `a + b` in both together. Raises SchemaError for what is no tensor."""
    if text is None:
        return ()
    places = {each.name: n for n, each in enumerate(schema.arguments) if each.type.is_tensor_like}
    found = []
    for group in text.text.split(","):
        names = [name.strip() for name in group.split("+")]
        unknown = next((name for name in names if name not in places), None)
        if unknown is not None:
            near = nearest(unknown, places)
            hint = f"did you mean {near!r}?" if near else f"tensors are: {', '.join(places)}"
            raise SchemaError("linear-form", f"{unknown!r} is no tensor that is taken", text.span, hint)
        found.append(tuple(places[name] for name in names))
    return tuple(found)
