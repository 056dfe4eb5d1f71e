"""Parts of the declared set that several targets need, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.records import dataclass
from opwright_codegen.targets.gradients import autograd, forward
from opwright_codegen.targets.ops import calls
from opwright_codegen.targets.ops.schema_module import SchemaModule, schema_modules

__all__ = ["Shared", "shared"]


@dataclass(frozen=True, eq=False)
class Shared:
    """The schema modules of a package, with what is recorded of their operators, and the types of calls."""

    declared: DeclaredSet

    @cached_property
    def recordings(self) -> Sequence[autograd.Recording]:
        """Return what is recorded of operators: nothing without derivatives."""
        declared = self.declared
        if declared.derivatives is None:
            return ()
        return autograd.recordings(declared.view, declared.operators, declared.derivatives)

    @cached_property
    def skipped(self) -> Sequence[str]:
        """Return the names of operators without a history."""
        declared = self.declared
        if declared.derivatives is None:
            return ()
        return autograd.without_history(declared.view, declared.operators, declared.derivatives, self.recordings)

    @cached_property
    def modules(self) -> Sequence[SchemaModule]:
        """Return the schema modules, in the order of the schema files."""
        declared = self.declared
        rules: Sequence[forward.Rule] = ()
        if declared.derivatives is not None:
            rules = forward.rules(declared.view, declared.operators, declared.derivatives)
        return schema_modules(declared.view, declared.bindings, self.recordings, rules, declared.cuts.rows)

    @cached_property
    def call_types(self) -> calls.CallTypes:
        """Return the types of calls, for stub files."""
        return calls.CallTypes(self.declared.view)


@lru_cache(maxsize=1)
def shared(declared: DeclaredSet) -> Shared:
    """Return what targets share about a declared set."""
    return Shared(declared)
