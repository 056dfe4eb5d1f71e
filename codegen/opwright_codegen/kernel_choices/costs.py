"""Costs of calls: the key `cost`, and what follows from expressions.

`2 * n * m, transcendentals=n` counts operations, over the names of dimensions (those of `dims`, or of a signature of
`gufunc`), arguments that are numbers, and functions of tensors. `opwright.cost.written` reads the texts
that are generated: in these, sizes stand for names of dimensions, and batches before them are multiplied in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.formula.ast import (
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Name,
    Subscript,
    Unary,
    children,
)  # fmt: skip
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.positions import place
from opwright_codegen.kernel_choices.bind import Binding, Inline
from opwright_codegen.kernel_choices.core_dimensions import read_signature
from opwright_codegen.kernel_choices.family_calls import Family, product_signature
from opwright_codegen.kernel_choices.operations import operations_of, operations_of_expression
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.source import Span, Text

__all__ = ["cost_text", "costs_of"]

KEYS: Final = ("transcendentals", "read", "written")
# What takes tensors, and what takes numbers; the first of all may be given a tensor and then dimensions.
_OF_TENSORS: Final = ("numel", "nbytes", "itemsize", "rank", "size", "sizes", "batches")
_OF_NUMBERS: Final = ("prod", "len", "max", "min", "log2")
_FREE: Final = ("...", "*")
_EXAMPLE: Final = "as in: 2 * n * m, transcendentals=n"
_NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_SIGNS: Final = ("+", "-", "*", "/", "//", "%", "**")


def costs_of(operators: OperatorSet, bindings: Sequence[Binding], families: Mapping[str, Family]) -> dict[str, str]:
    """Return what is known of the costs of operators by names without namespace: `declared: …`, `expression: …` for
    those of a `kernel`, `kernel: …` for elementwise ones whose kernel is in NumPy. Raises SchemaErrors."""
    errors, found = Errors(), dict[str, str]()
    for operator in operators.operators.values():
        short = operator.name.partition("::")[2]
        try:
            if operator.cost is not None:
                found[short] = f"declared: {cost_text(operator)}"
            elif operator.expression is not None and operator.kind is SchemaKind.FUNCTIONAL:
                found[short] = f"expression: {_of_elements(*operations_of_expression(operator.expression.root))}"
        except SchemaError as error:
            errors.add(error)
    errors.raise_if_any()
    for binding in bindings:
        short = binding.view.name.partition("::")[2]
        family = families.get(binding.view.name)
        if family is None or family.name != "Elementwise" or not isinstance(binding.kernel, Inline) or short in found:
            continue
        counted = operations_of(binding.kernel.formula)
        if binding.view.operator.kind is SchemaKind.FUNCTIONAL and counted is not None and counted != (1, 0):
            found[short] = f"kernel: {_of_elements(*counted)}"
    return found


def _of_elements(flops: int, transcendentals: int) -> str:
    """Return the cost of so many operations for each element of the result."""
    each = [f"{count} * numel(result)" if count > 1 else "numel(result)" for count in (flops, transcendentals)]
    return (each[0] if flops else "0") + (f", transcendentals={each[1]}" if transcendentals else "")


def cost_text(operator: Operator) -> str:
    """Return the text that says an operator's cost over its arguments alone. Raises SchemaErrors for a wrong one."""
    text = operator.cost
    assert text is not None
    if operator.kind is not SchemaKind.FUNCTIONAL:
        message = f"{operator.name} writes to its arguments, and costs what the operator does that returns"
        raise SchemaError("cost-form", message, text.span, "write it there")
    dims = _dimensions(operator)
    errors, said = Errors(), list[str]()
    for number, (word, start, piece) in enumerate(_pieces(text)):
        span = place(text, start, start + len(piece))
        if (number == 0) != (word == "") or (word and word not in KEYS):
            near = nearest(word, KEYS)
            what = f"{word!r} is no part of a cost" if word else "more than one number of operations"
            hint = f"did you mean {near!r}?" if near else _EXAMPLE
            errors.add(SchemaError("cost-form", "operations come first" if not number else what, span, hint))
            continue
        try:
            formula = parse(Text(piece, span))
        except SchemaError as error:
            errors.add(error)
            continue
        problems = [*_problems(formula, operator.schema, dims, span)]
        for problem in problems:
            errors.add(problem)
        if not problems:
            said.append((f"{word}=" if word else "") + _spelt(piece, formula, operator, dims))
    errors.raise_if_any()
    return ", ".join(said)


def _pieces(text: Text) -> Iterator[tuple[str, int, str]]:
    """Yield the parts between commas that stand in no parentheses: a word before `=`, where the formula begins, it."""
    start = depth = 0
    for at, char in enumerate(f"{text.text},"):
        depth += (char in "([") - (char in ")]")
        if (char == "," and depth <= 0) or at == len(text.text):
            part = text.text[start:at]
            word = re.match(r"\s*(\w+)\s*=(?!=)", part)
            skipped = word.end() if word else 0
            skipped += len(part[skipped:]) - len(part[skipped:].lstrip())
            yield (word[1] if word else ""), start + skipped, part[skipped:].rstrip()
            start = at + 1


