"""`composites.py`: kernels that are expressions over other operators. They see what the caller passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opwright_codegen.bindings import Binding, Inline, composite_bindings
from opwright_codegen.formula_emit import Spelling
from opwright_codegen.formula_resolve import BUILTINS
from opwright_codegen.imports import import_lines, words_in
from opwright_codegen.layout import fill_comment, formula_lines
from opwright_codegen.names import BuiltinNames, Namer
from opwright_codegen.targets.shims import spelled
from opwright_codegen.views import NamespaceView, Side, annotation, return_annotation, signature

__all__ = ["TEMPLATE", "composite_names", "context"]

TEMPLATE = "composites.py.j2"
RESERVED = (
    "Any", "DType", "DTypeLike", "Device", "Generator", "Layout", "MemoryFormat", "Scalar", "Sequence", "Tensor",
    "annotations", "builtins", "complex", "dtypes", "math", "ops", "result",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Composite:
    """One kernel: its comment, its `def` line, and the statement that returns the formula's value."""

    comment: str
    signature: str
    statements: tuple[str, ...]


def context(view: NamespaceView, bindings: Sequence[Binding]) -> dict[str, object] | None:
    """What the template shows; None where no kernel is such an expression."""
    own = composite_bindings(bindings)
    if not own:
        return None
    names = composite_names(own)
    builtins = BuiltinNames(names.values())
    composites = [_composite(binding, names[binding.view.name, binding.key], view, builtins) for binding in own]
    words = words_in(text for c in composites for text in (c.signature, *c.statements))
    whole = [name for name in ("builtins", "math") if name in words]
    extra = [(".", "ops", "ops")] if "ops" in words else []
    return {"composites": composites, "imports": import_lines(words, whole, extra)}


def composite_names(bindings: Sequence[Binding]) -> dict[tuple[str, str], str]:
    """The function for each operator and key: an operator has more than one where keys differ in their expression."""
    namer = Namer(RESERVED)
    found: dict[tuple[str, str], str] = {}
    for binding in bindings:
        wanted = binding.view.stub
        is_second = any(name == binding.view.name for name, _ in found)
        found[binding.view.name, binding.key] = namer.claim(f"{wanted}_{binding.key}" if is_second else wanted)
    return found


def _composite(binding: Binding, name: str, view: NamespaceView, builtins: BuiltinNames) -> Composite:
    assert isinstance(binding.kernel, Inline)
    schema = binding.view.schema
    namer = Namer(RESERVED)
    own = {a.name: namer.claim(a.name) for a in schema.arguments}
    parameters = [f"{own[a.name]}: {annotation(a.type, builtins, side=Side.KERNEL)}" for a in schema.arguments]
    returned = return_annotation(schema.returns, builtins)
    functions = {base: f"ops.{names.function}" for base, names in view.names.packets.items()}
    formula = spelled(binding.kernel.formula, {}, functions)
    spelling = Spelling(builtin="builtins." if builtins.hides(BUILTINS) else "", arguments=own)
    if schema.returns:
        statements: tuple[str, ...] = (formula_lines(formula, spelling, 4, f"result: {returned} = "), "return result")
    else:
        statements = (formula_lines(formula, spelling, 4),)
    return Composite(fill_comment(binding.view.declaration), signature(name, parameters, returned), statements)
