"""The modules that give operators to other frameworks: what each is told of a package, and what it cannot take.

A framework has a module of its name here, with `TEMPLATE`, `refusal` (why an operator cannot be given to it, None where
it can) and `context` (what the template shows of those that can), and a function in `targets.frameworks`. Nothing
of a framework is imported here: what it has is written down, or found out when the generated module is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opwright_codegen.bindings.bind import Binding, Unbound
from opwright_codegen.bindings.family_calls import Family
from opwright_codegen.bindings.shardings import Sharding
from opwright_codegen.derivatives.model import DerivativeSet
from opwright_codegen.records import dataclass
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["Framework", "LeftOut", "Package", "given"]


@dataclass(frozen=True, slots=True)
class Package:
    """A package as frameworks are told of it: its operators, what handles, batches and differentiates them.

    `families` are of vmap, by operator; `blocks` say how blocks of results follow from blocks of arguments.
    """

    view: NamespaceView
    bindings: Sequence[Binding]
    families: Mapping[str, Family]
    blocks: Mapping[str, Family]
    shardings: Mapping[str, Sharding]
    derivatives: DerivativeSet | None

    def bindings_of(self, operator: OperatorView) -> list[Binding]:
        """Return the kernels that handle an operator, those that no module has aside."""
        found = [each for each in self.bindings if each.view.name == operator.name]
        return [each for each in found if not isinstance(each.kernel, Unbound)]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An operator that a framework is not given, and why."""

    framework: str
    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class Framework:
    """The target of one framework: which operators it can be given, and what its template shows."""

    template: str
    refusal: Callable[[Package, OperatorView], str | None]
    context: Callable[[Package, Sequence[OperatorView], Sequence[LeftOut]], dict[str, object]]


def given(package: Package, framework: str, target: Framework) -> tuple[list[OperatorView], list[LeftOut]]:
    """Return the operators that a framework is given, and those that it cannot take."""
    taken, left_out = [], []
    for operator in package.view.operators.values():
        reason = target.refusal(package, operator)
        if reason is None:
            taken.append(operator)
        else:
            left_out.append(LeftOut(framework, operator.name, reason))
    return taken, left_out
