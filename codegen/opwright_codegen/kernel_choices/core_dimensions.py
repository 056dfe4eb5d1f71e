"""Signatures of core dimensions, `"(m,k),(k,n)->(m,n)"`, and the sizes that a call of `gufunc` says besides.

`opwright_core.rules.core_dimensions` reads the same language when a rule runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.formula.ast import Binary, Call, Constant, Formula, Kind, Name, Reference, Unary, rewrite, walk
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.records import dataclass, replace
from opwright_codegen.source import Span

__all__ = [
    "CoreSignature",
    "check_signature",
    "has_sizes_of_operands",
    "read_signature",
    "sizes_as_texts",
    "takes_signature",
]

_DIMENSION: Final = re.compile(r"(?:\d+|[A-Za-z_]\w*)(?:\?|\|1)?")
_SIZE: Final = re.compile(r"[A-Za-z_]\w*\?|(?:[\w+\-*()%]|//)+")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_OPERATORS: Final = ("+", "-", "*", "//", "%")


@dataclass(frozen=True, slots=True)
class CoreSignature:
    """The dimensions of each operand, and the sizes of the result, as texts without spaces."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """Return the names of dimensions that operands have."""
        return frozenset(word for group in self.inputs for text in group for word in _WORD.findall(text))

    @property
    def wanted(self) -> frozenset[str]:
        """Return the names that sizes of the result are made of."""
        return frozenset(word for text in self.output for word in _WORD.findall(text))

    @property
    def counts(self) -> list[int] | None:
        """Return the number of dimensions of each operand, None where some may be missing."""
        is_optional = any(text.endswith("?") for group in self.inputs for text in group)
        return None if is_optional else [len(group) for group in self.inputs]


def read_signature(text: str) -> CoreSignature | None:
    """Return what a signature says, None for what is none."""
    inputs, arrow, output = re.sub(r"\s", "", text).partition("->")
    if not (arrow and re.fullmatch(r"\([^()]*\)(?:,\([^()]*\))*", inputs) and re.fullmatch(r"\(.*\)", output)):
        return None
    groups = tuple(_items(group) for group in re.findall(r"\(([^()]*)\)", inputs))
    sizes = _items(output[1:-1])
    is_right = all(_DIMENSION.fullmatch(each) for group in groups for each in group) and all(map(_is_size, sizes))
    return CoreSignature(groups, sizes) if is_right else None


def _items(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _is_size(text: str) -> bool:
    """Whether a size of the result is made of names and numbers: `n?`, or `n*(n-1)//2`."""
    if not _SIZE.fullmatch(text):
        return False
    try:
        compile(text.removesuffix("?"), "size", "eval")
    except (SyntaxError, ValueError):
        return False
    return "**" not in text and "()" not in text and not re.search(r"\w\(|\)\(", text)


def takes_signature(rule: KernelFunction) -> bool:
    """Whether a rule's first parameter is a signature, and its keywords are sizes."""
    return bool(rule.positional) and rule.positional[0].annotation == "CoreDimensions" and rule.takes_keywords


def _signature_of(call: Call) -> CoreSignature | None:
    first = call.arguments[0] if call.arguments else None
    return read_signature(first.value) if isinstance(first, Constant) and isinstance(first.value, str) else None


def sizes_as_texts(formula: Formula, find: Callable[[str], KernelFunction | None]) -> Formula:
    """Return a formula in which a size made of an operand's dimensions is a text, `p=n*(n-1)//2` as `p="n*(n-1)//2"`:
    the names are the signature's. Other names in it are passed on by name. Raises SchemaError for what is no size."""

    def change(part: Formula) -> Formula | None:
        if not isinstance(part, Call) or not isinstance(part.function, Name):
            return None
        rule = find(part.function.name)
        signature = _signature_of(part) if rule is not None and takes_signature(rule) else None
        if rule is None or signature is None:
            return None
        keywords = dict(part.keywords)
        sizes = keywords.keys() - set(rule.parameters)
        for name in sorted(sizes):
            value = keywords[name]
            names = [node for node in walk(value) if isinstance(node, Name)]
            if any(node.name in signature.names or node.name in sizes - {name} for node in names):
                keywords[name] = Constant(_text(value), span=value.span)
                keywords |= {node.name: node for node in names if node.name not in {*signature.names, *keywords}}
        return replace(part, keywords=tuple(keywords.items()))

    return rewrite(formula, change)


