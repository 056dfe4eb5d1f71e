"""The reading of an expression: text to a typed tree, or the error that names the part which cannot be."""

from __future__ import annotations

import keyword

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.expressions.functions import FUNCTIONS, OPERATORS, UNARY, Function, Result
from opwright_codegen.expressions.typed import Applied, Argument, Cast, Node, Number, Sort
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Name,
    Reference,
    Unary,
    rewrite,
    walk,
)
from opwright_codegen.formula.limits import problems
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import CONSTANTS
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Span, Text

__all__ = ["NUMBERS", "read_tree"]

NUMBERS = ("Scalar", "number", "float", "int", "SymInt", "bool")  # types of arguments that are numbers
_OTHER_NAMES = {
    "pow": "power", "clip": "clamp", "absolute": "abs", "arctan2": "atan2", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "rint": "round", "mod": "remainder",
    "true_divide": "divide", "neg": "negative", "sub": "subtract", "mul": "multiply", "div": "divide",
}  # fmt: skip


def read_tree(schema: FunctionSchema, text: Text) -> Node:
    """Return the typed tree of an expression. Raises SchemaError for what cannot stand in one."""
    reader = _Reader(schema, text)
    root = reader.node(reader.named(parse(text)))
    if root.sort is Sort.NUMBER:
        hint = "an expression is over at least one Tensor"
        raise SchemaError("expression-argument", f"{schema.name}: the expression uses no Tensor", text.span, hint)
    reader.check_used()
    return root


class _Reader:
    def __init__(self, schema: FunctionSchema, text: Text) -> None:
        self._schema = schema
        self._text = text
        self._types = {a.name: str(a.type) for a in schema.arguments if a not in schema.out_arguments}
        self._used: set[str] = set()

    def named(self, formula: Formula) -> Formula:
        """Return the formula with arguments as the schema names them: `from`, where it says `from_`."""

        def change(part: Formula) -> Formula | None:
            match part:
                case Name(name) if (
                    name not in self._types and name[:-1] in self._types and keyword.iskeyword(name[:-1])
                ):
                    return Name(name[:-1], span=part.span)
                case _:
                    return None

        return rewrite(formula, change)

    def check_used(self) -> None:
        """Raise SchemaError for an argument that the expression does not use."""
        for name in self._types:
            if name not in self._used:
                message = f"{self._schema.name}: the expression does not use the argument {name!r}"
                raise SchemaError("expression-argument", message, self._text.span, "leave it out of the schema")

    def node(self, formula: Formula) -> Node:
        """Return the typed tree of a part."""
        if self._is_number(formula):
            return Number(self._resolved(formula), formula.span)
        match formula:
            case Name(name):
                return self._argument(name, formula.span)
            case Binary(sign, left, right) if sign in OPERATORS:
                return self._applied(OPERATORS[sign], (left, right), formula.span)
            case Unary(sign, operand) if sign in UNARY:
                return self._applied(UNARY[sign], (operand,), formula.span)
            case Unary("not", operand):
                raise self._refused("'not' asks for one truth, and a Tensor has many", formula.span, "write ~(…)")
            case Boolean(word):
                sign = "&" if word == "and" else "|"
                hint = f"write (…) {sign} (…)"
                raise self._refused(f"{word!r} asks for one truth, and a Tensor has many", formula.span, hint)
            case Comparison():
                return self._comparison(formula)
            case Conditional(test, then, otherwise):
                return self._applied("where", (test, then, otherwise), formula.span)
            case Call():
                return self._call(formula)
            case _:
                raise self._refused("this cannot stand in an expression of 'kernel'", formula.span, None)

    def _argument(self, name: str, span: Span | None) -> Node:
        kind = self._types.get(name)
        if kind is None:
            known = [*self._types, *FUNCTIONS, *CONSTANTS]
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"arguments: {', '.join(self._types)}"
            message = f"{self._schema.name} has no {name!r} to use here"
            raise SchemaError("expression-argument", message, span or self._text.span, hint)
        if kind != "Tensor":
            message = f"{self._schema.name}: {name!r} is declared {kind}, which expressions do not take"
            hint = "they take Tensor, Scalar, float, int and bool"
            raise SchemaError("expression-argument", message, span or self._text.span, hint)
        self._used.add(name)
        return Argument(name, span)

    def _comparison(self, formula: Comparison) -> Node:
        """Return a comparison; of several, that all hold."""
        first = formula.first
        found: Node | None = None
        for sign, operand in formula.rest:
            if sign not in OPERATORS:
                raise self._refused(f"{sign!r} cannot stand in an expression of 'kernel'", formula.span, None)
            part = self._applied(OPERATORS[sign], (first, operand), formula.span)
            both = FUNCTIONS["bitwise_and"]
            found = part if found is None else Applied(both, (found, part), Sort.TRUTH, formula.span)
            first = operand
        assert found is not None
        return found

    def _call(self, formula: Call) -> Node:
        function, span = formula.function, formula.function.span
        match function:
            case Name(name) if name in FUNCTIONS or name in _OTHER_NAMES:
                pass
            case Attribute(Name("xp" | "np" | "torch" | "math"), word):
                raise self._unknown_function(word, span)
            case Name(name):
                raise self._unknown_function(name, span)
            case _:
                raise self._refused("only functions by name can be called here", span, "as in exp(self)")
        found = FUNCTIONS[_OTHER_NAMES.get(name, name)]
        if formula.keywords:
            raise self._refused(f"{name} takes its operands by position", formula.keywords[0][1].span, None)
        if len(formula.arguments) != found.count:
            count = f"{found.count} operand" + ("s" if found.count > 1 else "")
            raise self._refused(f"{name} takes {count}, not {len(formula.arguments)}", formula.span, None)
        return self._applied(found.name, formula.arguments, formula.span)

    def _unknown_function(self, name: str, span: Span | None) -> SchemaError:
        message = f"{name!r} is no function of expressions"
        near = _OTHER_NAMES.get(name, name if name in FUNCTIONS else None) or nearest(name, [*FUNCTIONS, *_OTHER_NAMES])
        hint = f"write {near}(…)" if near else "those that have a form in C: docs/native.md"
        return SchemaError("expression-function", message, span or self._text.span, hint)

    def _applied(self, name: str, operands: tuple[Formula, ...], span: Span | None) -> Node:
        return typed(FUNCTIONS[name], tuple(self.node(operand) for operand in operands), span)

    # -- numbers

    def _is_number(self, formula: Formula) -> bool:
        """Whether Python computes it, of numbers alone. Raises SchemaError for a function of them."""
        if isinstance(formula, Call):
            if formula.arguments and all(self._is_number(part) for part in formula.arguments):
                message = "a function of an expression takes at least one Tensor"
                raise self._refused(message, formula.span, "compute the number before the call, or by + - * / **")
            return False
        leaves = [part for part in walk(formula) if isinstance(part, Name | Constant | Call)]
        return all(not isinstance(part, Call) and self._is_numeric(part) for part in leaves) and bool(leaves)

    def _is_numeric(self, leaf: Formula) -> bool:
        match leaf:
            case Constant(value):
                if not isinstance(value, int | float):
                    raise self._refused("expressions have real numbers alone", leaf.span, None)
                return True
            case Name(name):
                return self._types.get(name) in NUMBERS or (name in CONSTANTS and name not in self._types)
            case _:
                return False

    def _resolved(self, formula: Formula) -> Formula:
        def change(part: Formula) -> Formula | None:
            match part:
                case Name(name) if name in self._types:
                    self._used.add(name)
                    return Reference(Kind.ARGUMENT, name, span=part.span)
                case Name(name):
                    return Reference(Kind.CONSTANT, name, span=part.span)
                case Binary("/", _, Constant(0)) | Binary("//" | "%", _, Constant(0)):
                    raise self._refused("this divides by zero", part.span, "write inf or nan")
                case _:
                    return None

        found = rewrite(formula, change)
        for problem in problems(found, is_of_arrays=True):
            raise problem
        match found:
            case Unary("-", Constant(int() | float() as value)) if not isinstance(value, bool):
                return Constant(-value, span=formula.span)
            case _:
                return found

    def _refused(self, message: str, span: Span | None, hint: str | None) -> SchemaError:
        return SchemaError("expression-form", message, span or self._text.span, hint)


