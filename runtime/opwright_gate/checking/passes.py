"""A call and its backward pass, which begins with ones."""

from __future__ import annotations

import warnings
from typing import Any

from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, Operand, drawing_again, results_of
from opwright_gate.checking.registration import gradients, incoming_gradients

__all__ = ["Gradients", "gradients_of", "run", "unwritten_leaves"]

Gradients = list[tuple[Operand, Tensor | None]]


def run(call: Call) -> Any:
    """Make the call, with the same random numbers each time."""
    with drawing_again(call):
        return call()


def gradients_of(call: Call, result: Any) -> Gradients:
    """Return the inputs that require grad, each with its gradient of the sum of the results."""
    results = [each for each in results_of(call.operator, result) if each.tensor.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of operators without formulas
        return gradients(call, results, incoming_gradients(results)) if results else []


def unwritten_leaves(call: Call) -> Call:
    """Return the call with results of leaves where it writes to leaves that require grad, as functionalised ones do."""
    leaves = [each.tensor for each in call.written if each.tensor.requires_grad and each.tensor.is_leaf]

    def convert(tensor: Tensor) -> Tensor:
        return tensor.clone() if any(tensor is leaf for leaf in leaves) else tensor

    return call.converted(convert) if leaves else call
