"""`backward` and `grad`: what a caller hands to the engine, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.autograd import batched, compiled, engine
from opwright.autograd.final_callbacks import call_from, queue
from opwright.autograd.gradients import ones_like
from opwright.autograd.multi_grad_hooks import GradientEdge, edge_of
from opwright.autograd.nodes import Edge, Node, NoHistory
from opwright.namespaces import aten
from opwright_core.arrays.devices import shape_of
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, dtype_name
from opwright_core.keys import GRAD, VIEW
from opwright_core.tensors.tensor import Tensor

__all__ = ["backward", "find", "grad", "root_of", "targets_of"]

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
Gradients = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` with respect to the leaves of their graph to the `grad` of each leaf.

    `grad_tensors` holds the gradient of each of `tensors`; it may be left out, or None, for scalars. The graph is freed
    unless `retain_graph`, which is as `create_graph` if not given; with `create_graph` the gradients can be
    differentiated too. With `inputs` only these tensors' `grad` are added to. Raises RuntimeError for a tensor without
    a graph, a gradient that is missing or does not fit, a graph that was freed, a saved tensor that was written to.
    """
    keep = create_graph if retain_graph is None else retain_graph
    callbacks = queue.callbacks
    start = len(callbacks)
    try:
        if inputs is not None or create_graph or not compiled.run(tensors, grad_tensors, keep):
            _accumulate(tensors, grad_tensors, keep, create_graph, inputs)
        if len(callbacks) > start:
            call_from(callbacks, start)
    except BaseException:
        del callbacks[start:]
        raise


def _accumulate(
    tensors: Tensors, grad_tensors: Gradients, keep: bool, create_graph: bool, inputs: Tensors | None
) -> None:
    """Run a pass of `backward` that the compiled core does not run."""
    if isinstance(tensors, Tensor) and (grad_tensors is None or isinstance(grad_tensors, Tensor)):
        roots = [root_of(0, tensors, grad_tensors)]
    else:
        roots = _roots(_as_tuple(tensors), grad_tensors)
    if inputs is None:
        engine.run(roots, keep_graph=keep, create_graph=create_graph)
        return
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to backward cannot be empty.")
    for tensor in wanted:
        if isinstance(tensor, Tensor) and tensor.requires_grad and not tensor.is_leaf:
            tensor.retain_grad()
    engine.run(roots, keep_graph=keep, create_graph=create_graph, targets=targets_of(wanted), accumulates=True)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of the sum of `outputs` with respect to each of `inputs`; no `grad` changes.

    `grad_outputs`, `retain_graph`, `create_graph` as in `backward`. An input that the outputs do not depend on is an
    error, unless `allow_unused`, where its gradient is None, or `materialize_grads`, where it is zeros. With
    `is_grads_batched` each of `grad_outputs` is a stack of gradients, and each result the stack of theirs.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    keep = create_graph if retain_graph is None else retain_graph
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to grad cannot be empty: name the tensors to differentiate by")
    targets = targets_of(wanted)
    if is_grads_batched:
        found = _find_batched(roots, grad_outputs, targets, keep, create_graph)
    else:
        found = find(_roots(roots, grad_outputs), targets, keep, create_graph)
    for index, (tensor, value) in enumerate(zip(wanted, found, strict=True)):
        if value is not None:
            continue
        if materialize_grads:
            found[index] = aten["zeros_like.default"](tensor.detach()).requires_grad_(create_graph)
        elif not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(found)


def find(
    roots: Sequence[engine.Root],
    targets: list[Edge],
    keep_graph: bool,
    create_graph: bool | None,
    needed: set[Node] | None = None,
) -> list[Any]:
    """Return the gradients of the targets, None for those that nothing flows to: `engine.run`, and then what was queued
    for the end of the pass."""
    callbacks = queue.callbacks
    start = len(callbacks)
    try:
        found = engine.run(roots, keep_graph=keep_graph, create_graph=create_graph, targets=targets, needed=needed)
        if len(callbacks) > start:
            call_from(callbacks, start)
    except BaseException:
        del callbacks[start:]
        raise
    return found


