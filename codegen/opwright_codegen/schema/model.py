"""The model of an operator's schema, and its text form: `FunctionSchema.parse(str(x)) == x`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from opwright_codegen.records import dataclass, field, replace
from opwright_codegen.schema.defaults import Default, EnumName, default_of
from opwright_codegen.schema.types import Annotation, BaseType, OptionalType, Type, annotated
from opwright_codegen.source import Span

if TYPE_CHECKING:
    from opwright_codegen.schema.parser import ArgumentParts, ReturnParts

__all__ = ["Argument", "Default", "EnumName", "FunctionSchema", "OperatorName", "Return", "SchemaKind"]

_DUNDER = re.compile(r"__([^_]+)__")
# Names N for which `__iN__` is Python's augmented assignment; PyTorch spells some of them its own way.
_AUGMENTED = frozenset(
    ["add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "xor", "or"],
)
_TENSOR = BaseType("Tensor")
_TENSOR_OPTIONS = (
    ("dtype", BaseType("ScalarType")),
    ("layout", BaseType("Layout")),
    ("device", BaseType("Device")),
    ("pin_memory", BaseType("bool")),
)


class SchemaKind(Enum):
    """The way a schema's results reach the caller."""

    FUNCTIONAL = "functional"
    INPLACE = "inplace"
    OUT = "out"
    MUTABLE = "mutable"


@dataclass(frozen=True, slots=True)
class OperatorName:
    """A name `namespace::base.overload`; `base` is as written, with an in-place operator's `_`. Missing parts are
    ''."""

    namespace: str
    base: str
    overload: str = ""

    @staticmethod
    def parse(text: str) -> OperatorName:
        """Return the name written `ns::base.overload`; what is no identifier in it is for the caller to check."""
        head, _, overload = text.partition(".")
        namespace, _, base = head.rpartition("::")
        return OperatorName(namespace, base, overload)

    @property
    def dunder(self) -> str | None:
        """Return `add` of `__add__`; None when the name is no such method."""
        found = _DUNDER.fullmatch(self.base)
        return found[1] if found else None

    @property
    def inplace(self) -> bool:
        """Whether the name is one of an in-place operator: `add_`, `__iadd__` (but not `__add__`, `__invert__`)."""
        if self.base.startswith("__") and self.base.endswith("__"):
            inner = self.dunder
            return inner is not None and inner[0] == "i" and inner[1:] in _AUGMENTED
        return self.base.endswith("_") and self.base.strip("_") != ""

    @property
    def stem(self) -> str:
        """Return the base name of the functional variant: `add` of `add_`, `__add__` of `__iadd__`."""
        if not self.inplace:
            return self.base
        return f"__{self.base[3:]}" if self.base.startswith("__") else self.base[:-1]

    @property
    def shown_overload(self) -> str:
        """Return the overload as users reach it: `default` for the one without a name."""
        return self.overload or "default"

    def functional(self) -> OperatorName:
        """Return the name without the in-place mark."""
        return replace(self, base=self.stem) if self.inplace else self

    def __str__(self) -> str:
        name = f"{self.namespace}::{self.base}" if self.namespace else self.base
        return f"{name}.{self.overload}" if self.overload else name


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument; `default` None is "required". The annotation is that of what is under the type's `?` and `[]`;
    `list_annotations` are those of the lists, from the inside, where there are any (`Tensor(a)[](b!)`)."""

    name: str
    type: Type
    default: Default | None = None
    annotation: Annotation | None = None
    kwarg_only: bool = False
    list_annotations: tuple[Annotation | None, ...] = ()
    is_write: bool = field(init=False, compare=False, repr=False)
    """Whether the operator writes to the argument, or to elements of it. Asked so often that it is kept."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_write", any(a.write for a in self.annotations))

    @property
    def annotations(self) -> tuple[Annotation, ...]:
        """Return every annotation on the type, from the inside."""
        return tuple([a for a in (self.annotation, *self.list_annotations) if a is not None])

    @property
    def is_scratch(self) -> bool:
        """Whether it is memory for intermediate results, by PyTorch's name for it."""
        return self.name.startswith("_scratch_")

    def __str__(self) -> str:
        text = f"{annotated(self.type, self.annotation, self.list_annotations)} {self.name}"
        return text if self.default is None else f"{text}={self.default.text}"


