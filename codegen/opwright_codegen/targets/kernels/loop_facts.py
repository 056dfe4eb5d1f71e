"""Operators with expressions that have fast shims: loops allocate their results."""

from __future__ import annotations

from opwright_codegen.declared.parts import Binding, Looped
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind

__all__ = ["LoopFacts", "loop_facts"]


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """An expression whose results its loops may allocate."""

    kernel: Looped
    is_truth: bool
    writes: bool = False
    takes_plain_arrays: bool = True


def loop_facts(binding: Binding) -> LoopFacts | None:
    """Return what the fast shims of a binding are about, or None where it has none."""
    kernel, schema = binding.kernel, binding.view.schema
    if not isinstance(kernel, Looped) or schema.kind is not SchemaKind.FUNCTIONAL:
        return None
    has_own_meta = "meta" in binding.base.spans  # which may say anything of results
    return None if has_own_meta else LoopFacts(kernel, kernel.expression.is_truth)
