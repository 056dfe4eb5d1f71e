"""`NAME_torch.py`: the operators of a package as PyTorch's, defined with torch.library.

The runtime half calls the kernels and fakes of the package on PyTorch's tensors.
Gradients are formulas over `torch.ops`, so that PyTorch traces and differentiates them; an operator whose gradient is a
Python function of the project has an operator of its own for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright_bindings.torch.target_gradients import GradientBuilder, GradientView, calls_of
from opwright_bindings.torch.target_tangents import TangentBuilder
from opwright_codegen.declared.parts import RESIZING, Family, Value
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.schema.types import BaseType
from opwright_codegen.targets.bindings.framework import Framework, LeftOut, Package
from opwright_codegen.views.imports import import_line, words_in
from opwright_codegen.views.layout import LINE, bracketed, fill_comment, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import OperatorView, tuple_text

__all__ = ["FRAMEWORK"]

_OWN_NAMESPACES = ("aten", "prim", "prims", "quantized", "onednn", "mkldnn")
_TYPES = frozenset(
    ("Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Layout", "Device", "MemoryFormat",
     "Generator")
)  # fmt: skip
_FAMILIES = frozenset(("Along", "Elementwise", "Everything", "Folded", "Leading", "Product", "Reducing"))
_FUNCTIONS = frozenset(("or_zeros", "sum_terms"))
_IMPORTED = _FAMILIES | {"ForwardRule", "TangentFormula"}
_RESERVED = (
    *sorted(_IMPORTED | _FUNCTIONS),
    "Any",
    "annotations",
    "aten",
    "binding",
    "math",
    "open_binding",
    "own",
    "torch",
)


@dataclass(frozen=True, slots=True)
class _Block:
    """One operator: its comment, the statement that defines it, its gradient and its tangents."""

    comment: str
    defined: str
    parts: tuple[GradientView, ...]


def _refusal(package: Package, operator: OperatorView) -> str | None:
    """Return why PyTorch cannot have an operator, None where it can."""
    schema = operator.schema
    if package.view.namespace in _OWN_NAMESPACES:
        return f"the namespace {package.view.namespace!r} is PyTorch's own"
    if not package.bindings_of(operator):
        return "no kernel serves it"
    if schema.is_vararg or schema.is_varret:
        return "torch.library takes no '...'"
    types = [*(each.type for each in schema.arguments), *(each.type for each in schema.returns)]
    strange = [str(each) for each in types if not _is_known(each.base())]
    if strange:
        return f"torch.library has no type {strange[0]}"
    if operator.operator.is_view_like:
        return "its result shares memory with an argument, which torch.library does not differentiate"
    if operator.operator.name in RESIZING or "inplace_view" in operator.operator.tags:
        return "it resizes an argument, which PyTorch does not functionalize"
    return _refused_writing(schema)


def _is_known(found: object) -> bool:
    return isinstance(found, BaseType) and found.name in _TYPES


def _refused_writing(schema: FunctionSchema) -> str | None:
    """Return why an operator that writes arguments cannot be functionalized, None where it can."""
    written = schema.mutated_arguments
    aliased = [each for each in schema.returns if each.annotations]
    if not written or not aliased:
        return None
    if any(argument.type != BaseType("Tensor") for argument in written):
        return "it returns a list that it writes, which PyTorch does not functionalize"
    if schema.kind is SchemaKind.INPLACE and len(written) == len(schema.returns) == 1:
        return None
    if schema.kind is SchemaKind.OUT and len(written) == len(schema.returns) == len(aliased):
        return None
    return "it returns only some of what it writes, which PyTorch does not functionalize"


def _context(package: Package, taken: Sequence[OperatorView], left_out: Sequence[LeftOut]) -> dict[str, object]:
    """Return what the template shows: a block for each operator that PyTorch is given."""
    namer = Namer(_RESERVED)
    calls = dict(calls_of(package, {operator.schema.name.base for operator in taken}))
    builders = GradientBuilder(package, calls), TangentBuilder(package, calls)
    names = {operator.name: namer.claim(operator.stub) for operator in taken}
    blocks = [_block(package, operator, names[operator.name], *builders) for operator in taken]
    texts = [each.defined for each in blocks]
    for block in blocks:
        for part in block.parts:
            texts += [*part.statements, part.registered]
    words = words_in(texts)
    imported = [*sorted(words & _IMPORTED), "open_binding", *sorted(words & _FUNCTIONS)]
    if words & {"torch", "aten", "own"}:
        imported.append("torch")
    return {
        "package": package.view.package,
        "blocks": blocks,
        "imported": import_line("opwright_bindings.torch.runtime", imported),
        "uses_math": "math" in words,
        "uses_any": any(part.statements for block in blocks for part in block.parts),
        "spaces": [name for name in ("aten", "own") if name in words],
        "left_out": [fill_comment(f"{each.operator}: {each.reason}") for each in left_out],
    }


def _block(
    package: Package, operator: OperatorView, name: str, gradients: GradientBuilder, tangents: TangentBuilder
) -> _Block:
    schema = operator.schema
    arguments = [quoted(operator.declaration)]
    family = package.families.get(operator.name)
    if family is not None and family.name in _FAMILIES and schema.kind is SchemaKind.FUNCTIONAL:
        arguments.append(f"batch={_family(family)}")
    if operator.operator.autocast:
        arguments.append(_policies(operator.operator.autocast))
    functional = _functional(package, operator)
    if functional:
        arguments.append(f"functional={quoted(functional)}")
    defined = bracketed("binding.define(", arguments, ")")
    gradient = gradients.gradient(operator, name)
    parts = tuple([each for each in (gradient, tangents.tangents(operator, name, gradient)) if each is not None])
    return _Block(fill_comment(operator.declaration), _long(defined), parts)


def _functional(package: Package, operator: OperatorView) -> str:
    """Return the functional operator whose results an in-place or out variant writes, "" if there is none."""
    if operator.schema.kind not in (SchemaKind.INPLACE, SchemaKind.OUT):
        return ""
    wanted = operator.schema.signature()
    for other in package.view.packets.get(operator.schema.name.base.removesuffix("_"), ()):
        if (
            other.schema.kind is SchemaKind.FUNCTIONAL
            and other.schema.signature() == wanted
            and not _refusal(package, other)
        ):
            return str(other.schema.name).partition("::")[2]
    return ""


def _long(statement: str) -> str:
    return "\n".join(
        f"{line}  # noqa: E501" if len(line) > LINE and not line.rstrip().endswith("noqa: E501") else line
        for line in statement.split("\n")
    )


def _policies(autocast: Sequence[tuple[str, str]]) -> str:
    items = [f"{quoted(device)}: {quoted(policy)}" for device, policy in autocast]
    return bracketed("autocast={", items, "}", 4, 1)


def _family(family: Family) -> str:
    items = [_value(each) for each in family.arguments]
    items += [f"{key}={_value(each)}" for key, each in family.keywords]
    return f"{family.name}({', '.join(items)})"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return quoted(value)
    return tuple_text([_value(each) for each in value]) if isinstance(value, Sequence) else repr(value)


FRAMEWORK = Framework(_refusal, _context)
