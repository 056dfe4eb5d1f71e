"""`NAME_jax.py`: the operators of a package as functions of JAX's arrays.

The module lists the operators, and the C functions that handle some of them. The runtime half computes shapes by fakes,
and derivatives and batches by the package's own formulas and rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright_bindings.jax.target_native import TEMPLATE, context, file, native_call, native_library
from opwright_codegen.declared.model import DeclaredSet, Files, Template
from opwright_codegen.schema.types import BaseType
from opwright_codegen.targets.bindings.framework import Block, Framework, LeftOut, Package, overload_of
from opwright_codegen.views.imports import words_in
from opwright_codegen.views.layout import bracketed, fill_comment, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import OperatorView, tuple_text

__all__ = ["FRAMEWORK"]

_RESERVED = ("Gradients", "Kernel", "Loop", "annotations", "binding", "open_binding")


def _refusal(package: Package, operator: OperatorView) -> str | None:
    """Return why JAX cannot have an operator, None where it can."""
    schema, tags = operator.schema, operator.operator.tags
    if schema.mutated_arguments:
        return "it writes an argument, and JAX's arrays are not written to"
    if "dynamic_output_shape" in tags or "data_dependent_output" in tags:
        return "what its result looks like depends on data, which JAX does not have while it traces"
    if "nondeterministic_seeded" in tags or any(each.type.base() == BaseType("Generator") for each in schema.arguments):
        return "it is random, and JAX draws from keys that are passed to it"
    if not any(each.type.is_tensor_like for each in schema.arguments):
        return "it takes no tensor: JAX has constants of its own"
    if not schema.returns or any(each.type.base() != BaseType("Tensor") for each in schema.returns):
        return "it returns something else than tensors"
    return None if package.bindings_of(operator) else "no kernel serves it"


def _context(package: Package, taken: Sequence[OperatorView], left_out: Sequence[LeftOut]) -> dict[str, object]:
    """Return what the template shows: a block for each function that JAX is given."""
    namer = Namer(_RESERVED)
    by_name: dict[str, list[OperatorView]] = {}
    for operator in taken:
        by_name.setdefault(operator.schema.name.base, []).append(operator)
    blocks = [_block(package, name, namer.claim(name), found) for name, found in by_name.items()]
    words = words_in([each.statement for each in blocks])
    used = words & {"Gradients", "Kernel", "Loop"}
    library = native_library(package.bindings, package.view.namespace, package.derivatives) if used else None
    opened = [quoted(package.view.namespace), quoted(package.view.package), "__name__", *map(quoted, library or ())]
    return {
        "names": [*sorted(used), "open_binding"],
        "opened": bracketed("binding = open_binding(", opened, ")"),
        "blocks": blocks,
        "left_out": [fill_comment(f"{each.operator}: {each.reason}") for each in left_out],
    }


def _block(package: Package, name: str, variable: str, operators: Sequence[OperatorView]) -> Block:
    named = {overload_of(each): each for each in operators}
    items = [quoted(name), *map(quoted, named)]
    calls = [f"{quoted(overload)}: {call}" for overload, each in named.items() if (call := _native(package, each))]
    if calls:
        items.append(bracketed("native={", calls, "}", 4, 1))
    constant = [quoted(overload) for overload, each in named.items() if _is_constant(package, each)]
    if constant:
        items.append(f"constant={tuple_text(constant)}")
    statement = bracketed(f"{variable} = binding.function(", items, ")")
    return Block(tuple([fill_comment(each.declaration) for each in operators]), statement)


def _is_constant(package: Package, operator: OperatorView) -> bool:
    """Whether nothing says what the derivatives of an operator are."""
    entry = package.derivatives.find(operator.name) if package.derivatives else None
    return entry is None and not any(each.key.startswith("CompositeImplicit") for each in package.bindings_of(operator))


def _native(package: Package, operator: OperatorView) -> str | None:
    """Return what Python is told of the C function that handles an operator; None where none does."""
    on_cpu = [each for each in package.bindings_of(operator) if each.key == "CPU"]
    return native_call(on_cpu[0], operator.schema, package.derivatives) if on_cpu else None


def _files(declared: DeclaredSet) -> Files:
    """Return the C functions that JAX's programs call."""
    kernels, namespace = declared.bindings, declared.namespace
    template = Template(TEMPLATE, declared.view, lambda: context(kernels, namespace, declared.derivatives))
    return {file(namespace): template}


FRAMEWORK = Framework(_refusal, _context, files=_files)
