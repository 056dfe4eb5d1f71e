"""The contents of one schema module of a package: the operators of one schema file, and what handles and records
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.declared.parts import Binding, Family
from opwright_codegen.records import dataclass
from opwright_codegen.targets.gradients.autograd import Recording
from opwright_codegen.targets.gradients.forward import Rule
from opwright_codegen.targets.kernels import cpu, cuda, fakes
from opwright_codegen.targets.kernels.backend import shim_names
from opwright_codegen.targets.kernels.metas import MetaNames, meta_names
from opwright_codegen.targets.kernels.names import ShimNames
from opwright_codegen.views.operators import NamespaceView

__all__ = ["FOLDERS", "SchemaModule", "schema_modules"]

_BACKENDS = {module.BACKEND.key: module.BACKEND for module in (cpu, cuda, fakes)}
FOLDERS = {"CPU": cpu.FOLDER, "CUDA": cuda.FOLDER, "Meta": fakes.FOLDER}


@dataclass(frozen=True, slots=True)
class SchemaModule:
    """One schema module. What records calls of a variant, or takes tangents through it, stands with its operator:
    `recordings` and `rules` may be of operators of other schema modules."""

    name: str
    view: NamespaceView
    bindings: Sequence[Binding]
    shims: Mapping[str, Mapping[str, ShimNames]]
    metas: Mapping[str, MetaNames]
    recordings: Sequence[Recording]
    rules: Sequence[Rule]
    families: Mapping[str, Family]


def schema_modules(
    view: NamespaceView,
    bindings: Sequence[Binding],
    recordings: Sequence[Recording],
    rules: Sequence[Rule],
    families: Mapping[str, Family],
) -> list[SchemaModule]:
    """Return the schema modules of a package, in the order of the schema files."""
    found = []
    for name in view.schema_modules:
        own = [binding for binding in bindings if view.homes[binding.view.name] == name]
        metas = meta_names(own)
        found.append(
            SchemaModule(
                name,
                view.of_module(name),
                own,
                {
                    key: shim_names(own, backend, metas, is_trusted=view.is_trusted)
                    for key, backend in _BACKENDS.items()
                },
                metas,
                [each for each in recordings if view.homes[_recorded(each)] == name],
                [rule for rule in rules if view.homes[rule.views[0].name] == name],
                {each: family for each, family in families.items() if view.homes[each] == name},
            )
        )
    return found


def _recorded(recording: Recording) -> str:
    """Return the operator whose node records the call."""
    return recording.view.name if recording.entry is None else recording.entry.operator.name
