"""Recorded calls with views: their grad_fn is regenerated first. `mark_view`, `mark_views` and `rebase_history` are
those of the compiled core, where there is one (`fast/graph/view_history.c`, `rebase_history.c`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.autograd import recording
from opwright.autograd.nodes import Node, NoHistory
from opwright.autograd.recording import Kernel, refresh
from opwright.autograd.views import ViewOfBase, WriteToView
from opwright_core.core import fast
from opwright_core.dispatch.call.signature import Signature
from opwright_core.keys import VIEW
from opwright_core.tensors.tensor import Tensor

__all__ = ["mark_view", "mark_views", "rebase_history", "regenerating"]


def regenerating(kernel: Kernel, below: Kernel, signature: Signature) -> Kernel:
    """Return a recording kernel for calls with views: it regenerates their grad_fn, then calls `kernel`, or `below` if
    no tensor requires grad."""
    is_one = [argument.is_list for argument in signature.tensors] == [False] and signature.tensors[0].position == 0
    call = _regenerating_one(kernel, below) if is_one else _regenerating_all(kernel, below, signature)
    if fast is None:
        return call
    made: Kernel = fast.ViewRecorder(call, kernel, below, tuple([position for position, *_ in signature.tensors]))
    return made


def _regenerating_one(kernel: Kernel, below: Kernel) -> Kernel:
    def call_one(self: Tensor, *args: Any) -> Any:
        refresh(self)
        return (below if self.edge is None else kernel)(self, *args)

    return call_one


def _regenerating_all(kernel: Kernel, below: Kernel, signature: Signature) -> Kernel:
    positions = [(argument.position, argument.is_list) for argument in signature.tensors]

    def call(*args: Any) -> Any:
        is_recorded = False
        for position, is_list in positions:
            value = args[position]
            for tensor in value or () if is_list else (value,):
                if tensor is not None:
                    if tensor.keys & VIEW:
                        refresh(tensor)
                    is_recorded = is_recorded or tensor.edge is not None
        return (kernel if is_recorded else below)(*args)

    return call


if fast is not None:
    fast.configure(
        NoHistory=NoHistory, rebase_history=recording.rebase_history, WriteToView=WriteToView, ViewOfBase=ViewOfBase
    )

mark_view: Final[Callable[[Tensor], Tensor]] = recording.mark_view if fast is None else fast.mark_view
mark_views: Final[Callable[[list[Tensor]], list[Tensor]]] = recording.mark_views if fast is None else fast.mark_views
rebase_history: Final[Callable[[Tensor, Node], Tensor]] = (
    recording.rebase_history if fast is None else fast.rebase_history
)