@dataclass(frozen=True, slots=True)
class Return:
    """A result, with or without a name."""

    name: str | None
    type: Type
    annotation: Annotation | None = None
    list_annotations: tuple[Annotation | None, ...] = ()
    is_write: bool = field(init=False, compare=False, repr=False)
    """Whether the result is (or holds) something that the operator has written to."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_write", any(a.write for a in self.annotations))

    @property
    def annotations(self) -> tuple[Annotation, ...]:
        """Return every annotation on the type, from the inside."""
        return tuple([a for a in (self.annotation, *self.list_annotations) if a is not None])

    def __str__(self) -> str:
        text = annotated(self.type, self.annotation, self.list_annotations)
        return f"{text} {self.name}" if self.name is not None else text


@dataclass(frozen=True)
class FunctionSchema:
    """An operator's name, arguments (those after `*` have `kwarg_only`) and returns. `span` is where it was read."""

    name: OperatorName
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    is_vararg: bool = False
    is_varret: bool = False
    text: str | None = field(default=None, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        parts: tuple[Argument | Return, ...] = (*self.arguments, *self.returns)
        if any(part.is_write and _is_fresh(part) for part in parts):
            numbers = itertools.count()
            object.__setattr__(self, "arguments", tuple([_numbered(a, numbers) for a in self.arguments]))
            object.__setattr__(self, "returns", tuple([_numbered(r, numbers) for r in self.returns]))

    @staticmethod
    def parse(text: str, span: Span | None = None) -> FunctionSchema:
        """Return the schema written as `text`, which stands at `span`. Judges syntax, not what operators may be.

        Raises SchemaError, with the position and a hint, for text that is no schema.
        """
        from opwright_codegen.schema.parser import UnreadableError, parse_parts

        try:
            parts = parse_parts(text)
            arguments = [_argument(part, False) for part in parts.positional]
            if parts.kwarg_only:
                arguments += [_argument(part, True) for part in parts.kwarg_only]
            returns = tuple([_return(part) for part in parts.returns])
        except (UnreadableError, ValueError) as error:
            from opwright_codegen.schema.errors import explain

            raise explain(text, span, error) from None
        name = OperatorName.parse(parts.operator)
        return FunctionSchema(name, tuple(arguments), returns, parts.is_vararg, parts.is_varret, text, span)

    def __str__(self) -> str:
        arguments = [str(argument) for argument in self.arguments]
        first = next((i for i, argument in enumerate(self.arguments) if argument.kwarg_only), None)
        if first is not None:
            arguments.insert(first, "*")
        if self.is_vararg:
            arguments.append("...")
        returns = [str(result) for result in self.returns]
        if self.is_varret:
            returns.append("...")
        # One result needs no parentheses, unless its type begins with one.
        alone = len(returns) == 1 and not returns[0].startswith("(")
        return f"{self.name}({', '.join(arguments)}) -> {returns[0] if alone else '(' + ', '.join(returns) + ')'}"

    @property
    def namespace(self) -> str:
        return self.name.namespace

    @property
    def output_names(self) -> tuple[str, ...]:
        """Return what derivatives call the results: `result`, or `result0`, …, where they have no names; `NAME_return`
        where an argument has the name."""
        taken = {a.name for a in self.arguments}
        numbers = range(len(self.returns)) if len(self.returns) > 1 else [""]
        names = [r.name or f"result{number}" for r, number in zip(self.returns, numbers, strict=False)]
        return tuple([f"{name}_return" if name in taken else name for name in names])

    @property
    def positional(self) -> tuple[Argument, ...]:
        """Return the arguments before `*`."""
        return tuple([a for a in self.arguments if not a.kwarg_only])

    @property
    def kwarg_only(self) -> tuple[Argument, ...]:
        """Return the arguments after `*`, out arguments included."""
        return tuple([a for a in self.arguments if a.kwarg_only])

    @property
    def out_arguments(self) -> tuple[Argument, ...]:
        """Return the keyword-only arguments that the operator writes its results to."""
        return tuple([a for a in self.arguments if a.kwarg_only and a.is_write])

    @cached_property
    def mutated_arguments(self) -> tuple[Argument, ...]:
        """Return every argument that the operator writes to."""
        return tuple([a for a in self.arguments if a.is_write])

    @property
    def written_order(self) -> tuple[Argument, ...]:
        """Return the written tensors as results of the functional variant: self, the out arguments, then others. That a
        number was written to, nobody sees."""
        mutated, own = [a for a in self.mutated_arguments if a.type.is_tensor_like], self.self_argument
        return tuple(sorted(mutated, key=lambda a: 0 if a is own else 1 if a.kwarg_only else 2)) if mutated else ()

    @cached_property
    def self_argument(self) -> Argument | None:
        """Return the positional argument called `self`; for an in-place operator without one, the first."""
        positional = self.positional
        named = next((a for a in positional if a.name == "self"), None)
        return named or (positional[0] if positional and self.name.inplace else None)

    @cached_property
    def kind(self) -> SchemaKind:
        """Return what variant the schema is, from its text alone: an in-place name whose self is written to and
        returned, else out arguments that are returned, else any written argument, else functional."""
        if not self.mutated_arguments:
            return SchemaKind.FUNCTIONAL
        if self._is_inplace():
            return SchemaKind.INPLACE
        return SchemaKind.OUT if self._is_out() else SchemaKind.MUTABLE

    def _is_inplace(self) -> bool:
        own = self.self_argument
        if not self.name.inplace or own is None or not own.is_write or self.out_arguments:
            return False
        return self.returned_arguments == ((own,) if own.type == _TENSOR else ())

    def _is_out(self) -> bool:
        """Whether out arguments come last and are returned, but for scratch memory; lists and others are not."""
        outs = self.out_arguments
        if not outs or outs != self.arguments[-len(outs) :]:
            return False
        is_plain = all(a.type == _TENSOR for a in outs)
        return self.returned_arguments == (tuple([a for a in outs if not a.is_scratch]) if is_plain else ())

    @cached_property
    def returned_arguments(self) -> tuple[Argument | None, ...]:
        """Return for each result the written argument that it is, by its alias set; None where it is new."""
        known: dict[tuple[Annotation, ...], Argument] = {}
        for argument in self.mutated_arguments:
            known.setdefault(argument.annotations, argument)
        return tuple([known.get(r.annotations) if r.is_write else None for r in self.returns])

    @property
    def is_view(self) -> bool:
        """Whether a result shares memory with an argument that is not written to."""
        if any(r.annotations and not r.is_write for r in self.returns):
            return True
        return any("*" in alias.after for a in self.arguments for alias in a.annotations)

    @property
    def is_functional(self) -> bool:
        """Whether calls neither write to an argument nor return one's memory, and do return something."""
        return bool(self.returns) and not self.mutated_arguments and not any(r.annotations for r in self.returns)

    def signature(self, *, keep_defaults: bool = False) -> FunctionSchema:
        """Return what all variants of an operator have in common, by which they are grouped: no overload, in-place
        mark, out arguments, tensor options, annotations, return names or (unless kept) defaults; written arguments that
        are not returned are results."""
        arguments = [a for a in _without_tensor_options(self.arguments) if not (a.kwarg_only and a.is_write)]
        returned = (*self.returns, *self._written_results())
        return FunctionSchema(
            OperatorName(self.namespace, self.name.stem.removesuffix("_functional")),
            tuple([_bare(a, keep_defaults) for a in arguments]),
            tuple([_bare_return(r) for r in returned]),
            self.is_vararg,
            self.is_varret,
        )

    def functional_signature(self) -> FunctionSchema:
        """Return the functional variant of a schema: arguments are only read, and each written one that is not returned
        comes back as a further result `NAME_out`. A mutable operator `f` gives `f_functional`."""
        base = f"{self.name.base}_functional" if self.kind is SchemaKind.MUTABLE else self.name.stem
        outs = self.out_arguments if self.kind is SchemaKind.OUT else ()
        return FunctionSchema(
            OperatorName(self.namespace, base, self.name.overload),
            tuple([_bare(a, True) for a in self.arguments if a not in outs]),
            (*[Return(r.name, r.type) for r in self.returns], *self._written_results()),
            self.is_vararg,
            self.is_varret,
        )

    def _written_results(self) -> list[Return]:
        """Return a result for each written argument that is not returned: self, the out arguments, then others."""
        returned = {r.annotations for r in self.returns}
        return [Return(f"{a.name}_out", a.type) for a in self.written_order if a.annotations not in returned]


_Part = TypeVar("_Part", Argument, Return)


def _is_fresh(part: Argument | Return) -> bool:
    """Whether the part, or an element of it, is in an alias set without a name."""
    return any(annotation.is_fresh for annotation in part.annotations)


def _numbered(part: _Part, numbers: Iterator[int]) -> _Part:
    """Return the part with numbers for the alias sets that have no names, from the inside, as PyTorch counts them."""
    if not _is_fresh(part):
        return part
    found = (part.annotation, *part.list_annotations)
    marks = [Annotation.fresh(next(numbers)) if a is not None and a.is_fresh else a for a in found]
    return replace(part, annotation=marks[0], list_annotations=tuple(marks[1:]))


def _bare(argument: Argument, keep_default: bool) -> Argument:
    """Return the argument without annotations and, unless kept, default."""
    if argument.annotation is None and not argument.list_annotations and (keep_default or argument.default is None):
        return argument
    return Argument(argument.name, argument.type, argument.default if keep_default else None, None, argument.kwarg_only)


def _bare_return(result: Return) -> Return:
    """Return the result without name and annotations."""
    return Return(None, result.type) if result.name is not None or result.annotations else result


def _without_tensor_options(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the arguments without `dtype, layout, device, pin_memory`, which factories have, but no variants."""
    for i, first in enumerate(arguments):
        if first.kwarg_only and first.name == "dtype":
            run = arguments[i : i + len(_TENSOR_OPTIONS)]
            wanted = [(a.name, a.type.elem if isinstance(a.type, OptionalType) else a.type) for a in run]
            if wanted == list(_TENSOR_OPTIONS):
                return arguments[:i] + arguments[i + len(run) :]
    return arguments


_MAX_REMEMBERED = 20_000
_positional: dict[str, Argument] = {}
_kwarg_only: dict[str, Argument] = {}
_returns: dict[str, Return] = {}


def _argument(parts: ArgumentParts, kwarg_only: bool) -> Argument:
    """Return the argument that the parts say; equal ones are shared, since schemas repeat most of theirs."""
    known = _kwarg_only if kwarg_only else _positional
    found = known.get(parts.text)
    if found is None:
        _, typed, name, literal = parts
        try:
            default = None if literal is None else default_of(literal, typed.type)
        except ValueError as error:
            raise ValueError(name, str(error)) from None
        if len(known) > _MAX_REMEMBERED:
            known.clear()
        found = known[parts.text] = Argument(name, typed.type, default, typed.annotation, kwarg_only, typed.lists)
    return found


def _return(parts: ReturnParts) -> Return:
    found = _returns.get(parts.text)
    if found is None:
        if len(_returns) > _MAX_REMEMBERED:
            _returns.clear()
        _, typed, name = parts
        found = _returns[parts.text] = Return(name, typed.type, typed.annotation, typed.lists)
    return found
