"""The declared set of one namespace, as frozen data, and the files that targets make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opwright_codegen.derivatives.derivative import DerivativeSet
from opwright_codegen.kernel_choices.bind import Binding
from opwright_codegen.kernel_choices.dimensions import Cuts
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.records import dataclass, field
from opwright_codegen.source import Source
from opwright_codegen.views.operators import NamespaceView

__all__ = ["DeclaredSet", "Files", "Target", "Template"]


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredSet:
    """Everything that is declared about the operators of one namespace.

    `package` is the name of the package that the output is. `bindings` holds the kernel of each operator and key, in
    schema order. `cuts` holds the dimension rules. `costs` and `references` are by names without the namespace.
    `gradients` are the modules of backward functions, which formulas of `derivatives` name. `sources` holds the files
    that declare something: how generated files show each path. `bindings` and the three fields behind it are empty in a
    set that was declared without its kernels. Comparison is by identity.
    """

    operators: OperatorSet
    view: NamespaceView
    derivatives: DerivativeSet | None
    gradients: KernelModules
    sources: Mapping[str, str]
    bindings: tuple[Binding, ...] = ()
    cuts: Cuts = field(default_factory=lambda: Cuts({}, {}, {}, {}))
    costs: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.view.namespace

    @property
    def all(self) -> Sequence[Operator]:
        """Return all operators: declared ones in the order of the files, made ones after them."""
        return list(self.operators.operators.values())

    @property
    def written(self) -> Sequence[Operator]:
        """Return the operators that have entries, without the variants made of them."""
        return [each for each in self.all if not each.generated]

    @property
    def files(self) -> tuple[Source, ...]:
        """Return the files that declare something, with their texts."""
        return (*self.operators.sources, *(self.derivatives.sources if self.derivatives is not None else ()))

    @property
    def package(self) -> str:
        return self.view.package


@dataclass(frozen=True, slots=True)
class Template:
    """A file that a template makes. `view` holds the operators that its header names the sources of.

    `name` is a file of our templates, or `PACKAGE:FILE` for a file of another package. `context` returns what the
    template shows. It is called when the file is wanted, and returns None if there is no such file. `maker` names the
    binding of another distribution that the file comes from.
    """

    name: str
    view: NamespaceView
    context: Callable[[], Mapping[str, object] | None]
    maker: str = ""


Files = Mapping[str, str | Template]  # by path below the output folder, with slashes
Target = Callable[[DeclaredSet], Files]
