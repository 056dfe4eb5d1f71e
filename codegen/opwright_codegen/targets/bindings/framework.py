"""The generator's half of a binding: the operators that a framework is given, and the module beside the package.

The folder of a binding has a module `target`, which defines `FRAMEWORK`. It imports neither the framework nor the
runtime half of the binding: the template writes down what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opwright_codegen.declared.model import DeclaredSet, Files
from opwright_codegen.declared.parts import Binding, DerivativeSet, Family, Sharding, Unbound
from opwright_codegen.records import dataclass
from opwright_codegen.views.layout import bracketed, fill_comment, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["Block", "Framework", "LeftOut", "Package", "functions", "given", "overload_of"]

_RESERVED = ("annotations", "binding", "open_binding")


@dataclass(frozen=True, slots=True)
class Package:
    """A package as bindings see it: its operators, and their kernels, batching rules, dimension rules and gradients.

    `families` holds the families of vmap by operator, `blocks` the families that split arrays into blocks.
    """

    view: NamespaceView
    bindings: Sequence[Binding]
    families: Mapping[str, Family]
    blocks: Mapping[str, Family]
    shardings: Mapping[str, Sharding]
    derivatives: DerivativeSet | None

    def bindings_of(self, operator: OperatorView) -> list[Binding]:
        """Return the kernels that handle an operator, without those that no module has."""
        found = [each for each in self.bindings if each.view.name == operator.name]
        return [each for each in found if not isinstance(each.kernel, Unbound)]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An operator that a framework is not given, and the reason."""

    framework: str
    operator: str
    reason: str


@dataclass(frozen=True, slots=True)
class Block:
    """One function of a module: the declarations of its overloads, and the statement that makes it."""

    comments: tuple[str, ...]
    statement: str


def functions(
    package: Package,
    taken: Sequence[OperatorView],
    left_out: Sequence[LeftOut],
    more: Callable[[Mapping[str, OperatorView]], Sequence[str]] = lambda overloads: (),
) -> dict[str, object]:
    """Return the values of a template: a block `NAME = binding.function("NAME", OVERLOAD, …)` for each function.

    `more` returns further arguments of that call, by the operators of a function by overload.
    """
    namer = Namer(_RESERVED)
    by_name: dict[str, dict[str, OperatorView]] = {}
    for operator in taken:
        by_name.setdefault(operator.schema.name.base, {})[overload_of(operator)] = operator
    blocks = []
    for name, overloads in by_name.items():
        items = [quoted(name), *map(quoted, overloads), *more(overloads)]
        statement = bracketed(f"{namer.claim(name)} = binding.function(", items, ")")
        blocks.append(Block(tuple([fill_comment(each.declaration) for each in overloads.values()]), statement))
    return {
        "package": package.view.package,
        "blocks": blocks,
        "left_out": [fill_comment(f"{each.operator}: {each.reason}") for each in left_out],
    }


def overload_of(operator: OperatorView) -> str:
    """Return the name of an overload: `Tensor` of `add.Tensor`, `default` of an operator without one."""
    return str(operator.schema.name).partition(".")[2] or "default"


@dataclass(frozen=True, slots=True)
class Framework:
    """The generator's half of one binding.

    `refusal` returns the reason why the framework cannot be given an operator, or None if it can. `context` returns the
    values of `template`, which is a file of the binding's folder. Without `refusal` no module is written. `files`
    returns further files of the package.
    """

    refusal: Callable[[Package, OperatorView], str | None] | None = None
    context: Callable[[Package, Sequence[OperatorView], Sequence[LeftOut]], dict[str, object]] = functions
    template: str = "binding.py.j2"
    files: Callable[[DeclaredSet], Files] | None = None


def given(package: Package, name: str, framework: Framework) -> tuple[list[OperatorView], list[LeftOut]]:
    """Return the operators that a framework is given, and those that it is not given."""
    taken, left_out = [], []
    for operator in package.view.operators.values():
        reason = framework.refusal(package, operator) if framework.refusal is not None else None
        if reason is None:
            taken.append(operator)
        else:
            left_out.append(LeftOut(name, operator.name, reason))
    return taken, left_out
