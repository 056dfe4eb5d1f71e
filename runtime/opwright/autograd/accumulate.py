"""Gradients of leaves: their hooks are called, then the gradient is stored, or added to an earlier one.

Note [Ownership of gradients]
A leaf may keep a gradient as its `.grad` only if nothing else can reach it: the next pass adds to `.grad` in place. A
program reaches gradients through its own backward functions, hooks, kernels, modes and frames, and Python code cannot
rule all of these out. A count of references that Python reads is no answer: from 3.14 on the interpreter pushes some
references without counting them. So the Python copies every first gradient. The compiled core owns the reference that
it took out of the pass, and to an owner the count is exact: a frame that still uses the object holds a counted
reference in a variable. If the owner's reference is the only one, the leaf gets the gradient itself.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final

import numpy as np

from opwright.autograd.collecting import track_nodes
from opwright.autograd.gradients import add
from opwright.autograd.hooks import call_post_accumulate_hooks
from opwright.autograd.modes import is_grad_enabled
from opwright.autograd.nodes import AccumulateGrad
from opwright.autograd.quick import is_array_alone
from opwright.autograd.recording import increment_version
from opwright.context_managers.fork_locks import ForkLock
from opwright.namespaces import aten
from opwright_core.arrays.devices import shape_of
from opwright_core.arrays.layouts import Shape, contiguous_strides, is_dense
from opwright_core.arrays.storage import Extra
from opwright_core.core import fast
from opwright_core.keys import GRAD, NONDENSE, VIEW, WATCHED
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["accumulate", "accumulate_from"]

_renewing: Final = ForkLock()


def _renew_lock(leaf: AccumulateGrad) -> None:
    """Give a leaf a new lock: it is older than this process, and a thread of the parent may have held it."""
    with _renewing.lock:
        if leaf.forks != AccumulateGrad.all_forks:
            leaf.lock = threading.RLock()
            leaf.forks = AccumulateGrad.all_forks


def _count_fork() -> None:
    AccumulateGrad.all_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)  # leaves are many: no list of them is kept


def accumulate_from(leaves: dict[AccumulateGrad, Any], leaf: AccumulateGrad) -> Any:
    """Take the gradient of a leaf out of a pass, accumulate it and return it. If the pass alone held it, the leaf may
    keep it."""
    if fast is not None:
        return fast.accumulate_from(leaves, leaf, accumulate)
    grad = leaves.pop(leaf)
    accumulate(leaf, grad)
    return grad


def accumulate(leaf: AccumulateGrad, grad: Any, is_ours: bool = False) -> None:
    """Store a gradient, or add it to the earlier one: in place, or as a new tensor if the sum is recorded.

    Threads that accumulate to the same leaf wait for each other. `is_ours` promises that nothing else can reach the
    gradient or its array (Note [Ownership of gradients]).
    """
    if grad is None:
        return
    variable = leaf.living()
    if variable is None:
        if not leaf.post_hooks:
            return  # nobody could ever see it
        variable = leaf.variable
    if variable.keys & VIEW or type(variable.edge) is not AccumulateGrad:
        _check_is_leaf(variable)
    if not variable.keys & GRAD:
        return  # nobody wants it any more
    if leaf.shape != shape_of(variable.array):
        raise RuntimeError(
            f"a gradient of shape {list(leaf.shape)} for a leaf whose shape is {list(variable.shape)} by now: it was "
            "changed in place, or by an assignment to data, since the graph was made"
        )
    if leaf.forks != AccumulateGrad.all_forks:
        _renew_lock(leaf)
    with leaf.lock:
        add_to(variable, grad, is_ours)
        if leaf.post_hooks:
            call_post_accumulate_hooks(leaf.post_hooks, variable)


def _check_is_leaf(variable: Tensor) -> None:
    """Raise RuntimeError for a tensor that became a result of the graph after it was the graph's leaf."""
    if variable.grad_fn is not None:
        raise RuntimeError(
            "leaf variable has been moved into the graph interior: it was written in place by a recorded call after it "
            "had stopped requiring grad, so a graph that was made before has no place for its gradient. Write to a "
            "copy of it (x.detach().clone())"
        )


def add_to(variable: Tensor, grad: Tensor, is_ours: bool = False) -> None:
    """Add to `variable.grad`. `is_ours` as for `accumulate`."""
    known = variable.grad
    if known is None:
        _set(variable, _stored(variable, grad, is_ours))
    elif is_grad_enabled():
        _set(variable, add(known, grad))
    elif (
        is_array_alone(known)
        and is_array_alone(grad)
        and known.array.dtype is grad.array.dtype
        and _takes(known.array, grad.array)
    ):
        np.add(known.array, grad.array, out=known.array)
        increment_version(known)
    else:
        aten["add_.Tensor"](known, grad)


def _set(variable: Tensor, grad: Tensor) -> None:
    """Make a tensor of the leaf's shape, dtype and device its gradient."""
    if variable.extra is None:
        variable.extra = Extra()
    variable.extra.grad = grad
    if grad.keys & GRAD:
        track_nodes()  # the gradient's graph leads back to the leaf


def _takes(known: np.ndarray[Any, Any], grad: np.ndarray[Any, Any]) -> bool:
    """Whether NumPy adds one gradient to the other as the operator does: no element of it is two."""
    return known.shape == grad.shape and known.flags.c_contiguous and known.flags.writeable and known.itemsize != 2


def _stored(variable: Tensor, grad: Tensor, is_ours: bool) -> Tensor:
    """Return the gradient as `.grad` of the leaf: with the leaf's strides where these are dense, else row-major."""
    array = grad.array
    if type(array) is not np.ndarray:
        return _copied(variable, grad)
    if not (variable.keys | grad.keys) & NONDENSE and is_ours and array.base is None:
        if not grad.keys & GRAD and grad.extra is None:
            return grad  # both are row-major
    elif not variable.keys & NONDENSE and not with_modes(grad.keys) & (GRAD | WATCHED):
        return wrap(np.array(array, order="C"))
    wanted = _strides(variable)
    if is_ours and array.base is None and _lies(grad, wanted):
        if not grad.keys & GRAD and grad.extra is None:
            return grad
    elif not with_modes(grad.keys) & (GRAD | WATCHED) and variable.ndim and wanted == _row_major(variable):
        return wrap(np.array(array, order="C"))
    return _copied(variable, grad)


def _copied(variable: Tensor, grad: Tensor) -> Tensor:
    wanted = _strides(variable)
    if wanted == _row_major(variable):
        from opwright_core.arrays.formats import MemoryFormat

        result: Tensor = aten["clone.default"](grad, memory_format=MemoryFormat.contiguous_format)
        return result
    return aten["copy_.default"](aten["new_empty_strided.default"](grad, list(variable.shape), list(wanted)), grad)  # type: ignore[no-any-return]


def _strides(variable: Tensor) -> Shape:
    shape, strides = shape_of(variable.array), variable.stride()
    return strides if is_dense(shape, strides) else contiguous_strides(shape)


def _row_major(variable: Tensor) -> Shape:
    return contiguous_strides(shape_of(variable.array))


def _lies(grad: Tensor, wanted: Shape) -> bool:
    """Whether the strides are the wanted ones, but for dimensions of one element."""
    return all(a == b for size, a, b in zip(grad.shape, grad.stride(), wanted, strict=True) if size != 1)