def one_for_each_result(formula: Formula, find: Callable[[str], KernelFunction | None]) -> tuple[Formula, ...]:
    """Return a call with a signature of several results, as NumPy writes it, as one call for each: `"(n)->(n),(n)"`."""
    match formula:
        case Call(Name(name), (Constant(str(text)) as signature, *operands), keywords):
            rule = find(name)
            inputs, arrow, output = text.replace(" ", "").partition("->")
            results = re.findall(r"\([^()]*\)", output)
            if (
                rule is not None
                and takes_signature(rule)
                and arrow
                and len(results) > 1
                and ",".join(results) == output
            ):
                return tuple(
                    replace(
                        formula,
                        arguments=(Constant(f"{inputs}->{result}", span=signature.span), *operands),
                        keywords=_asked(keywords, set(_WORD.findall(result)), rule),
                    )
                    for result in results
                )
    return (formula,)


def _asked(
    keywords: tuple[tuple[str, Formula], ...], words: set[str], rule: KernelFunction
) -> tuple[tuple[str, Formula], ...]:
    """Return the options, and the sizes that a result is made of, by those that say other sizes too."""
    for _ in keywords:
        kept = [value for name, value in keywords if name in words]
        words = words | {node.name for value in kept for node in walk(value) if isinstance(node, Name)}
    return tuple((name, value) for name, value in keywords if name in words or name in rule.parameters)


def _text(value: Formula) -> str:
    match value:
        case Name(name):
            return name
        case Constant(int() as number) if type(number) is int:
            return str(number)
        case Unary("-", operand):
            return f"-{_operand(operand)}"
        case Binary(operator, left, right) if operator in _OPERATORS:
            return f"{_operand(left)} {operator} {_operand(right)}"
        case _:
            message = "a size is made of names and whole numbers, with + - * // and %"
            raise SchemaError("core-dimensions", message, value.span, "as in: p=n*(n-1)//2")


def _operand(value: Formula) -> str:
    text = _text(value)
    return text if isinstance(value, Name | Constant) else f"({text})"


def check_signature(call: Call, rule: KernelFunction, at: Span) -> Iterator[SchemaError]:
    """Yield what is wrong with the signature of a call and its sizes: ill-formed, another number of operands than are
    given, a size from nowhere, one that nothing asks for."""
    first = rule.positional[:1]
    if not (first and first[0].annotation == "CoreDimensions" and call.arguments):
        return
    value = call.arguments[0]
    if not (isinstance(value, Constant) and isinstance(value.value, str)):
        return
    span = value.span or at
    signature = read_signature(value.value)
    if signature is None:
        hint = 'as in "(m,k),(k,n)->(m,n)"; operands have names, numbers, n? and n|1, results sizes such as n+1'
        yield SchemaError("core-dimensions", f"{value.value!r} is no signature of core dimensions", span, hint)
        return
    operands, groups = len(call.arguments) - 1, len(signature.inputs)
    if groups != operands:
        has, are = f"{groups} operand{'' if groups == 1 else 's'}", "is" if operands == 1 else "are"
        yield SchemaError("core-dimensions", f"the signature has {has}, and {operands} {are} given", span)
    yield from _size_problems(signature, dict(call.keywords), rule, span)


def _size_problems(
    signature: CoreSignature, keywords: Mapping[str, Formula], rule: KernelFunction, span: Span
) -> Iterator[SchemaError]:
    sizes = {name: value for name, value in keywords.items() if name not in rule.parameters}
    texts = [each.value for each in sizes.values() if isinstance(each, Constant) and isinstance(each.value, str)]
    asked = signature.names | signature.wanted | {word for text in texts for word in _WORD.findall(text)}
    for word in sorted(asked - signature.names - sizes.keys()):
        message = f"no operand has the size {word!r} of the result"
        yield SchemaError("core-dimensions", message, span, f"say it: {word}=…, as in {word}=2 * n")
    for name, value in sizes.items():
        if name not in asked:
            near = nearest(name, (*rule.parameters, *asked))
            hint = f"did you mean {near!r}?" if near else "the signature has no size of that name"
            yield SchemaError("rule-arguments", f"{rule.name}() has no parameter {name!r}", value.span or span, hint)


def has_sizes_of_operands(call: Call, rule: KernelFunction, tensors: frozenset[str]) -> bool:
    """Whether a size is said by what is read of a tensor, `p=x.shape[0]`: of a batch that would be another."""
    sizes = [value for name, value in call.keywords if name not in rule.parameters]
    nodes = (node for value in sizes for node in walk(value))
    return any(isinstance(n, Reference) and n.kind is Kind.ARGUMENT and n.name in tensors for n in nodes)
