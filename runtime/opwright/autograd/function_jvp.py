"""`Function.jvp`: the tangents of a Function's outputs, from those of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opwright.autograd.modes import without_recording
from opwright.autograd.nodes import node_of, number_of
from opwright.autograd.saved import note_tangent
from opwright.autograd.tangents import (
    Level,
    Tangent,
    check_fit,
    current_cell,
    ignoring_tangents,
    may_have_tangent,
    new_tangent,
    set_tangent,
    write_tangent,
)
from opwright.namespaces import aten
from opwright_core.arrays.storage import storage_of
from opwright_core.state import Modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.autograd.function import FunctionCtx

__all__ = ["cells_of", "give_tangents", "without_tangents_or_grad"]

Cells = Sequence[Tangent | None]


class without_tangents_or_grad(ignoring_tangents):
    """A block, `forward` of a Function within a level, in which nothing is recorded and nothing looks at tangents."""

    __slots__ = ()

    def _modes(self, outer: Modes | None) -> Modes | None:
        return super()._modes(without_recording(outer))


def cells_of(function: Any, inputs: Sequence[Any]) -> Cells | None:
    """Return the inputs' tangents, None where there are none. Raises NotImplementedError where there is no jvp."""
    from opwright.autograd.function import Function

    cells = [current_cell(value) if isinstance(value, Tensor) else None for value in inputs]
    position = next((position for position, cell in enumerate(cells) if cell is not None), None)
    if position is None:
        return None
    if function.jvp is Function.jvp:
        raise NotImplementedError(
            f"{function.__name__} has no jvp, and its input {position} has a tangent: You must implement the jvp "
            "function for custom autograd.Function to use it with forward mode AD."
        )
    return cells


def give_tangents(ctx: FunctionCtx, inputs: Sequence[Any], cells: Cells, outputs: Sequence[Any]) -> None:
    """Call `jvp`, and give the outputs the tangents that it returns. Raises RuntimeError for those that do not fit."""
    level = next(cell.level for cell in cells if cell is not None)
    with ignoring_tangents():
        given = [_given(ctx, *pair) for pair in zip(inputs, cells, strict=True)]
        versions = [None if each is None else storage_of(each).version for each in given]
        found = ctx.call_jvp(given)
        values = found if isinstance(found, tuple) else (found,)
        if len(values) != len(outputs):
            raise RuntimeError(
                f"{ctx.function.__name__}.jvp returned {len(values)} tangents, but its forward has {len(outputs)} "
                "outputs: return one for each, None for those that have none"
            )
        taken = tuple(each for each in given if each is not None)
        for number, (output, value) in enumerate(zip(outputs, values, strict=True)):
            _give(ctx, inputs, cells, given, versions, number, output, value, level, taken)


def _given(ctx: FunctionCtx, value: Any, cell: Tangent | None) -> Tensor | None:
    """Return what `jvp` gets for an input."""
    if cell is not None:
        return cell.value
    if not ctx.materialize_grads or not may_have_tangent(value):
        return None
    zeros: Tensor = aten["zeros_like.default"](value.detach())
    return zeros


def _give(
    ctx: FunctionCtx, inputs: Sequence[Any], cells: Cells, given: Sequence[Any], versions: Sequence[int | None],
    number: int, output: Any, value: Any, level: Level, taken: tuple[Tensor, ...],
) -> None:  # fmt: skip
    where = f"{ctx.function.__name__}.jvp"
    if not may_have_tangent(output) or number in ctx.without_gradient:
        if value is not None:
            raise RuntimeError(
                f"{where} returned a tangent at position {number}, but output {number} of forward is not "
                "differentiable: return None there"
            )
        return
    if not isinstance(value, Tensor):
        raise RuntimeError(
            f"{where} must return a Tensor for output {number}, zeros if it does not change, but returned "
            f"{type(value).__name__}"
        )
    check_fit(output, value)
    position = next((position for position, each in enumerate(inputs) if each is output), None)
    if position is not None:
        if cells[position] is not None and (
            value is not given[position] or storage_of(value).version == versions[position]
        ):
            raise RuntimeError(
                f"forward of {ctx.function.__name__} writes to input {position} in place, so its jvp must write to "
                "that input's tangent in place, too, and return it"
            )
        if cells[position] is None:
            write_tangent(output, value, level)
    elif output._base is not None and _is_of_dual(output, inputs, cells):
        if value._base is None:
            raise RuntimeError(
                f"forward of {ctx.function.__name__} returns a view, or an input as it is, so its jvp must return a "
                "view of the tangent"
            )
        set_tangent(output, value, level)
    else:
        set_tangent(output, new_tangent(value, output, taken), level)
    if output.edge is not None:
        note_tangent(output, node_of(output.edge), number_of(output.edge))


def _is_of_dual(view: Tensor, inputs: Sequence[Any], cells: Cells) -> bool:
    """Whether an output is a view of an input that has a tangent."""
    return any(
        cell is not None and (value is view._base or value._base is view._base)
        for value, cell in zip(inputs, cells, strict=True)
    )
