"""The recording of a call: history for results, checks and another history for what is written in place.

Generated Autograd and ADInplaceOrView wrappers call these; so may wrappers written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numpy import ndarray

from opwright.autograd.modes import is_grad_enabled, is_inference, is_inference_mode_enabled
from opwright.autograd.nodes import (
    AccumulateGrad,
    Edge,
    MultipleOutputs,
    Node,
    NoHistory,
    next_sequence,
    node_of,
    number_of,
)
from opwright.autograd.tensor_hooks import retain_grad
from opwright.autograd.views import VIEW_ERRORS, ViewOfBase, WriteToView
from opwright_core.arrays.devices import dtype_of, shape_of
from opwright_core.arrays.dtypes import INEXACT
from opwright_core.arrays.storage import Extra, storage_of
from opwright_core.keys import GRAD, INFERENCE, VIEW
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor
from opwright_core.user_kernels.copies import CopyOfView, check_memory

__all__ = [
    "Kernel", "check_inplace", "check_no_gradient", "check_out", "check_writable", "edges_of", "increment_version",
    "leave_graph", "make_leaf", "mark_view", "mark_views", "move_history", "not_implemented", "rebase_history",
    "record", "record_several", "refresh", "refuse_recording",
]  # fmt: skip

Kernel = Callable[..., Any]


# Note [Histories of views]
# A view requires grad where its base does. What was recorded when it was made is its history for as long as nobody
# writes to the memory: `extra.seen` is the storage's version then. Once that is another one, whoever wrote and whether
# that was recorded, the history is read off the base's anew (`ViewOfBase`), with the layout that the view has by now.
# A view that was made where nothing was recorded, or before its base required grad, has none (`NoHistory`) until then.
# All this is found out when the view is next used: `refresh`.


def edges_of(tensors: Iterable[Tensor | None]) -> tuple[Edge, ...]:
    """Return where the gradients of operands flow."""
    return tuple([None if tensor is None else tensor.edge for tensor in tensors])


def record(result: Tensor, node: Node) -> Tensor:
    """Make a new tensor the only result of a node, whose edges are set; a view notes what history it knows. One that
    cannot have a gradient gets no history."""
    node.sequence = next_sequence()
    node.extra = None
    array = result.array
    is_in_numpy = type(array) is ndarray
    node.shape = array.shape if is_in_numpy else shape_of(array)
    node.dtype = dtype = array.dtype if is_in_numpy else dtype_of(array)
    if dtype not in INEXACT:
        return result
    result.edge = node
    result.keys |= GRAD
    if result.keys & VIEW:
        _note_version(result)
    return result


def record_several(results: Sequence[Tensor | None], node: MultipleOutputs) -> None:
    """Make tensors the results of a node, whose edges are set. Those that cannot have a gradient get none."""
    node.sequence = next_sequence()
    node.extra = None
    node.outputs = [None if result is None else (result.shape, result.dtype, result.device) for result in results]
    for number, result in enumerate(results):
        if result is not None and result.dtype in INEXACT:
            result.edge = node, number
            result.keys |= GRAD
            if result.keys & VIEW:
                _note_version(result)


def _note_version(view: Tensor) -> None:
    extra = view.extra
    if extra is not None and extra.storage is not None:
        extra.seen = extra.storage.version


def mark_view(view: Tensor, creation: str = "") -> Tensor:
    """Note why a recorded call must not write to a view, one of VIEW_ERRORS; found from the modes if not given."""
    extra = view.extra
    if extra is not None and (creation := creation or _creation_of_modes()):
        extra.creation = creation
    return view


def mark_views(views: list[Tensor]) -> list[Tensor]:
    """Mark views that one call returned together: a recorded call must not write to any of them."""
    creation = _creation_of_modes() or "several"
    for view in views:
        mark_view(view, creation)
    return views


def _creation_of_modes() -> str:
    modes = active_modes()
    if modes is None:
        return ""
    return "inference_mode" if modes.include & INFERENCE else "" if modes.mask & GRAD else "no_grad"


def check_writable(tensor: Tensor) -> None:
    """Raise RuntimeError for a tensor that no call may write to, recorded or not: an inference tensor outside of
    inference mode; where calls are recorded, a view made where they were not, of a base that requires grad.
    """
    if tensor.keys & VIEW:
        extra = tensor.extra
        if extra is not None and type(extra.storage) is CopyOfView:
            check_memory(tensor)
        creation = getattr(extra, "creation", "")
        base = None if extra is None else extra.base
        if creation and base is not None and base.edge is not None and is_grad_enabled():
            raise RuntimeError(_view_error(tensor, creation, "is being modified inplace"))
    if is_inference(tensor.keys) and not is_inference_mode_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update."
        )


def increment_version(tensor: Tensor) -> None:
    """Count a write to a tensor. Inference tensors have no count."""
    if not is_inference(tensor.keys):
        storage_of(tensor).version += 1


def check_inplace(tensor: Tensor) -> None:
    """Raise RuntimeError unless a recorded call may write to the tensor: to be asked before it writes."""
    extra = tensor.extra
    base = None if extra is None else extra.base
    if base is not None and extra is not None:
        creation = getattr(extra, "creation", "")
        if creation:
            raise RuntimeError(_view_error(tensor, creation, "is being modified inplace"))
        if tensor.requires_grad and base.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if tensor.requires_grad and tensor.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def check_out(name: str, *tensors: Tensor | None) -> None:
    """Raise RuntimeError where a recorded call has `out=` arguments and a tensor, any of them, requires grad."""
    if any(tensor is not None and tensor.requires_grad for tensor in tensors) and is_grad_enabled():
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )


def check_no_gradient(name: str, argument: str, tensors: Tensor | Sequence[Tensor | None] | None) -> None:
    """Raise NotImplementedError for an argument that requires grad, of an operator that has no formula for it.

    PyTorch raises RuntimeError there, which NotImplementedError is too.
    """
    for tensor in (tensors,) if tensors is None or isinstance(tensors, Tensor) else tensors:
        if tensor is not None and tensor.edge is not None:
            raise NotImplementedError(
                f"{name}(): the derivative for '{argument}' is not implemented. Pass {argument}.detach() where no "
                "gradient with respect to it is wanted."
            )


def not_implemented(name: str, argument: str, reason: str) -> NotImplementedError:
    """Return the error for a gradient without a formula."""
    return NotImplementedError(f"the derivative of {name} with respect to '{argument}' is not implemented: {reason}")


def refuse_recording(name: str, *positions: int) -> Callable[[Kernel], Kernel]:
    """Return the wrapper of a variant with `out=`: none of the tensors at these positions may require grad."""

    def make(below: Kernel) -> Kernel:
        def kernel(*args: Any) -> Any:
            for position in positions:
                value = args[position]
                check_out(name, *(value if isinstance(value, list) else (value,)))
            return below(*args)

        return kernel

    return make


def _view_error(view: Tensor, creation: str, what: str) -> str:
    if creation in ("custom_function", "several"):
        made = "" if view.edge is None else f"Output {number_of(view.edge)} of {node_of(view.edge).name()} "
        return f"{made}is a view and {what}. {VIEW_ERRORS[creation]}"
    return f"{VIEW_ERRORS[creation]} and {what} in normal mode with grad mode enabled. Given that this use case is " + (
        "ambiguous and error-prone, it is forbidden. Move both the view and the inplace either inside the block, or "
        "outside of it."
    )


def rebase_history(tensor: Tensor, node: Node) -> Tensor:
    """Make a tensor that was written in place the result of a node, whose first edge is the tensor's own before.

    Of a view it is the base that gets another history; this view and the others follow when they are next used.
    """
    node.sequence = next_sequence()
    node.extra = None
    node.shape = shape_of(tensor.array)
    node.dtype = dtype = tensor.dtype
    if dtype not in INEXACT:
        return tensor
    extra = tensor.extra
    if extra is not None and extra.base is not None:
        base = extra.base
        if base.keys & VIEW:
            refresh(base)
        write = WriteToView.of(tensor, base, node)
        old = base.edge
        base.edge = write
        base.keys |= GRAD
        _move_retained(base, old)
        old = tensor.edge
        record(tensor, ViewOfBase.after(write))
        _move_retained(tensor, old)
        return tensor
    old = tensor.edge
    tensor.edge = node
    tensor.keys |= GRAD
    _move_retained(tensor, old)
    return tensor


def move_history(tensor: Tensor, node: Node) -> Tensor:
    """Move the history of a tensor that became another view of its memory: nothing was written, the base of a view
    keeps its history."""
    extra = tensor.extra
    if extra is None or extra.base is None:
        return rebase_history(tensor, node)
    old = tensor.edge
    record(tensor, node)
    _move_retained(tensor, old)
    return tensor


def refresh(view: Tensor) -> None:
    """Regenerate the grad_fn of a view whose memory was written to since (Note [Histories of views]).

    Raises RuntimeError for a view made in a block in which nothing was recorded, whose memory was written to since.
    """
    extra = view.extra
    if extra is None or extra.base is None or extra.storage is None:
        return
    edge = view.edge
    base = extra.base
    if extra.storage.version == extra.seen or base.edge is edge is None:
        if edge is None and base.edge is not None and view.dtype in INEXACT and not is_inference(view.keys):
            view.edge = NoHistory(view)
            view.keys |= GRAD
        elif type(edge) is NoHistory and base.edge is None:
            leave_graph(view)
        return
    if base.edge is None and type(edge) in (AccumulateGrad, NoHistory):
        if type(edge) is NoHistory:
            leave_graph(view)
        return
    creation = getattr(extra, "creation", "")
    if creation:
        raise RuntimeError(
            _view_error(view, creation, "its base or another view of its base has been modified inplace")
        )
    if view.dtype in INEXACT:
        _renew(view, base)


def _renew(view: Tensor, base: Tensor) -> None:
    """Read the history of a view off its base's."""
    old = view.edge
    record(view, ViewOfBase.of(view, base))
    _move_retained(view, old)


def _move_retained(tensor: Tensor, old: Edge) -> None:
    """Move `retain_grad` of a tensor to its new node; hooks stay with the old one."""
    if old is None or (extra := node_of(old).extra) is None:
        return
    kept = extra.retained.get(number_of(old))
    if kept is not None and kept() is tensor:
        del extra.retained[number_of(old)]
        retain_grad(tensor)


def make_leaf(tensor: Tensor) -> None:
    """Have the gradient of a tensor that has no history end in it: where it did before, if it ever did."""
    if type(tensor.edge) is AccumulateGrad:
        return
    leaf = None if tensor.extra is None else getattr(tensor.extra, "leaf", None)
    if leaf is None:
        leaf = AccumulateGrad(tensor)
    else:
        leaf.retarget(tensor)
    tensor.edge = leaf
    tensor.keys |= GRAD


def leave_graph(tensor: Tensor) -> None:
    """Take the history from a tensor. A leaf's is kept for the day when it requires grad again."""
    if type(tensor.edge) is AccumulateGrad:
        if tensor.extra is None:
            tensor.extra = Extra()
        tensor.extra.leaf = tensor.edge
    tensor.edge = None
    tensor.keys &= ~GRAD
