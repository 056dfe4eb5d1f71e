"""C kernels: what the functions of one take, and whether the operator is one that a C function can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from opwright_codegen.bindings.metas import Meta, Plans
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.source import Span
from opwright_codegen.views.names import Namer

__all__ = ["Native", "NativeArgument", "check_native_meta", "loop_names", "native_kernel"]

# The sorts of arguments that C functions take, by the types of schemas.
_SORTS: Final = {"Tensor": "array", "float": "float", "int": "int", "SymInt": "int", "bool": "bool"}


@dataclass(frozen=True, slots=True)
class NativeArgument:
    """An argument of a C kernel: its name, and `array`, `float`, `int` or `bool`."""

    name: str
    sort: str


@dataclass(frozen=True, slots=True)
class Native:
    """A C kernel: a function for each of `dtypes`, of `arguments` in the schema's order, then `results`."""

    name: str
    operator: str
    convention: str
    dtypes: tuple[str, ...]
    arguments: tuple[NativeArgument, ...]
    results: tuple[str, ...]

    @property
    def outputs(self) -> int:
        """Return how many results there are."""
        return len(self.results)

    @property
    def arrays(self) -> tuple[str, ...]:
        """Return the names of the arrays among the arguments."""
        return tuple(argument.name for argument in self.arguments if argument.sort == "array")


def native_kernel(name: str, base: Operator, key: str, span: Span) -> Native:
    """Return the C kernel of an operator. Raises SchemaError for an operator that no C function can serve."""
    if key != "CPU":
        raise SchemaError("native-key", f"a C kernel serves CPU, not {key}", span, "write 'CPU: native:…'")
    schema = base.schema
    if schema.kind is not SchemaKind.FUNCTIONAL:
        message = f"{schema.name} writes to an argument, and a C kernel makes new results"
        hint = "declare the operator that returns them, with 'autogen' for the variants that write"
        raise SchemaError("native-writes", message, span, hint)
    if not schema.returns or any(str(found.type) != "Tensor" for found in schema.returns):
        message = f"{schema.name} does not return one or several Tensors, as a C kernel does"
        raise SchemaError("native-results", message, span, "write the kernel in Python")
    arguments = tuple(NativeArgument(argument.name, _sort(base, argument, span)) for argument in schema.arguments)
    if not any(argument.sort == "array" for argument in arguments):
        message = f"{schema.name} takes no Tensor, whose dtype would say which C function is called"
        raise SchemaError("native-argument", message, span, "write the kernel in Python")
    assert base.convention is not None and base.dtypes  # rules say so
    outs = ["out"] if len(schema.returns) == 1 else [f"out{place}" for place in range(len(schema.returns))]
    results = tuple(found.name or out for found, out in zip(schema.returns, outs, strict=True))
    return Native(name, base.name, base.convention, base.dtypes, arguments, results)


def loop_names(operators: OperatorSet) -> dict[str, str]:
    """Return what the loops of each expression are called, by the operator: no two the same, nor as a C kernel is."""
    kernels = (kernel.text for operator in operators.operators.values() for _, kernel in operator.dispatch)
    namer = Namer(text.strip().removeprefix("native:") for text in kernels if text.strip().startswith("native:"))
    found = {}
    for operator in operators.operators.values():
        if operator.expression is not None:
            name = operator.schema.name
            wanted = f"{name.base}_{name.overload}" if name.overload else name.base
            found[operator.name] = namer.claim(wanted.lstrip("_") or "loop")
    return found


def _sort(base: Operator, argument: Argument, span: Span) -> str:
    sort = _SORTS.get(str(argument.type))
    if sort is None:
        message = f"{base.schema.name}: {argument.name!r} is a {argument.type}, which C kernels do not take"
        raise SchemaError("native-argument", message, span, "they take Tensor, float, int and bool")
    return sort


def check_native_meta(kernel: Native, meta: Meta, span: Span) -> None:
    """Raise SchemaError unless `meta` says what results look like: they are allocated by it."""
    if not isinstance(meta, Plans):
        message = f"{kernel.operator} has no 'meta' by which the C kernel's results could be allocated"
        raise SchemaError("native-meta", message, span, "add for example 'meta: pointwise(self, other)'")
