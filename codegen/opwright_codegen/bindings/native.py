"""C kernels: what the functions of one take, and whether the operator is one that a C function can serve.

Note [What C functions write]
Where an operator has a `meta`, its results are allocated by that, and the function fills them; the variants that write
have them stored where the schema says. Where it has none, the function itself writes the arguments that the schema
marks with `!`, and nothing is allocated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from opwright_codegen.bindings.metas import Meta, Plans
from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.schema.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.source import Span
from opwright_codegen.views.names import Namer

__all__ = ["Native", "NativeArgument", "NativeResult", "check_native_meta", "loop_names", "native_kernel"]

# The sorts of arguments that C functions take, by the types of schemas; those of which there may be lists.
_SORTS: Final = {
    "Tensor": "array", "float": "float", "int": "int", "SymInt": "int", "bool": "bool", "Scalar": "scalar",
    "str": "text",
}  # fmt: skip
_LISTED: Final = ("float", "int", "bool")
_IMPORTED: Final = ("CudaHostKernel", "CudaLoop", "CudaSource", "LaunchRule", "NativeLibrary", "dirname")
_TAKEN: Final = "they take Tensor, float, int, bool, Scalar and str, each also with '?'; and lists of float, int, bool"


@dataclass(frozen=True, slots=True)
class NativeArgument:
    """An argument of a C kernel: `array`, `float`, `int`, `bool`, `scalar` (a number in the kernel's dtype) or `text`.

    `dtype`: what an array always is, '' where it is the kernel's. A pointer is NULL where an optional one is None;
    lists are a pointer and a count.
    """

    name: str
    sort: str
    dtype: str = ""
    is_optional: bool = False
    is_list: bool = False
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class NativeResult:
    """A result of a C kernel. `dtype`: what it always is, '' where it is the kernel's."""

    name: str
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Native:
    """A C kernel: a function for each of `dtypes`, of `arguments` in the schema's order, then `results`."""

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


def native_kernel(name: str, base: Operator, key: str, span: Span) -> Native:
    """Return the C kernel of an operator. Raises SchemaError for an operator that no C function can serve."""
    if key != "CPU":
        raise SchemaError("native-key", f"a C kernel serves CPU, not {key}", span, "write 'CPU: native:…'")
    schema = base.schema
    writes = base.meta is None and schema.kind is not SchemaKind.FUNCTIONAL
    outs = () if writes else schema.out_arguments
    arguments = tuple(_argument(base, argument, span) for argument in schema.arguments if argument not in outs)
    results = () if writes else _results(base, span)
    if writes and any(not found.is_write for found in schema.returns):
        message = f"{schema.name} writes arguments and returns something new, and a C function does one of the two"
        raise SchemaError("native-results", message, span, "return what is written, or '()'")
    arguments, results = _with_dtypes(base, arguments, results)
    if not any(argument.sort == "array" and not argument.is_optional and not argument.dtype for argument in arguments):
        message = f"{schema.name} takes no Tensor, whose dtype would say which C function is called"
        hint = "one that is no option, and not named by 'dtype_of'; or write the kernel in Python"
        raise SchemaError("native-argument", message, span, hint)
    assert base.convention is not None and base.dtypes  # rules say so
    return Native(name, base.name, base.convention, base.dtypes, arguments, results)


def loop_names(operators: OperatorSet) -> dict[str, str]:
    """Return what the loops of each expression are called, by the operator: no two the same, nor as a kernel in C or
    CUDA is, nor as what the modules of these import."""
    kernels = [kernel.text.strip() for operator in operators.operators.values() for _, kernel in operator.dispatch]
    others = [re.split("::|:", text)[-1] for text in kernels if text.startswith(("native:", "raw:", "nvcc:"))]
    namer = Namer([*others, *_IMPORTED])
    found = {}
    for operator in operators.operators.values():
        if operator.expression is not None:
            name = operator.schema.name
            wanted = f"{name.base}_{name.overload}" if name.overload else name.base
            found[operator.name] = namer.claim(wanted.lstrip("_") or "loop")
    return found


def _argument(base: Operator, argument: Argument, span: Span) -> NativeArgument:
    kind: Type = argument.type
    optional = isinstance(kind, OptionalType)
    if isinstance(kind, OptionalType):
        kind = kind.elem
    is_list = isinstance(kind, ListType)
    if isinstance(kind, ListType):
        kind = kind.elem
    sort = _SORTS.get(str(kind)) if isinstance(kind, BaseType) else None
    if sort is None or (is_list and sort not in _LISTED):
        message = f"{base.schema.name}: {argument.name!r} is a {argument.type}, which C kernels do not take"
        raise SchemaError("native-argument", message, span, _TAKEN)
    is_written = argument.is_write and base.meta is None
    return NativeArgument(argument.name, sort, "", optional, is_list, is_written)


def _results(base: Operator, span: Span) -> tuple[NativeResult, ...]:
    returns = base.schema.returns
    if not returns or any(str(found.type) != "Tensor" for found in returns):
        message = f"{base.schema.name} does not return one or several Tensors, as a C kernel does"
        raise SchemaError("native-results", message, span, "write the kernel in Python")
    outs = ["out"] if len(returns) == 1 else [f"out{place}" for place in range(len(returns))]
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


def check_native_meta(kernel: Native, meta: Meta, span: Span) -> None:
    """Raise SchemaError unless `meta` says what results look like: they are allocated by it."""
    if kernel.writes:
        return
    if not isinstance(meta, Plans):
        message = f"{kernel.operator} has no 'meta' by which the C kernel's results could be allocated"
        raise SchemaError("native-meta", message, span, "add for example 'meta: pointwise(self, other)'")
