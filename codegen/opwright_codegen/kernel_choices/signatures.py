"""Kernels in C and CUDA: what the functions of one take, by the operator's schema.

Note [What C functions write]
Where an operator has a `meta`, its results are allocated by that, and the function fills them; the variants that write
have them stored where the schema says. Where it has none, the function itself writes the arguments that the schema
marks with `!`, and nothing is allocated.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.schema.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.source import Span

__all__ = ["FunctionKernel", "Language", "NativeArgument", "NativeResult", "signature_of"]

# The sorts of arguments that functions take, by the types of schemas; those of which there may be lists.
_SORTS: Final = {
    "Tensor": "array", "float": "float", "int": "int", "SymInt": "int", "bool": "bool", "Scalar": "scalar",
    "str": "text",
}  # fmt: skip
_LISTED: Final = ("float", "int", "bool")


@dataclass(frozen=True, slots=True)
class Language:
    """The language of a kernel: how codes of errors begin, its name, what functions take. `refused` are sorts that they
    do not take."""

    code: str
    name: str
    takes: str
    refused: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class NativeArgument:
    """An argument: `array`, `float`, `int`, `bool`, `scalar` (a number in the kernel's dtype) or `text`.

    `dtype`: what an array always is, '' where it is the kernel's. A pointer is NULL where an optional one is None;
    lists are a pointer and a count.
    """

    name: str
    sort: str
    dtype: str = ""
    is_optional: bool = False
    is_list: bool = False
    is_written: bool = False

    def __str__(self) -> str:
        """Return what the runtime is told: name and sort, behind it dtype, list, option and whether it is written."""
        marks = f"{':' * bool(self.dtype)}{self.dtype}{'[]' * self.is_list}"
        return f"{self.name}: {self.sort}{marks}{'?' * self.is_optional}{'!' * self.is_written}"


@dataclass(frozen=True, slots=True)
class NativeResult:
    """A result. `dtype`: what it always is, '' where it is the kernel's."""

    name: str
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class FunctionKernel:
    """A kernel in C or CUDA: a function for each of `dtypes`, of `arguments` in the schema's order, then `results`."""

    name: str
    operator: str
    convention: str
    dtypes: tuple[str, ...]
    arguments: tuple[NativeArgument, ...]
    results: tuple[NativeResult, ...]

    @property
    def outputs(self) -> int:
        """Return how many results there are: none of a kernel that writes arguments."""
        return len(self.results)

    @property
    def writes(self) -> bool:
        """Whether its functions write arguments: Note [What C functions write]."""
        return not self.results

    @property
    def arrays(self) -> tuple[str, ...]:
        """Return the names of the arrays among the arguments."""
        return tuple(argument.name for argument in self.arguments if argument.sort == "array")

    @property
    def parameters(self) -> tuple[NativeArgument, ...]:
        """Return the arguments, and results as arrays that are written."""
        outs = (NativeArgument(found.name, "array", found.dtype, is_written=True) for found in self.results)
        return (*self.arguments, *outs)


def signature_of(
    base: Operator, span: Span, language: Language
) -> tuple[tuple[NativeArgument, ...], tuple[NativeResult, ...]]:
    """Return the arguments and results of an operator's functions. Raises SchemaError for one that none can handle."""
    schema = base.schema
    writes = base.meta is None and schema.kind is not SchemaKind.FUNCTIONAL
    outs = () if writes else schema.out_arguments
    arguments = tuple(_argument(base, each, span, language) for each in schema.arguments if each not in outs)
    results = () if writes else _results(base, span, language)
    returned = zip(schema.returned_arguments, schema.returns, strict=True)
    if writes and any(argument is None or argument.type != found.type for argument, found in returned):
        told = f"a {language.name} function does one of the two"
        message = f"{schema.name} writes arguments and returns something new, and {told}"
        raise SchemaError(f"{language.code}-results", message, span, "return what is written, or '()'")
    arguments, results = _with_dtypes(base, arguments, results)
    if not any(argument.sort == "array" and not argument.is_optional and not argument.dtype for argument in arguments):
        message = f"{schema.name} takes no Tensor, whose dtype would say which {language.name} function is called"
        hint = "one that is no option, and not named by 'dtype_of'; or write the kernel in Python"
        raise SchemaError(f"{language.code}-argument", message, span, hint)
    return arguments, results


def _argument(base: Operator, argument: Argument, span: Span, language: Language) -> NativeArgument:
    kind: Type = argument.type
    optional = isinstance(kind, OptionalType)
    if isinstance(kind, OptionalType):
        kind = kind.elem
    is_list = isinstance(kind, ListType)
    if isinstance(kind, ListType):
        kind = kind.elem
    sort = _SORTS.get(str(kind)) if isinstance(kind, BaseType) else None
    if sort is None or sort in language.refused or (is_list and sort not in _LISTED):
        told = f"is a {argument.type}, which {language.name} kernels do not take"
        message = f"{base.schema.name}: {argument.name!r} {told}"
        raise SchemaError(f"{language.code}-argument", message, span, language.takes)
    is_written = argument.is_write and base.meta is None
    return NativeArgument(argument.name, sort, "", optional, is_list, is_written)


def _results(base: Operator, span: Span, language: Language) -> tuple[NativeResult, ...]:
    returns = base.schema.returns
    if not returns or any(str(found.type) != "Tensor" for found in returns):
        message = f"{base.schema.name} does not return one or several Tensors, as a {language.name} kernel does"
        raise SchemaError(f"{language.code}-results", message, span, "write the kernel in Python")
    outs = ["out"] if len(returns) == 1 else [f"out{position}" for position in range(len(returns))]
    return tuple(NativeResult(found.name or out) for found, out in zip(returns, outs, strict=True))


def _with_dtypes(
    base: Operator, arguments: tuple[NativeArgument, ...], results: tuple[NativeResult, ...]
) -> tuple[tuple[NativeArgument, ...], tuple[NativeResult, ...]]:
    """Return arguments and results with the dtypes that `dtype_of` says."""
    arrays = {each.name for each in arguments if each.sort == "array"} | {each.name for each in results}
    said = {}
    for name, dtype in base.dtype_of:
        said[name.text] = dtype
        if name.text not in arrays:
            message = f"{base.schema.name} has no Tensor {name.text!r} among arguments and results"
            like = nearest(name.text, sorted(arrays))
            hint = f"did you mean {like!r}?" if like else f"there are {', '.join(sorted(arrays))}"
            raise SchemaError("native-dtype-of", message, name.span, hint)
    return (
        tuple(replace(each, dtype=said.get(each.name, "")) if each.sort == "array" else each for each in arguments),
        tuple(replace(each, dtype=said.get(each.name, "")) for each in results),
    )
