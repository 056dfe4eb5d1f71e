"""The front half of the generator in one step: files are read and checked, operators bound, and the rest derived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.derivatives.derivative import DerivativeSet
from opwright_codegen.derivatives.files import derivatives_of_expressions, read_derivatives
from opwright_codegen.kernel_choices.batches import families
from opwright_codegen.kernel_choices.bind import bind
from opwright_codegen.kernel_choices.costs import costs_of
from opwright_codegen.kernel_choices.dimensions import cuts_of
from opwright_codegen.kernel_choices.references import references
from opwright_codegen.read.files import read, read_sources
from opwright_codegen.read.model import OperatorSet
from opwright_codegen.records import replace
from opwright_codegen.source import Source
from opwright_codegen.views.operators import namespace_view, source_path

__all__ = ["declare"]

_PROVIDED: Final = ("opwright_aten",)  # a used package that need not be generated yet


def declare(inputs: Inputs, texts: Sequence[Source] | None = None, *, binds: bool = True) -> dict[str, DeclaredSet]:
    """Return the declared set of each namespace. `texts` stand for the schema files, if given.

    Without `binds` kernels are not looked up, and what follows from them is empty: for commands that need the
    declarations alone, of states whose kernels may be missing. Raises SchemaErrors for everything that is wrong.
    """
    if texts is None:
        operators = read(inputs.schemas, inputs.tags, inputs.namespace)
    else:
        operators = read_sources(list(texts), inputs.tags, inputs.namespace)
    derivatives = _derivatives(inputs, operators)
    namespaces = operators.namespaces
    return {
        name: _declared(inputs, _only_namespace(operators, name), inputs.package(name, namespaces), derivatives, binds)
        for name in namespaces
    }


def _derivatives(inputs: Inputs, operators: OperatorSet) -> DerivativeSet | None:
    """Return the declared derivatives and those of expressions, None if there are none."""
    if inputs.derivatives is None and not any(operator.expression for operator in operators.operators.values()):
        return None
    gradients, used = inputs.modules(inputs.gradients, "backward function"), inputs.used_packages()
    if inputs.derivatives is None:
        return derivatives_of_expressions(operators, gradients, used)
    return read_derivatives(inputs.derivatives, operators, gradients, used, is_lax=not inputs.strict)


def _only_namespace(operators: OperatorSet, namespace: str) -> OperatorSet:
    if len(operators.namespaces) == 1:
        return operators
    members = {name: found for name, found in operators.operators.items() if found.namespace == namespace}
    groups = tuple(group for group in operators.groups if group.members[0].namespace == namespace)
    return replace(operators, operators=members, groups=groups)


def _declared(
    inputs: Inputs, operators: OperatorSet, package: str, derivatives: DerivativeSet | None, binds: bool
) -> DeclaredSet:
    """Return the declared set of operators of one namespace, for the package of this name."""
    (namespace,) = operators.namespaces
    used, files = inputs.used_packages(), () if derivatives is None else derivatives.sources
    view = namespace_view(operators, namespace, package, inputs.project, used, inputs.trusted)
    found = DeclaredSet(
        operators,
        view,
        derivatives=derivatives,
        gradients=inputs.modules(inputs.gradients, "backward function"),
        sources={**view.sources, **{each.path: source_path(each.path, inputs.project) for each in files}},
    )
    if not binds:
        return found
    for each in used:
        if each.name not in _PROVIDED:
            each.check()
    kernels, rules = inputs.modules(inputs.kernels), inputs.modules(inputs.rules, "rule")
    bindings = bind(view, operators, kernels, rules, strict=inputs.strict)
    cuts = cuts_of(view, operators, bindings, families(operators, bindings, kernels, rules), kernels)
    return replace(
        found,
        bindings=tuple(bindings),
        cuts=cuts,
        costs=costs_of(operators, bindings, cuts.blocks),
        references=references(operators, namespace, kernels, used),
    )
