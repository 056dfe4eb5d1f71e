"""Observations of a call's effect on memory: which arguments it wrote to, and which results lie in whose memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from opwright.metadata.view_layouts import share_memory
from opwright_core.arrays.devices import backend_of
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, Operand, results_of

__all__ = ["Contents", "Observed", "observe"]


class Contents:
    """The elements and layouts of tensors at one time, bit for bit: a NaN is itself."""

    def __init__(self, operands: Sequence[Operand]) -> None:
        self._operands = operands
        self._before = [_content(operand.tensor) for operand in operands]

    def changed(self) -> list[Operand]:
        """Return the tensors that are not as they were."""
        return [
            operand
            for operand, before in zip(self._operands, self._before, strict=True)
            if _content(operand.tensor) != before
        ]


def _content(tensor: Tensor) -> tuple[Any, ...]:
    array = tensor.array
    backend = backend_of(array)
    return backend.to_numpy(array).tobytes(), backend.shape(array), backend.strides(array)


@dataclass(frozen=True)
class Observed:
    """The effect of a call on its Tensors: `written` are the arguments that changed, `views` pairs of a result and the
    argument in whose memory it lies, `twins` pairs of results in one memory. All are Tensors of the call."""

    call: Call
    result: Any
    results: list[Operand]
    written: list[Operand]
    views: list[tuple[Operand, Operand]]
    twins: list[tuple[Operand, Operand]]


def observe(call: Call, run: Callable[[], Any]) -> Observed:
    """Run the call and look at its Tensors before and afterwards."""
    contents = Contents(call.operands)
    result = run()
    results = results_of(call.operator, result)
    return Observed(
        call,
        result,
        results,
        contents.changed(),
        [(one, other) for one in results for other in call.operands if share_memory(one.tensor, other.tensor)],
        [(one, other) for one, other in combinations(results, 2) if share_memory(one.tensor, other.tensor)],
    )
