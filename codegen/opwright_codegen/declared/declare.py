"""The front half of the generator in one step: operators are bound, and what follows from that is derived."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opwright_codegen.bindings.batches import families
from opwright_codegen.bindings.bind import bind
from opwright_codegen.bindings.costs import costs_of
from opwright_codegen.bindings.dimensions import cuts_of
from opwright_codegen.bindings.references import references
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.derivatives.model import DerivativeSet
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.read.model import OperatorSet
from opwright_codegen.views.operators import namespace_view, source_path

__all__ = ["declare"]


def declare(
    operators: OperatorSet,
    package: str,
    *,
    kernels: KernelModules,
    rules: KernelModules,
    strict: bool,
    derivatives: DerivativeSet | None = None,
    gradients: KernelModules | None = None,
    used: Sequence[UsedPackage] = (),
    project: Path | None = None,
    trusted: bool = False,
) -> DeclaredSet:
    """Return the declared set of operators of one namespace, for the package of this name.

    `used` are packages whose operators formulas may call. With `strict`, a kernel that no module has is an error, else
    it stays unbound. Generated files show paths of schemas relative to `project`, or file names if it is None.
    `trusted`: results of kernels are as declared, and errors of functions say what is wrong.
    Raises SchemaErrors for formulas and kernels that cannot be.
    """
    (namespace,) = operators.namespaces
    view = namespace_view(operators, namespace, package, project, used, trusted)
    bindings = bind(view, operators, kernels, rules, strict=strict)
    cuts = cuts_of(view, operators, bindings, families(operators, bindings, kernels, rules), kernels)
    files = derivatives.sources if derivatives is not None else ()
    return DeclaredSet(
        operators,
        view,
        tuple(bindings),
        cuts,
        costs_of(operators, bindings, cuts.blocks),
        references(operators, namespace, kernels, used),
        derivatives,
        gradients or KernelModules(()),
        {**view.sources, **{each.path: source_path(each.path, project) for each in files}},
    )
