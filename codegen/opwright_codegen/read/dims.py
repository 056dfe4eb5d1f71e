"""The key `dims`, in parts: a rule, then words about it.

    n d, m d -> n m; d sum, linear(a, b)        along(self, dim=dim); batched        whole, since rows may be anywhere

A rule names the dimensions of operands and results, calls a family, which is an abbreviation of that, names a function
that makes a rule for each call, or says why nothing is cut. What names mean to an operator is checked when it is bound.
"""

from __future__ import annotations

import re
from typing import Final

from opwright_codegen.documents.nodes import read_scalar, text_span
from opwright_codegen.documents.yaml_reader import Node
from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.formula.positions import place
from opwright_codegen.records import dataclass
from opwright_codegen.source import Source, Text

__all__ = ["EXAMPLE", "Dims", "FactorKind", "batching_of", "parse_dims", "read_dims"]

KINDS: Final = ("sum", "max", "min", "again", "window", "whole")
EXAMPLE: Final = "as in: m k, k n -> m n; k sum"
_IS_WORD: Final = rf"\b(?!\s+(?:{'|'.join(KINDS)})\b)"  # (a dimension may be called `linear`)
_PATH: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_CALL: Final = re.compile(r"[A-Za-z_]\w*\(")
_WHOLE: Final = re.compile(r"whole\b\s*,?\s*(.*)", re.DOTALL)
_LINEAR: Final = re.compile(rf"linear{_IS_WORD}(?:\s*\(([^()]*)\))?")
_BATCHED: Final = re.compile(rf"batched{_IS_WORD}(\s+by\b)?\s*")
_CUT: Final = re.compile(rf"cut{_IS_WORD}\s+by\b\s*")
_KIND: Final = re.compile(r"(\w+|\.\.\.)\s+(\w+)(?:\(\s*(\w+)\s*,\s*(\w+)\s*\))?")
_GAP: Final = re.compile(r"[\s,]*")
_WORDS: Final = ("linear", "batched", "batched by", "cut by")


@dataclass(frozen=True, slots=True)
class FactorKind:
    """The kind of one factor, `d sum` or `t window(1, radius)`; `numbers` are those of a window."""

    factor: Text
    word: Text
    numbers: tuple[Text, ...]

    def __str__(self) -> str:
        return f"{self.factor} {self.word}" + (f"({', '.join(map(str, self.numbers))})" if self.numbers else "")


@dataclass(frozen=True, slots=True)
class Dims:
    """The parts of a value. At most one of `names`, `function`, `family` and `whole`, which is a reason, is the rule.

    `batching` is what vmap computes batches by, a family or a function: of `batched by`, or the family of the rule if
    it is `batched`. `cutting` is the family by which dimensions are cut. `linear` has groups of tensors; an empty one
    stands for each tensor by itself.
    """

    text: Text
    names: Text | None = None
    kinds: tuple[FactorKind, ...] = ()
    function: Text | None = None
    family: Text | None = None
    whole: str = ""
    is_batched: bool = False
    batched_by: Text | None = None
    cut_by: Text | None = None
    linear: tuple[tuple[Text, ...], ...] | None = None

    @property
    def batching(self) -> Text | None:
        return self.batched_by or (self.family if self.is_batched else None)

    @property
    def cutting(self) -> Text | None:
        return self.cut_by or self.family

    @property
    def is_ruled(self) -> bool:
        """Return whether the rule is written, and does not follow from a family."""
        return self.names is not None or self.function is not None or bool(self.whole)

    def __str__(self) -> str:
        return self.text.text


def read_dims(node: Node, source: Source) -> Dims:
    """Read the value of `dims`. Raises SchemaErrors with the place of each mistake."""
    scalar = read_scalar(node, source)
    return parse_dims(Text(scalar.text.rstrip("\n"), text_span(scalar, source)))


def parse_dims(text: Text) -> Dims:
    """Return the parts of a value. Raises SchemaErrors with the place of each mistake."""
    return _Parser(text).parsed()


def batching_of(text: str) -> str | None:
    """Return the family, or the function, by which vmap computes batches, as a text; None if none is written."""
    dims = parse_dims(Text(text, Source("<dims>", text).whole()))
    return None if dims.batching is None else dims.batching.text


