"""Calls of families, as `batch` and `blocks` write them: `along(self, dim=dim)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.formula.ast import Call, Constant, Formula, Kind, Reference, Tuple, Unary
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Text

__all__ = ["FAMILIES", "At", "Families", "Family", "Form", "Value", "family_call"]


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


Families = Mapping[str, Form]
_ALONG: Final = {"dim": "numbers", "new": "numbers", "size": "numbers", "empty_is_all": "a flag"}
_MASKS: Final = {"masks": "tensors", "onto_first": "a flag"}
# What `batch` may call.
FAMILIES: Final[Families] = {
    "elementwise": Form("Elementwise", "tensors", _MASKS, (), "elementwise(self, other)"),
    "along": Form("Along", "tensors", _ALONG, (), "along(self, dim=dim)"),
    "everything": Form("Everything", "tensors", {}, (), "everything(self)"),
    "leading": Form("Leading", "pairs", {}, (), "leading((self, 2))"),
    "folded": Form("Folded", "tensors", {"core": "a constant"}, (("core",),), "folded(self, core=3)"),
    "product": Form("Product", "a product", {}, (), 'product("(m,k),(k,n)->(m,n)", self, mat2)'),
    "reducing": Form(
        "Reducing",
        "tensors",
        {"reduction": "numbers", "onto_first": "a flag"},
        (("reduction",),),
        "reducing(self, target, reduction=reduction)",
    ),
}


def family_call(formula: Formula, schema: FunctionSchema, text: Text, known: Families, key: str) -> Family:
    """Return the family that the value of `key` calls, one of those that are known. Raises SchemaError for others, and
    for what a family does not take."""
    match formula:
        case Call(Reference(Kind.FUNCTION, name), arguments, keywords):
            form = known[name]
            reader = _Reader(schema, text, key, form)
            for keyword, value in keywords:
                if keyword not in form.keywords:
                    near = nearest(keyword, form.keywords)
                    takes = f"it takes: {', '.join(form.keywords) or 'operands alone'}"
                    hint = f"did you mean {near!r}?" if near else takes
                    raise SchemaError(f"{key}-form", f"{name}() has no {keyword!r}", value.span or text.span, hint)
            for group in form.needed:
                if not {keyword for keyword, _ in keywords} & set(group):
                    message = f"{name}() needs {' or '.join(repr(each) for each in group)}"
                    raise SchemaError(f"{key}-form", message, formula.span or text.span, f"as in: {form.example}")
            given = tuple((keyword, reader.keyword(form.keywords[keyword], value)) for keyword, value in keywords)
            return Family(form.name, reader.operands(arguments, formula), given)
    hint = "as in: along(self, dim=dim)" + (", or package.module:function" if key == "batch" else "")
    names = ", or names a function" if key == "batch" else ""
    raise SchemaError(f"{key}-form", f"{key!r} calls a family of rules{names}", text.span, hint)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reader of the values that a family is called with: names of arguments become their positions."""

    schema: FunctionSchema
    text: Text
    key: str
    form: Form

    def operands(self, arguments: Sequence[Formula], call: Formula) -> tuple[Value, ...]:
        match self.form.operands, arguments:
            case "tensors", [_, *_]:
                return tuple(self._place(each, True) for each in arguments)
            case "one tensor", [operand]:
                return (self._place(operand, True),)
            case "pairs", [_, *_]:
                return tuple(self._pair(each) for each in arguments)
            case "a product", [Constant(str() as signature), first, second, *rest] if _is_product(signature):
                tensors = [self._place(each, True) for each in (first, second, *rest[:1])]
                return (signature, *tensors, *[self._place(each, False) for each in rest[1:]])
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
                raise SchemaError(f"{self.key}-form", message, value.span or self.text.span)
        message = "a name of an argument is expected here"
        raise SchemaError(f"{self.key}-form", message, value.span or self.text.span, f"as in: {self.form.example}")

    def _wrong(self, what: str, value: Formula) -> SchemaError:
        name = self.form.example.partition("(")[0]
        span = value.span or self.text.span
        return SchemaError(f"{self.key}-form", f"{name}(): {what} is of no form", span, f"as in: {self.form.example}")


def _is_product(signature: str) -> bool:
    inputs, arrow, output = signature.partition("->")
    groups = inputs.split("),(")
    return bool(arrow) and len(groups) == 2 and inputs.startswith("(") and output.startswith("(")
