"""Rows of `autograd.py` that say by which class of nodes calls of an operator are recorded, and of which variant."""

from __future__ import annotations

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.views.layout import bracketed, fill_comment, quoted
from opwright_codegen.views.operators import OperatorView

__all__ = ["Refusal", "recorder_row", "refusal"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The row of a variant with `out=`, which cannot be recorded, of an operator without a class of nodes."""

    comment: str
    row: str


def recorder_row(schema: FunctionSchema, name: str, node: str) -> str:
    """Return `exp_ = inplace_recorder(ExpBackward0)`."""
    if schema.kind is SchemaKind.INPLACE:
        return f"{name} = inplace_recorder({node})"
    return f"{name} = {'out_recorder' if schema.kind is SchemaKind.OUT else 'recorder'}({node})"


def refusal(view: OperatorView, name: str) -> Refusal:
    """Return the row of a variant with `out=` of which no tensor may require grad."""
    outputs = view.schema.out_arguments
    positions = [
        str(position)
        for position, argument in enumerate(view.schema.arguments)
        if argument.type.is_tensor_like or argument in outputs
    ]
    row = bracketed(f"{name} = refuse_recording(", [quoted(view.schema.name.base), *positions], ")", 0)
    return Refusal(fill_comment(view.declaration), row)
