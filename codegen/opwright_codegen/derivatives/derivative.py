"""Derivatives as frozen data: which formula gives the gradient of what, and what it needs for that."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import Formula
from opwright_codegen.read.model import Operator
from opwright_codegen.records import dataclass, field
from opwright_codegen.source import Source, Span, Text

__all__ = [
    "DEFAULT_KEY", "Derivative", "DerivativeSet", "Differentiability", "ForwardDerivative", "ForwardKind", "Saved",
]  # fmt: skip

DEFAULT_KEY = "Default"


@dataclass(frozen=True, slots=True)
class Saved:
    """A value that a formula needs again in the backward pass: an argument or a result whole, or one fact about it.

    `name` is unique among all that the operator saves. `fact` is None for the thing itself; else what is computed when
    the operator is called, after which the tensor is not needed: `self.shape`, `self.shape[dim]`, `self.dtype`.
    In a formula outside our language `fact` is its text.
    """

    name: str
    of: str
    fact: Formula | str | None = None


@dataclass(frozen=True, slots=True)
class Derivative:
    """The gradients of some inputs, by one formula.

    `formula` is resolved, with a Reference of kind SAVED for each fact that is saved; None where the text is outside
    our language. `gradients` are positions of outputs whose gradients the formula uses, among all outputs, and
    `gradient_names` what it calls them: `grad`, `grads`, `grad_NAME`. `reason` is set where the gradient is declared
    as not implemented.
    """

    inputs: tuple[str, ...]
    text: Text
    formula: Formula | None
    saved_inputs: tuple[Saved, ...] = ()
    saved_outputs: tuple[Saved, ...] = ()
    gradients: tuple[int, ...] = ()
    gradient_names: frozenset[str] = frozenset()
    uses_mask: bool = False
    reason: str | None = None


class ForwardKind(Enum):
    """The source of a forward formula."""

    WRITTEN = "written"
    LINEAR = "auto_linear"  # the operator itself, on tangents
    ELEMENT_WISE = "auto_element_wise"  # the backward formula, since the Jacobian is diagonal


@dataclass(frozen=True, slots=True)
class ForwardDerivative:
    """The tangents of some outputs. `tangents` and `primals` are the inputs whose `_t` and `_p` the formula uses."""

    outputs: tuple[str, ...]
    text: Text
    kind: ForwardKind
    formula: Formula | None
    tangents: tuple[str, ...] = ()
    primals: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Differentiability:
    """The derivatives of one operator under one key.

    `differentiable_outputs` are positions; with a `condition` (a text, for the one output) it depends on the call.
    """

    operator: Operator
    key: str
    location: Span = field(compare=False, repr=False)
    derivatives: tuple[Derivative, ...] = ()
    forward: tuple[ForwardDerivative, ...] = ()
    non_differentiable: tuple[str, ...] = ()
    output_differentiability: tuple[bool, ...] | None = None
    condition: Text | None = None
    differentiable_outputs: tuple[int, ...] = ()

    @property
    def differentiable_inputs(self) -> tuple[str, ...]:
        """Return the arguments with a formula, in the order of the schema."""
        given = {name for derivative in self.derivatives for name in derivative.inputs}
        return tuple(argument.name for argument in self.operator.schema.arguments if argument.name in given)

    @property
    def saved_inputs(self) -> tuple[Saved, ...]:
        """Return what all formulas together save of the arguments, each once."""
        return tuple({saved.name: saved for d in self.derivatives for saved in d.saved_inputs}.values())

    @property
    def saved_outputs(self) -> tuple[Saved, ...]:
        """Return what all formulas together save of the results, each once."""
        return tuple({saved.name: saved for d in self.derivatives for saved in d.saved_outputs}.values())


@dataclass(frozen=True, slots=True)
class DerivativeSet:
    """The derivatives of all operators: by qualified name, and there by key (`Default` for all others). Entries of a
    file of PyTorch may be `left_out`, each for a reason."""

    entries: Mapping[str, Mapping[str, Differentiability]]
    sources: tuple[Source, ...] = field(default=(), compare=False, repr=False)
    left_out: tuple[SchemaError, ...] = field(default=(), compare=False, repr=False)

    def find(self, operator: str, key: str = DEFAULT_KEY) -> Differentiability | None:
        """Return what is declared for the operator under `key`, else by default; None where there is nothing."""
        found = self.entries.get(operator, {})
        return found.get(key, found.get(DEFAULT_KEY))
