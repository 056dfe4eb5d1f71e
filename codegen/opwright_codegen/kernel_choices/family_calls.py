"""Calls of families, as `dims` writes them: `along(self, dim=dim)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.formula.ast import Call, Constant, Formula, Kind, Reference, Tuple, Unary
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Text

__all__ = ["At", "Family", "Value", "family_of_text", "product_signature"]


@dataclass(frozen=True, slots=True)
class At:
    """The argument at a position, where a number is a number."""

    place: int


@dataclass(frozen=True, slots=True)
class Family:
    """A call that makes a family: of its class, with positions of arguments; of `Dimensions`, with other families."""

    name: str
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()


Value = int | str | bool | At | Family | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The form of calls of a family: its class, what its operands are, what it takes by name, and what it needs of
    that: one of each group. `example` shows a call."""

    name: str
    operands: str
    keywords: Mapping[str, str]
    needed: tuple[tuple[str, ...], ...]
    example: str


_PRODUCT: Final = re.compile(r"[\w .]+,[\w .]+->[\w .]+|[\w .]+,[\w .]+->\s*\(\)")
_MASKS: Final = {"masks": "tensors", "onto_first": "a flag"}
_WINDOWS: Final = ("dim", "size", "stride", "padding", "dilation", "before", "after", "whole")
_FAMILIES: Final[Mapping[str, Form]] = {
    "elementwise": Form("Elementwise", "tensors", _MASKS, (), "elementwise(self, other)"),
    "along": Form(
        "Along",
        "tensors",
        {"dim": "numbers", "new": "numbers", "size": "numbers", "empty_is_all": "a flag", "combines": "a way"},
        (),
        "along(self, dim=dim)",
    ),
    "everything": Form("Everything", "tensors", {"combines": "a way"}, (), "everything(self)"),
    "leading": Form("Leading", "pairs", {}, (), "leading((self, 2))"),
    "folded": Form("Folded", "tensors", {"core": "a constant"}, (("core",),), "folded(self, core=3)"),
    "product": Form("Product", "a product", {}, (), 'product("m k, k n -> m n", self, mat2)'),
    "reducing": Form(
        "Reducing",
        "tensors",
        {"reduction": "numbers", "onto_first": "a flag"},
        (("reduction",),),
        "reducing(self, target, reduction=reduction)",
    ),
    "windows": Form(
        "Windows",
        "one tensor",
        dict.fromkeys(_WINDOWS, "window"),
        (("dim",), ("size", "before", "after")),
        "windows(self, dim=-1, before=radius, after=radius)",
    ),
}


def family_of_text(text: Text, schema: FunctionSchema) -> Family:
    """Return the family that a text calls. Raises SchemaErrors for others, and for what a family does not take."""
    formula = resolve(parse(text), Scope.for_dims(schema, _FAMILIES))
    match formula:
        case Call(Reference(Kind.FUNCTION, name), arguments, keywords):
            form = _FAMILIES[name]
            reader = _Reader(schema, text, form)
            for keyword, value in keywords:
                if keyword not in form.keywords:
                    near = nearest(keyword, form.keywords)
                    takes = f"it takes: {', '.join(form.keywords) or 'operands alone'}"
                    hint = f"did you mean {near!r}?" if near else takes
                    raise SchemaError("dims-family", f"{name}() has no {keyword!r}", value.span or text.span, hint)
            for group in form.needed:
                if not {keyword for keyword, _ in keywords} & set(group):
                    message = f"{name}() needs {' or '.join(repr(each) for each in group)}"
                    raise SchemaError("dims-family", message, formula.span or text.span, f"as in: {form.example}")
            given = tuple((keyword, reader.keyword(form.keywords[keyword], value)) for keyword, value in keywords)
            return Family(form.name, reader.operands(arguments, formula), given)
    raise SchemaError("dims-family", "this calls no family", text.span, "as in: along(self, dim=dim)")


def product_signature(names: str) -> str:
    """Return `m k, k n -> m n` as the signature `(m,k),(k,n)->(m,n)`."""
    sides = [[each.replace("()", "").split() for each in side.split(",")] for side in names.split("->")]
    return "->".join(",".join(f"({','.join(own)})" for own in side) for side in sides)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reader of the values that a family is called with: names of arguments become their positions."""

    schema: FunctionSchema
    text: Text
    form: Form

    def operands(self, arguments: Sequence[Formula], call: Formula) -> tuple[Value, ...]:
        match self.form.operands, arguments:
            case "tensors", [_, *_]:
                return tuple(self._place(each, True) for each in arguments)
            case "one tensor", [operand]:
                return (self._place(operand, True),)
            case "pairs", [_, *_]:
                return tuple(self._pair(each) for each in arguments)
            case "a product", [Constant(str() as names), first, second, *rest] if _PRODUCT.fullmatch(names):
                tensors = [self._place(each, True) for each in (first, second, *rest[:1])]
                return (product_signature(names), *tensors, *[self._place(each, False) for each in rest[1:]])
        raise self._wrong("what it is called with", call)

    def keyword(self, sort: str, value: Formula) -> Value:
        match sort, value:
            case _, Tuple(items) if sort in ("numbers", "tensors", "window"):
                return tuple(self.keyword(sort, item) for item in items)
            case "window", Reference(Kind.ARGUMENT, _):
                return At(self._place(value, None))
            case "window", Unary("-", Constant(int() as number)) if not isinstance(number, bool):
                return -number
            case (("window" | "a constant"), Constant(int() as number)) if not isinstance(number, bool):
                return number
            case (("a flag" | "a way"), Constant(bool() as flag)):
                return flag
            case "a way", Constant("sum" | "max" | "min" as word):
                return word
            case (("numbers" | "tensors"), _):
                return self._place(value, sort == "tensors")
        raise self._wrong("a value of it", value)

    def _pair(self, value: Formula) -> Value:
        match value:
            case Tuple((operand, Constant(int() as core))) if not isinstance(core, bool):
                return (self._place(operand, True), core)
        raise self._wrong("an operand", value)

    def _place(self, value: Formula, is_tensor: bool | None) -> int:
        """Return the position of an argument; one that is a tensor or not, as it is asked for."""
        for position, argument in enumerate(self.schema.arguments):
            if isinstance(value, Reference) and value.kind is Kind.ARGUMENT and value.name == argument.name:
                if is_tensor in (None, argument.type.is_tensor_like):
                    return position
                kind = "a tensor" if is_tensor else "no tensor"
                message = f"an argument that is {kind} is expected here"
                raise SchemaError("dims-family", message, value.span or self.text.span)
        message = "a name of an argument is expected here"
        raise SchemaError("dims-family", message, value.span or self.text.span, f"as in: {self.form.example}")

    def _wrong(self, what: str, value: Formula) -> SchemaError:
        name = self.form.example.partition("(")[0]
        span = value.span or self.text.span
        return SchemaError("dims-family", f"{name}(): {what} is of no form", span, f"as in: {self.form.example}")