def _problems(formula: Formula, schema: FunctionSchema, dims: Mapping[str, str], where: Span) -> Iterator[SchemaError]:
    """Yield what is wrong with a number: names that are unknown, tensors that are no numbers, what no cost has."""
    tensors = {each.name: each for each in schema.arguments if each.type.is_tensor_like}
    numbers = {each.name for each in schema.arguments} - {*tensors}
    results = {"result", *(f"result{n}" for n in range(len(schema.returns)))}
    match formula:
        case Name(name) if name in tensors or name in results:
            hint = f"say numel({name}), or size({name}, 0)"
            yield SchemaError("cost-name", f"{name!r} is a tensor, and no number", formula.span or where, hint)
        case Name(name) if name not in numbers and name not in dims:
            known = [*dims, *numbers, *_OF_TENSORS, *_OF_NUMBERS]
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join([*dims, *sorted(numbers)]) or 'none'}"
            message = f"{name!r} is neither a dimension nor an argument"
            yield SchemaError("cost-name", message, formula.span or where, hint)
        case Call(Name(name), arguments, ()) if name in _OF_TENSORS:
            for number, each in enumerate(arguments):
                is_tensor = number == 0 or (name == "batches" and number % 2 == 0)
                if is_tensor and not (isinstance(each, Name) and (each.name in tensors or each.name in results)):
                    message = f"{name}() takes a tensor"
                    hint = f"there are: {', '.join([*tensors, *sorted(results)])}"
                    yield SchemaError("cost-name", message, each.span or where, hint)
                elif not is_tensor:
                    yield from _problems(each, schema, dims, where)
        case Call(Name(name), arguments, ()) if name in _OF_NUMBERS:
            for each in arguments:
                yield from _problems(each, schema, dims, where)
        case Comparison(Name(name), (("is" | "is not", _),)) if name in tensors:
            return
        case Comparison(Name(name), ((_, Constant(str())),)) if name in numbers:
            return
        case Call(Name(name)):
            near = nearest(name, (*_OF_TENSORS, *_OF_NUMBERS))
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join((*_OF_TENSORS, *_OF_NUMBERS))}"
            yield SchemaError("cost-name", f"there is no function {name!r}", formula.span or where, hint)
        case (
            Name() | Constant(int() | float() | None) | Binary() | Unary() | Comparison(_, (_,)) | Boolean()
            | Conditional() | Subscript()
        ) if not (isinstance(formula, Binary) and formula.operator not in _SIGNS):  # fmt: skip
            for each in children(formula):
                yield from _problems(each, schema, dims, where)
        case _:
            yield SchemaError("cost-form", "this is no number of operations", formula.span or where, _EXAMPLE)


def _spelt(piece: str, formula: Formula, operator: Operator, dims: Mapping[str, str]) -> str:
    """Return a number with sizes for the names of dimensions, times the batches before them where it has some."""
    own = {each.name for each in operator.schema.arguments}
    used = [word for word in _NAME.findall(piece) if word in dims and word not in own]
    text = " ".join(_NAME.sub(lambda found: _size(found[0], dims, own), piece).split())
    batches = _batches(operator) if used else ""
    if not batches:
        return text
    return f"{batches} * ({text})" if isinstance(formula, Binary | Conditional) else f"{batches} * {text}"


def _size(word: str, dims: Mapping[str, str], own: set[str]) -> str:
    return dims[word] if word in dims and word not in own else word


def _groups(operator: Operator) -> list[tuple[str, list[str]]]:
    """Return the tensors whose dimensions have names, with these: as `dims` says, or a signature in `meta`. `...` and
    `*` stand for others."""
    dims = operator.dims
    if dims is not None and dims.names is not None:
        tensors = [each.name for each in operator.schema.arguments if each.type.is_tensor_like]
        groups = [part.split() for part in dims.names.text.partition("->")[0].split(",")]
        return list(zip(tensors, groups, strict=False))
    for text in (operator.meta, None if dims is None else dims.batching):
        match None if text is None or ":" in text.text.partition("(")[0] else parse(text):
            case Call(Name("gufunc" | "product" as name), (Constant(str() as signature), *operands)):
                read = read_signature(signature if name == "gufunc" else product_signature(signature))
                named = [each.name if isinstance(each, Name) else "" for each in operands]
                return list(zip(named, map(list, read.inputs), strict=False)) if read is not None else []
            case _:
                pass
    return []


def _dimensions(operator: Operator) -> dict[str, str]:
    """Return how large dimensions with names are, counted from the side on which all have names."""
    found: dict[str, str] = {}
    for tensor, names in _groups(operator):
        for at, name in enumerate(names):
            if name.isidentifier() and tensor:
                is_first = any(each in _FREE for each in names[at:])
                found.setdefault(name, f"size({tensor}, {at if is_first else at - len(names)})")
    return found


def _batches(operator: Operator) -> str:
    """Return what says how many batches there are before dimensions with names; nothing where others come after."""
    groups = [(tensor, names) for tensor, names in _groups(operator) if tensor]
    if any(name in _FREE and before for _, names in groups for before, name in enumerate(names)):
        return ""
    cores = [f"{tensor}, {sum(name not in _FREE for name in names)}" for tensor, names in groups]
    return f"batches({', '.join(cores)})" if cores else ""
