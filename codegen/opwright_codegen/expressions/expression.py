"""An expression with what follows from it: the dtypes that it takes and has loops for, and its `meta`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright_codegen.errors import SchemaError
from opwright_codegen.expressions.functions import OPERATORS, UNARY, Result
from opwright_codegen.expressions.reader import read_tree
from opwright_codegen.expressions.typed import Applied, Node, Number, Sort, nodes
from opwright_codegen.formula.ast import Binary, Constant, Kind, Reference, walk
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.source import Span, Text

__all__ = ["DTYPES", "Expression", "read_expression"]

# The kinds of dtypes by their names, and what those of a kind are called in `accepts`.
DTYPES: Final = {
    "bool": "b", **{f"{sign}int{bits}": "i" for sign in ("u", "") for bits in (8, 16, 32, 64)},
    "float16": "f", "bfloat16": "f", "float32": "f", "float64": "f", "complex64": "c", "complex128": "c",
}  # fmt: skip
_WORDS: Final = {"b": "bool", "i": "integer", "f": "floating", "c": "complex"}
_FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
_INTEGERS: Final = ("int32", "int64")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression. `tensors` and `scalars` are arguments in the order of the schema; `kinds` those of the dtypes that
    it is computed in; `needs_floats`: integers are converted; `dtypes` are those that it has loops for."""

    root: Node
    tensors: tuple[str, ...]
    scalars: tuple[str, ...]
    kinds: str
    needs_floats: bool
    dtypes: tuple[str, ...]
    text: Text

    @property
    def is_truth(self) -> bool:
        """Whether the result is bool."""
        return self.root.sort is Sort.TRUTH

    @property
    def has_complex(self) -> bool:
        """Whether it takes complex numbers, which only those do that list them."""
        return any(DTYPES[dtype] == "c" for dtype in self.dtypes)

    def meta(self) -> str:
        """Return the formula that says what results look like."""
        kinds = "bif" if self.needs_floats else "".join(kind for kind in "bif" if kind in self.kinds)
        words = [_WORDS[kind] for kind in (f"{kinds}c" if self.has_complex else kinds)]
        given = [*self.tensors, *self.scalars]
        if self.needs_floats:
            given.append('kind="int_to_float"')
            given += ["dtype=bool"] if self.is_truth else []
        elif self.is_truth:
            given.append('kind="bool"')
        return f'pointwise({", ".join(given)}, accepts="{" ".join(words)}")'


def read_expression(
    schema: FunctionSchema, text: Text, dtypes: Sequence[str] | None, dtypes_span: Span | None
) -> Expression:
    """Return the expression of an operator. Raises SchemaError for an operator, a text or dtypes that cannot be."""
    _check_schema(schema, text)
    root = read_tree(schema, text)
    types = {a.name: str(a.type) for a in schema.arguments}
    tensors = tuple(name for name, kind in types.items() if kind == "Tensor")
    scalars = tuple(name for name in _numbers_used(root) if types[name] in ("Scalar", "number"))
    needs_floats = _needs_floats(root, types)
    kinds = _kinds(root, needs_floats, text)
    if dtypes is None:
        chosen = _default(kinds)
    else:
        chosen = tuple(dtypes)
        for dtype in chosen:
            if DTYPES[dtype] not in kinds:
                raise _wrong_dtype(dtype, kinds, root, dtypes_span or text.span)
    return Expression(root, tensors, tuple(scalars), kinds, needs_floats, chosen, text)


def _check_schema(schema: FunctionSchema, text: Text) -> None:
    returned = [str(found.type) for found in schema.returns]
    if schema.kind is SchemaKind.FUNCTIONAL and returned == ["Tensor"]:
        return
    message = f"{schema.name}: an expression gives one new Tensor"
    hint = "declare '-> Tensor', with 'autogen' for the variants that write"
    raise SchemaError("expression-result", message, text.span, hint)


def _numbers_used(root: Node) -> list[str]:
    """Return the arguments that are numbers, in the order of the text, each once."""
    formulas = (part.formula for part in nodes(root) if isinstance(part, Number))
    found = (part for formula in formulas for part in walk(formula))
    return list(dict.fromkeys(p.name for p in found if isinstance(p, Reference) and p.kind is Kind.ARGUMENT))


def _needs_floats(root: Node, types: dict[str, str]) -> bool:
    for node in nodes(root):
        match node:
            case Applied(function) if function.result is Result.FLOAT:
                return True
            case Number(formula):
                for part in walk(formula):
                    match part:
                        case Constant(float()) | Reference(Kind.CONSTANT) | Binary("/"):
                            return True
                        case Reference(Kind.ARGUMENT, name) if types[name] == "float":
                            return True
            case _:
                pass
    return False


def _kinds(root: Node, needs_floats: bool, text: Text) -> str:
    """Return the kinds of dtypes that values may be computed in. Raises SchemaError where there is none."""
    kinds = "fc" if needs_floats else "bifc"
    for node in nodes(root):
        if not isinstance(node, Applied) or _is_of_truths(node):
            continue
        own = node.function.kinds
        if not needs_floats and any(isinstance(part, Number) and not _is_zero(node, part) for part in node.operands):
            own = own.replace("b", "")  # a bool and a number are an integer
        left = "".join(kind for kind in kinds if kind in own)
        if not left:
            words = " and ".join(_WORDS[kind] for kind in node.function.kinds)
            message = f"{_shown(node.function.name)} is for {words} dtypes, and the rest of the expression is not"
            raise SchemaError(
                "expression-dtype", message, node.span or text.span, "compute it in an operator of its own"
            )
        kinds = left
    return kinds


def _is_of_truths(node: Applied) -> bool:
    return all(part.sort is Sort.TRUTH for part in node.operands)


def _shown(name: str) -> str:
    """Return a function as it is written: `&`, `exp`."""
    return next((sign for sign, named in (OPERATORS | UNARY).items() if named == name), name)


def _is_zero(node: Applied, part: Number) -> bool:
    """Whether it is the zero that a value is compared with for its truth."""
    return node.function.name in ("equal", "not_equal") and part.formula == Constant(0)


def _default(kinds: str) -> tuple[str, ...]:
    found = (*(_FLOATS if "f" in kinds else ()), *(_INTEGERS if "i" in kinds else ()))
    is_bits = "f" not in kinds
    more = ("uint8", "int8", "int16") if is_bits else ()
    return (*found, *more, *(("bool",) if is_bits and "b" in kinds else ()))


def _wrong_dtype(dtype: str, kinds: str, root: Node, span: Span) -> SchemaError:
    kind = DTYPES[dtype]
    applied = (node for node in nodes(root) if isinstance(node, Applied) and not _is_of_truths(node))
    culprit = next((node.function.name for node in applied if kind not in node.function.kinds), None)
    words = " and ".join(_WORDS[each] for each in kinds)
    message = f"the expression is computed in {words} dtypes, not in {dtype}"
    if culprit is not None:
        message = f"{_shown(culprit)} is not for {dtype}"
    at = span.text.find(dtype)
    where = span.sub(at, at + len(dtype)) if at >= 0 else span
    return SchemaError("expression-dtype", message, where, f"list {words} dtypes")
