"""The outputs of a call of a Function: history, views, writes, and what is saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opwright.autograd import anomaly, creations
from opwright.autograd.nodes import Node, next_sequence
from opwright.autograd.recording import check_inplace, check_writable, increment_version, mark_view, rebase_history
from opwright.autograd.saved import Saved, save, save_result
from opwright.autograd.views import ViewOfBase
from opwright_core.arrays.dtypes import INEXACT
from opwright_core.keys import GRAD, VIEW
from opwright_core.tensors.tensor import Tensor, wrap_view

if TYPE_CHECKING:
    from opwright.autograd.function import FunctionCtx

__all__ = ["NOTHING", "finish", "is_returned"]

NOTHING = object()  # stands for a None that was saved


def finish(ctx: FunctionCtx, inputs: Sequence[Any], outputs: list[Any], is_recorded: bool) -> list[Any]:
    """Give the outputs their history, and keep what is to be saved."""
    _check_dirty(ctx, outputs)
    for tensor in ctx._dirty:
        if is_recorded:
            _check_dirty_leaf(tensor)
        check_writable(tensor)
        increment_version(tensor)
    if is_recorded:
        ctx.sequence = next_sequence()
        ctx.edges = tuple(value.edge if isinstance(value, Tensor) else None for value in inputs)
        ctx._is_tensor = tuple(isinstance(value, Tensor) for value in inputs)
        ctx.outputs = ctx.zeros_like = [
            (each.shape, each.dtype, each.device) if isinstance(each, Tensor) else None for each in outputs
        ]  # fmt: skip
        if anomaly.is_on():
            anomaly.note(ctx)
    given = {id(value) for value in inputs if isinstance(value, Tensor)}
    results = [_result(ctx, number, each, given, is_recorded, len(outputs)) for number, each in enumerate(outputs)]
    if ctx._grad_dtypes is not None and is_recorded:
        _check_declared(ctx, ctx._grad_dtypes)
    _keep(ctx, outputs, results, is_recorded)
    if without := ctx._non_differentiable:
        ctx.without_gradient = frozenset(n for n, each in enumerate(outputs) if any(each is one for one in without))
    ctx._dirty = ctx._non_differentiable = ctx._to_save = ()
    if is_recorded and creations.are_watched():
        creations.announce((ctx,))
    return results


def _check_declared(ctx: FunctionCtx, dtypes: Sequence[Any]) -> None:
    """Raise RuntimeError unless there is a declaration for each output, and a dtype for what has a gradient alone."""
    if len(dtypes) != len(ctx.outputs):
        raise RuntimeError(
            "set_output_grad_dtype expected the number of declarations to match the number of outputs: the Function "
            f"returned {len(ctx.outputs)} values but {len(dtypes)} declarations were provided"
        )
    for number, (dtype, output) in enumerate(zip(dtypes, ctx.outputs, strict=True)):
        if dtype is not None and output is None:
            raise RuntimeError(
                f"set_output_grad_dtype: got a concrete dtype for output {number}, but that output is not a "
                "differentiable tensor (it is a non-tensor, was marked non-differentiable, or has a non-differentiable "
                f"dtype). Pass None for output {number} instead."
            )


def _check_dirty(ctx: FunctionCtx, outputs: Sequence[Any]) -> None:
    returned = {id(each) for each in outputs}
    if any(id(tensor) not in returned for tensor in ctx._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )


def _check_dirty_leaf(tensor: Tensor) -> None:
    if tensor.edge is not None and tensor.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    check_inplace(tensor)


def _result(
    ctx: FunctionCtx, number: int, output: Any, given: set[int], is_recorded: bool, count: int
) -> Any:  # fmt: skip
    if not isinstance(output, Tensor):
        return output
    is_dirty = any(output is tensor for tensor in ctx._dirty)
    is_input = id(output) in given
    if any(output is tensor for tensor in ctx._non_differentiable) or output.dtype not in INEXACT:
        ctx.outputs = [None if position == number else each for position, each in enumerate(ctx.outputs)]
        if is_input and output.edge is not None and not is_dirty:
            return output.detach()
        return output
    if is_dirty:
        return _rebased(ctx, number, output, count) if is_recorded else output
    if is_input:
        if is_recorded and ctx.has_setup and any(output is tensor for tensor in ctx._to_save):
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if "
                "you override setup_context(). You should return and save a view of the input instead, e.g. with "
                "x.view_as(x) or setup ctx inside the forward function itself."
            )
        output = wrap_view(output, output.array)
        mark_view(output, "custom_function")
    if is_recorded:
        output.edge = ctx, number
        output.keys |= GRAD
        if output.keys & VIEW:
            mark_view(output, "several" if count > 1 else "custom_function")
    return output


def is_returned(result: Tensor, value: Tensor) -> bool:
    """Return whether a result is an input that a Function wrote to, or returned as it is."""
    if result is value:
        return True
    return result.array is value.array and getattr(result.extra, "creation", "") == "custom_function"


def _rebased(ctx: FunctionCtx, number: int, output: Tensor, count: int) -> Tensor:
    extra = output.extra
    if extra is None or extra.base is None:
        output.edge = ctx, number
        output.keys |= GRAD
        return output
    if count > 1:
        raise RuntimeError(
            "If your Function modifies a Tensor inplace that is a view, it must return that Tensor alone: gradients of "
            "several outputs cannot be put into the history of the view's base"
        )
    return rebase_history(output, _WriteByFunction(ctx, output))


class _WriteByFunction(Node):
    """A Function that wrote to a view, as a node of one output: the base's history holds it."""

    __slots__ = ("ctx",)
    saved = ("ctx",)

    def __init__(self, ctx: FunctionCtx, view: Tensor) -> None:
        self.ctx: FunctionCtx = ctx
        position = next(index for index, edge in enumerate(ctx.edges) if edge is view.edge) if view.edge else 0
        self.edges = (ctx.edges[position], *ctx.edges[:position], *ctx.edges[position + 1 :])

    def name(self) -> str:
        """Return the Function's name."""
        return self.ctx.name()

    def release(self) -> None:
        """Free what the Function saved."""
        self.ctx.release()

    def apply(self, grad: Any) -> Sequence[Any]:
        """Return the gradients, that of the view first."""
        results = list(self.ctx.apply(grad))
        position = next(index for index, edge in enumerate(self.ctx.edges) if edge is self.edges[0])
        return (results.pop(position), *results)


def _keep(ctx: FunctionCtx, outputs: Sequence[Any], results: Sequence[Any], is_recorded: bool) -> None:
    """Save what `save_for_backward` named: outputs without their edge, which leads to the context and would make a
    cycle; that of a view written to does so by the history of its base."""
    saved: list[Saved] = []
    for tensor in ctx._to_save:
        if tensor is None:
            saved.append(NOTHING)
            continue
        if not isinstance(tensor, Tensor):
            if not is_recorded:
                continue  # as in PyTorch: nobody asks for it
            raise TypeError(
                f"save_for_backward can only save variables, but argument is of type {type(tensor).__name__}: keep "
                "what is no Tensor as an attribute, ctx.name = value"
            )
        number = next((position for position, each in enumerate(outputs) if each is tensor), None)
        edge = None if number is None else results[number].edge
        is_own = isinstance(edge, ViewOfBase) if type(edge) is not tuple else edge[0] is ctx
        if is_recorded and is_own and number is not None:
            saved.append(save_result(results[number], number))
        else:
            saved.append(save(tensor) if is_recorded else (tensor, tensor._version if not tensor.is_inference() else 0))
    ctx._saved = tuple(saved)
