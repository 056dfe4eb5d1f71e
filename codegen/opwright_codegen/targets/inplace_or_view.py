"""`inplace_or_view/`: kernels at ADInplaceOrView, for schemas with alias annotations alone.

Note [ADInplaceOrView kernels]
What is written is asked for beforehand (`check_writable`), and its version counts afterwards; of in-place operators,
which may be small calls, without a function call: the keys of a plain tensor on the CPU, or two of their bits, say that
there is nothing to ask. What an operator writes beside its results, as running statistics are, does not count, as in
PyTorch: a network may run twice before a backward pass. A view notes in what mode it was made: where no mode is on
there is nothing to note, and the runtime leaves the kernel out of the chain. One of several views says so. Composites
have no such kernel: what they call does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opwright_codegen.bindings.bind import Binding
from opwright_codegen.schema.model import Argument, FunctionSchema, SchemaKind
from opwright_codegen.views.annotations import Side, Tensors, annotation, return_annotation
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import bracketed, fill_comment
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView, signature

__all__ = ["FOLDER", "TEMPLATE", "context", "wrapped", "wrapper_names"]

FOLDER = "inplace_or_view"
TEMPLATE = "inplace_or_view.py.j2"
RESERVED = (
    "ADINPLACEORVIEW", "Any", "Callable", "DENSE_CPU", "DType", "DTypeLike", "Device", "Generator", "Kernel", "Layout",
    "MemoryFormat", "Scalar", "Sequence", "Tensor", "WRITE_BITS", "annotations", "below", "builtins", "check_writable",
    "extra", "increment_version", "item", "kernel", "mark_view", "mark_views", "result", "shape", "storage",
    "storage_of",
)  # fmt: skip
# They have the annotations, and return their argument: `detach_` writes to no memory, `lift_fresh` makes no view. The
# results of the others are views without history (`opwright.autograd.detach`).
_NEITHER = frozenset(("aten::detach_", "aten::lift_fresh", "aten::detach", "aten::view.dtype"))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A function that makes the kernel from what is below it: its comment, its name, the kernel's `def` and body."""

    comment: str
    name: str
    signature: str
    statements: tuple[str, ...]


def wrapped(bindings: Sequence[Binding]) -> list[OperatorView]:
    """Return the operators that have such a kernel."""
    keys: dict[str, set[str]] = {}
    for binding in bindings:
        keys.setdefault(binding.view.name, set()).add(binding.key)
    views = {binding.view.name: binding.view for binding in bindings}
    return [
        view
        for name, view in views.items()
        if "CompositeImplicitAutograd" not in keys[name]
        and name not in _NEITHER
        and (view.schema.mutated_arguments or view.schema.is_view)
    ]


def wrapper_names(bindings: Sequence[Binding]) -> dict[str, str]:
    """Return the function of each operator."""
    namer = Namer(RESERVED)
    return {view.name: namer.claim(view.stub) for view in wrapped(bindings)}


def context(view: NamespaceView, bindings: Sequence[Binding]) -> dict[str, object] | None:
    """Return what the template shows; None where no operator has such a kernel."""
    names = wrapper_names(bindings)
    if not names:
        return None
    builtins = BuiltinNames(names.values())
    wrappers = [_wrapper(operator, names[operator.name], builtins) for operator in wrapped(bindings)]
    words = words_in(text for w in wrappers for text in (w.signature, *w.statements)) | {"Any", "Callable"}
    whole = ["builtins"] if "builtins" in words else []
    return {"wrappers": wrappers, "imports": import_lines(words, whole)}


def _wrapper(view: OperatorView, name: str, builtins: BuiltinNames) -> Wrapper:
    schema = view.schema
    namer = Namer(RESERVED)
    own = {a.name: namer.claim(a.name) for a in schema.arguments}
    parameters = [f"{own[a.name]}: {annotation(a.type, builtins, side=Side.KERNEL)}" for a in schema.arguments]
    returned = return_annotation(schema.returns, builtins)
    statements = _written(view, own, returned) if schema.mutated_arguments else _viewed(view, own, returned)
    head = signature("kernel", parameters, returned, 4)
    return Wrapper(fill_comment(view.declaration), name, head, tuple(statements))


def _call(own: Mapping[str, str], before: str, after: str = "") -> str:
    return bracketed(f"{before}below(", list(own.values()), f"){after}", 8)


def _viewed(view: OperatorView, own: Mapping[str, str], returned: str) -> list[str]:
    """Return the statements that mark views: each result that has an annotation."""
    returns = view.schema.returns
    if len(returns) == 1:
        return [_call(own, f"return mark_view{'s' if returns[0].type.is_list_like else ''}(", ")")]
    marked = [
        f"mark_views({f'result[{i}]' if r.type.is_list_like else f'[result[{i}]]'})"
        for i, r in enumerate(returns)
        if r.annotations
    ]
    return [_call(own, f"result: {returned} = "), *marked, "return result"]


_RESIZING = ("resize_", "resize_as_")  # of the size that it has, they write nothing


def _written(view: OperatorView, own: Mapping[str, str], returned: str) -> list[str]:
    """Return the statements of checks before the call, and of counts after it."""
    schema = view.schema
    counted = _counted(schema)
    kinds = {p.argument.name: p.tensors for p in view.parameters}
    before: list[str] = []
    after: list[str] = []
    for argument in schema.mutated_arguments:
        name, kind = own[argument.name], kinds[argument.name]
        is_inline = kind is Tensors.ONE and schema.kind is SchemaKind.INPLACE
        before += _check(name) if is_inline else _each(name, kind, "check_writable")
        if argument in counted:
            after += _count(name) if is_inline else _each(name, kind, "increment_version")
    if schema.name.base in _RESIZING:
        (name,) = (own[argument.name] for argument in counted)
        before.append(f"shape = {name}.shape")
        after = [f"if {name}.shape != shape:", *(f"    {line}" for line in after)]
    if len(schema.returns) == 1 and counted and schema.returns[0].annotations == counted[0].annotations:
        return [*before, _call(own, ""), *after, f"return {own[counted[0].name]}"]
    if not schema.returns:
        return [*before, _call(own, ""), *after]
    return [*before, _call(own, f"result: {returned} = "), *after, "return result"]


def _counted(schema: FunctionSchema) -> list[Argument]:
    """Return the written arguments to count: `self`, those with `out=`, and all of them where nothing is returned."""
    of_results = [a for a in schema.mutated_arguments if a.kwarg_only or a is schema.self_argument]
    return of_results if schema.returns else list(schema.mutated_arguments)


def _check(name: str) -> list[str]:
    keys = f"{name}.keys"
    return [
        f"if {keys} != DENSE_CPU and {keys} & WRITE_BITS != ADINPLACEORVIEW:",
        f"    check_writable({name})",
    ]


def _count(name: str) -> list[str]:
    return [
        f"extra = {name}.extra",
        "if extra is None or (storage := extra.storage) is None:",
        f"    storage = storage_of({name})",
        "storage.version += 1",
    ]


def _each(name: str, kind: Tensors, function: str) -> list[str]:
    """Call the function with the tensor, or those of a list, that are there."""
    match kind:
        case Tensors.ONE:
            return [f"{function}({name})"]
        case Tensors.OPTIONAL:
            return [f"if {name} is not None:", f"    {function}({name})"]
        case Tensors.LIST_OF_OPTIONAL:
            return [f"for item in {name}:", "    if item is not None:", f"        {function}(item)"]
        case _:
            return [f"for item in {name}{' or ()' if kind is Tensors.OPTIONAL_LIST else ''}:", f"    {function}(item)"]
