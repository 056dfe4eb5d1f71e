"""Declarations of an operator by which tensors and plain arrays go together.

Note [Tensors and arrays in one call]
A call gives a Tensor if one of its arguments is a Tensor, and an array if all are arrays. `A` says "all of one kind".
Calls of both kinds have a declaration for each position where the first Tensor may stand: arrays before it, anything
behind it. So no two declarations fit one call; where two do, and an argument's type mentions `Any` as that of arrays
does, checkers give up and say `Any`. What is written to is what returns, so its kind alone decides, in one declaration.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.records import dataclass
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.operators import OperatorView, Parameter

__all__ = ["ANY_KIND", "ARRAY", "ONE_KIND", "TensorKinds", "kinds_of"]

ONE_KIND = "A"
ARRAY = "NDArray[Any]"
ANY_KIND = "TensorLike"
_TENSOR = "Tensor"
_DECIDING = (Tensors.ONE, Tensors.LIST, Tensors.LIST_OF_OPTIONAL)


@dataclass(frozen=True, slots=True)
class TensorKinds:
    """One declaration: the annotation of tensors in each parameter, and in what returns; the parameter `given` is not
    left out, though it may be elsewhere."""

    parameters: tuple[str, ...]
    returned: str
    given: int | None = None


def kinds_of(view: OperatorView) -> tuple[TensorKinds, ...]:
    """Return the declarations of an operator: the one that most calls mean first."""
    parameters = view.parameters
    if not any(p.tensors in _DECIDING for p in parameters):
        return (_all(parameters, _TENSOR),)
    if not any(r.type.is_tensor_like for r in view.schema.returns):
        return (_all(parameters, ANY_KIND),)
    if any(p.argument.is_write for p in parameters) and all(r.is_write for r in view.schema.returns):
        written = tuple([ONE_KIND if p.argument.is_write else ANY_KIND for p in parameters])
        return (TensorKinds(written, ONE_KIND),)
    positions = [i for i, p in enumerate(parameters) if p.tensors is not Tensors.NONE]
    mixed = [_first_tensor(parameters, position) for position in positions] if len(positions) > 1 else []
    return (_all(parameters, ONE_KIND), *mixed)


def _all(parameters: Sequence[Parameter], kind: str) -> TensorKinds:
    return TensorKinds((kind,) * len(parameters), kind)


def _first_tensor(parameters: Sequence[Parameter], position: int) -> TensorKinds:
    """Return the declaration of calls whose first Tensor stands at `position`."""
    kinds = [ARRAY if i < position else _TENSOR if i == position else ANY_KIND for i in range(len(parameters))]
    return TensorKinds(tuple(kinds), _TENSOR, position)
