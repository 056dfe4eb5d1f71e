"""The row of each operator in the table of families: how it is batched, cut into blocks, and sharded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.kernel_choices.bind import Binding
from opwright_codegen.kernel_choices.blocks import blocks
from opwright_codegen.kernel_choices.composed import with_composed
from opwright_codegen.kernel_choices.family_calls import Family, Value
from opwright_codegen.kernel_choices.shardings import Sharding, linear_groups, sharding_of
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.records import replace
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.views.operators import NamespaceView

__all__ = ["Cuts", "cuts_of"]


class Cuts:
    """The families of all operators: `composed` with those that follow from parts, `blocks` as blocks are cut;
    `shardings` are the rules that are written. `rows` has the row of each operator."""

    def __init__(
        self,
        composed: Mapping[str, Family],
        blocks: Mapping[str, Family],
        shardings: Mapping[str, Sharding],
        rows: Mapping[str, Family],
    ) -> None:
        self.composed = composed
        self.blocks = blocks
        self.shardings = shardings
        self.rows = rows


def cuts_of(
    view: NamespaceView,
    operators: OperatorSet,
    bindings: Sequence[Binding],
    families: Mapping[str, Family],
    kernels: KernelModules,
) -> Cuts:
    """Return what is said of dimensions, given the families of batching rules. Raises SchemaErrors."""
    composed = with_composed(view, bindings, families)
    cut = with_composed(view, bindings, blocks(operators, bindings, composed))
    errors = Errors()
    shardings: dict[str, Sharding] = {}
    linear: dict[str, tuple[tuple[int, ...], ...]] = {}
    for operator in operators.operators.values():
        dims = operator.dims
        if dims is None or not (dims.is_ruled or dims.kinds or dims.linear is not None):
            continue
        about = _functional(operator, operators)
        if about is None:
            message = f"{operator.name} writes to its arguments: its parts could not be put together"
            errors.add(SchemaError("dims-writes", message, dims.text.span, "write it for the operator that returns"))
            continue
        try:
            shardings[about.name] = sharding_of(about.schema, dims, kernels)
            linear[about.name] = linear_groups(about.schema, dims)
        except SchemaError as error:
            errors.add(error)
    errors.raise_if_any()
    rows = {
        name: row
        for name in view.operators
        if (row := _row(families.get(name), cut.get(name), shardings.get(name), linear.get(name, ()))) is not None
    }
    return Cuts(composed, cut, shardings, rows)


def _functional(operator: Operator, operators: OperatorSet) -> Operator | None:
    """Return the operator whose dimensions an entry says: its own, or that which returns what it writes, by
    `autogen`."""
    names = [operator.name, *[f"{operator.namespace}::{name}" for name in operator.autogen]]
    found = [operators.operators[name] for name in names if name in operators.operators]
    return next((each for each in found if each.kind is SchemaKind.FUNCTIONAL), None)


def _row(
    batch: Family | None, cut: Family | None, sharding: Sharding | None, linear: tuple[tuple[int, ...], ...]
) -> Family | None:
    """Return the row of an operator: its family, where that says all; None where nothing is said."""
    is_same = cut is None or cut == batch
    if sharding is None and not linear:
        if is_same:
            return batch
        if cut is not None and batch == replace(cut, keywords=tuple(k for k in cut.keywords if k[0] != "combines")):
            return cut
    said: list[tuple[str, Value]] = [] if is_same or cut is None else [("blocks", cut)]
    if sharding is not None:
        said += [(key, text) for key, text in (("sharding", sharding.rule), ("whole", sharding.whole)) if text]
    if linear:
        said.append(("linear", linear))
    return Family("Dimensions", () if batch is None else (batch,), tuple(said))
