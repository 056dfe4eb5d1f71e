"""Backward passes that the compiled core runs (`fast/graph/engine.c`), and what it leaves to the Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from opwright.autograd.accumulate import accumulate
from opwright.autograd.engine import compiled_pass, error_of_circle, running
from opwright.autograd.gradients import fit
from opwright.autograd.modes import below_classes, without_recording
from opwright.autograd.node_formulas import gradients_for
from opwright.autograd.nodes import AccumulateGrad, Edge, Node, Recorded
from opwright.autograd.recorders import configure_recording
from opwright.autograd.recording import refresh
from opwright.inspection.backward_sources import name_backward
from opwright.namespaces import ops
from opwright_core.core import fast
from opwright_core.keys import VIEW
from opwright_core.tensors.tensor import Tensor

__all__ = ["run"]

PASS_MODES = below_classes(without_recording(None))


def run(tensor: Any, gradient: Any, keep_graph: object) -> bool:
    """Have the compiled core run a pass from a tensor, whose gradient may be None; return whether it did."""
    if fast is None:
        return False
    _configure()
    if type(tensor) is Tensor and tensor.keys & VIEW:
        refresh(tensor)
    try:
        done: bool = fast.run_backward(tensor, gradient, bool(keep_graph))
    except Exception as error:
        name_backward(error)
        raise
    return done


@cache
def _configure() -> None:
    """Tell the core what Python does where a pass is uncommon; once."""
    configure_recording()
    adding = ops.aten.add.Tensor
    fast.configure(
        accumulate=accumulate, np_add=np.add, add=(adding.table, adding.call), fit=fit, Recorded=Recorded,
        pass_modes=PASS_MODES, running_pass=running, run_uncommon=_run_uncommon,
        finish_uncommon=_finish_uncommon, gradients_for=gradients_for, error_of_circle=error_of_circle,
        AccumulateGrad=AccumulateGrad,
    )  # fmt: skip


def _run_uncommon(current: tuple[int, Edge], node: Node, grads: Any) -> Sequence[Any]:
    """Run a node of the core's pass that has hooks, several outputs, or no gradient. Returns its gradients."""
    return compiled_pass(current).run_uncommon(node, grads)[1]


def _finish_uncommon(current: tuple[int, Edge], leaf: AccumulateGrad, leaves: dict[AccumulateGrad, Any]) -> None:
    """Hand on the gradient of a leaf with hooks, which `leaves` holds alone."""
    found = compiled_pass(current)
    found.leaves = leaves
    found.finish_leaf(leaf)