# -- types: Note [Types in expressions]


def typed(function: Function, operands: tuple[Node, ...], span: Span | None) -> Node:
    """Return a function of operands that have its types: truths are made values, or values truths, where it asks."""
    sorts = [operand.sort for operand in operands]
    if function.name == "where":
        test, *chosen = operands
        return _choice(function, test, chosen, span)
    if function.result is Result.BITS and Sort.TRUTH in sorts:
        return Applied(function, tuple(map(_truth, operands)), Sort.TRUTH, span)
    values = tuple(_value(operand) for operand in operands)
    is_truth = function.result is Result.TRUTH
    return Applied(function, values, Sort.TRUTH if is_truth else Sort.VALUE, span)


def _choice(function: Function, test: Node, chosen: list[Node], span: Span | None) -> Node:
    if all(each.sort is Sort.TRUTH for each in chosen):
        return Applied(function, (_truth(test), *chosen), Sort.TRUTH, span)
    found = Applied(function, (_truth(test), *map(_value, chosen)), Sort.VALUE, span)
    if all(each.sort is Sort.NUMBER for each in chosen):
        return Cast(found, span)  # which NumPy gives the dtype of Python's numbers
    return found


def _value(node: Node) -> Node:
    return Cast(node, node.span) if node.sort is Sort.TRUTH else node


def _truth(node: Node) -> Node:
    """Return whether a value is not zero."""
    if node.sort is Sort.VALUE:
        return Applied(FUNCTIONS["not_equal"], (node, Number(Constant(0), node.span)), Sort.TRUTH, node.span)
    return node