class _Parser:
    """The parser of one value, which collects what is wrong."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._errors = Errors()
        self._kinds: list[FactorKind] = []
        self._found: dict[str, Text | bool | str | tuple[tuple[Text, ...], ...]] = {}

    def parsed(self) -> Dims:
        """Return the parts. Raises SchemaErrors."""
        written = self._text.text
        end = written.find(";") if ";" in written else len(written)
        is_rule = "->" in written[:end] or not re.match(r"\s*(linear|batched|cut)\b", written)
        if is_rule:
            self._rule(end)
        at = min(end + 1, len(written)) if is_rule else 0
        while (at := self._gap(at)) < len(written):
            at = self._word(at)
        self._errors.raise_if_any()
        return Dims(self._text, kinds=tuple(self._kinds), **self._found)  # type: ignore[arg-type]

    def _rule(self, end: int) -> None:
        """Read the rule, which ends at `end`."""
        start = min(self._gap(0), end)
        said = self._part(start, end)
        if _PATH.fullmatch(said.text):
            self._found["function"] = said
        elif _CALL.match(said.text):
            self._found["family"] = said
        elif found := _WHOLE.fullmatch(said.text):
            self._found["whole"] = " ".join(found[1].split())
            if not found[1]:
                self._wrong("dims-form", "'whole' is said with a reason", start, end, "as in: whole, since rows are")
        elif "->" in said.text:
            self._found["names"] = said
        else:
            self._wrong("dims-form", "'->' is missing", start, end, EXAMPLE)

    def _word(self, at: int) -> int:
        """Read the word at an offset; return its end."""
        written = self._text.text
        if found := _LINEAR.match(written, at):
            inner = found[1]
            groups = () if inner is None else tuple(self._groups(found.start(1), found.end(1)))
            self._once("linear", groups, at, found.end())
            return found.end()
        if found := _BATCHED.match(written, at):
            if not found[1]:
                end = at + len("batched")
                self._once("is_batched", True, at, end)
                if not {"names", "family"} & self._found.keys():
                    message, hint = "no names and no family say how", "say: batched by leading((self, 1))"
                    self._wrong("dims-form", message, at, end, hint)
                return end
            return self._value("batched_by", at, found.end(), is_path=True)
        if found := _CUT.match(written, at):
            return self._value("cut_by", at, found.end(), is_path=False)
        found = _KIND.match(written, at)
        stop = re.compile(r"[^,;]*").match(written, at)
        assert stop is not None  # it may be of no character
        if found is None:
            end = max(stop.end(), at + 1)
            near = nearest(stop[0].strip(), _WORDS)
            message, hint = "a factor and its kind are expected", f"did you mean {near!r}?" if near else EXAMPLE
            if not stop[0]:
                message, hint = "';' follows a rule, and these are words", "put a comma between words"
            self._wrong("dims-form", message, at, end, hint)
            return end
        word = found[2]
        if word not in KINDS or (word == "window") != (found[3] is not None):
            near = nearest(word, KINDS)
            message = f"there is no kind {word!r}" if word not in KINDS else f"{word!r} is written otherwise"
            hint = f"did you mean {near!r}?" if near and near != word else f"{', '.join(KINDS)}; window(1, 1)"
            self._wrong("dims-kind", message, found.start(2), found.end(2), hint)
        numbers = tuple(self._part(*found.span(each)) for each in (3, 4) if found[each])
        self._kinds.append(FactorKind(self._part(*found.span(1)), self._part(*found.span(2)), numbers))
        return found.end()

    def _groups(self, start: int, end: int) -> list[tuple[Text, ...]]:
        """Return the tensors between two offsets: groups between commas, of names between `+`."""
        found = []
        for group in re.compile(r"[^,]+").finditer(self._text.text, start, end):
            names = re.compile(r"[^+]+").finditer(self._text.text, group.start(), group.end())
            found.append(tuple(self._part(*name.span()) for name in names))
        return found

    def _value(self, field: str, at: int, start: int, *, is_path: bool) -> int:
        """Read the family, or the function, that follows `by`; return its end."""
        written = self._text.text
        end = start
        if is_path and (found := _PATH.match(written, start)):
            end = found.end()
        elif _CALL.match(written, start):
            end = _closed(written, start)
        if end == start:
            hint = "as in: along(self, dim=dim)" + (", or package.module:function" if is_path else "")
            what = "a family of rules, or a function," if is_path else "a family of rules"
            self._wrong("dims-form", f"{what} is expected after 'by'", at, max(start, at + 1), hint)
            return len(written)
        self._once(field, self._part(start, end), at, end)
        return end

    def _once(self, field: str, value: Text | bool | tuple[tuple[Text, ...], ...], start: int, end: int) -> None:
        if field in self._found:
            self._wrong("dims-form", f"{self._text.text[start:end].partition('(')[0]!r} is said twice", start, end)
        self._found[field] = value

    def _gap(self, at: int) -> int:
        found = _GAP.match(self._text.text, at)
        return at if found is None else found.end()

    def _part(self, start: int, end: int) -> Text:
        """Return the characters between two offsets, without spaces around them."""
        said = self._text.text[start:end]
        start += len(said) - len(said.lstrip())
        return Text(said.strip(), place(self._text, start, start + len(said.strip())))

    def _wrong(self, code: str, message: str, start: int, end: int, hint: str | None = None) -> None:
        span = place(self._text, start, max(start + 1, end)) if self._text.text else self._text.span
        self._errors.add(SchemaError(code, message, span, hint))


def _closed(text: str, start: int) -> int:
    """Return the end of the call that begins at an offset: behind the parenthesis that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0 and text[at] == ")":
            return at + 1
    return len(text)