def _find_batched(
    roots: tuple[Tensor, ...], grads: Gradients, targets: list[Edge], keep_graph: bool, create_graph: bool
) -> list[Any]:
    """Return the gradients of the targets for each sample of a batch, stacked."""

    def backward(sample: Sequence[Tensor | None]) -> list[Any]:
        return find(_roots(roots, sample), targets, keep_graph, create_graph)

    return batched.run(backward, roots, _given(roots, grads))


def _as_tuple(tensors: Tensors) -> tuple[Any, ...]:
    found: tuple[Any, ...] = (tensors,) if isinstance(tensors, Tensor | GradientEdge) else tuple(tensors)
    for tensor in found:
        if not isinstance(tensor, Tensor | GradientEdge):
            raise TypeError(f"expected a Tensor or a sequence of them, but got one of {type(tensor).__name__}")
    return found


def _roots(tensors: tuple[Tensor, ...], grads: Gradients) -> list[tuple[Edge, Tensor]]:
    return [root_of(index, *pair) for index, pair in enumerate(zip(tensors, _given(tensors, grads), strict=True))]


def _given(tensors: tuple[Tensor, ...], grads: Gradients) -> Sequence[Tensor | None]:
    """Return a gradient, or None, for each tensor. Raises RuntimeError, TypeError."""
    given: Sequence[Tensor | None]
    if grads is None or isinstance(grads, Tensor):
        given = (None,) * len(tensors) if grads is None else (grads,)
    else:
        given = tuple(grads)
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    for gradient in given:
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    return given


def root_of(
    index: int, tensor: Tensor | GradientEdge, gradient: Tensor | None, like: Tensor | None = None
) -> engine.Root:
    """Return the edge of the `index`th root of a pass, with its gradient; if none is given, with ones `like` a tensor,
    else like the scalar itself. Raises RuntimeError where there is no graph, or the gradient does not fit."""
    if isinstance(tensor, GradientEdge):
        if gradient is None:
            raise RuntimeError(f"element {index} is a GradientEdge, whose gradient must be given")
        return edge_of(tensor), gradient
    if gradient is None:
        _check_recorded(index, tensor)
        if tensor.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if tensor.dtype not in FLOATING:
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {dtype_name(tensor.dtype)}"
            )
        return tensor.edge, ones_like(tensor if like is None else like)
    if shape_of(gradient.array) != shape_of(tensor.array):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {list(gradient.shape)} and output[{index}] has a "
            f"shape of {list(tensor.shape)}."
        )
    if gradient.dtype is not tensor.dtype and (gradient.dtype in COMPLEX) != (tensor.dtype in COMPLEX):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {dtype_name(gradient.dtype)} and output[{index}] has a dtype of "
            f"{dtype_name(tensor.dtype)}."
        )
    _check_recorded(index, tensor)
    return tensor.edge, gradient


def _check_recorded(index: int, tensor: Tensor) -> None:
    if tensor.keys & (GRAD | VIEW) == GRAD:
        return
    if not tensor.requires_grad or type(tensor.edge) is NoHistory:
        raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")


def targets_of(tensors: Sequence[Tensor | GradientEdge]) -> list[Edge]:
    """Return where the gradients of tensors flow. Raises RuntimeError for one that does not require grad."""
    for tensor in tensors:
        if isinstance(tensor, Tensor) and not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    return [_target(tensor) for tensor in tensors]


def _target(tensor: Tensor | GradientEdge) -> Edge:
    if isinstance(tensor, GradientEdge):
        return edge_of(tensor)
    # (a view without history is used nowhere)
    return NoHistory(tensor) if type(tensor.edge) is NoHistory else tensor.edge
