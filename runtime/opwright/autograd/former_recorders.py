"""The notes that packages of former versions of the abi have beside recording kernels, which they have written out.

Kernels of later versions follow from the classes of nodes (`recorders`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd.fields import Way
from opwright.autograd.nodes import Node
from opwright.autograd.recorders import Recorder, compiled_recorder
from opwright.autograd.recording import Kernel
from opwright_core.core import fast

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["records"]

Make = Callable[[Kernel], Kernel]
_KEPT: Final = re.compile(r"(\w+) = ([a-z]*)(?:\((\d+)\)|(\d+))?(?: for (\d+(?:, \d+)*))?")
_WAYS: Final = {
    "": Way.ARGUMENT, "save": Way.SAVED, "result": Way.RESULT, "other": Way.OTHER, "shape": Way.SHAPE,
    "numel": Way.NUMEL, "stride": Way.STRIDE,
}  # fmt: skip


def records(
    node: type[Node], edges: tuple[int, ...], *kept: str, refused: tuple[int, ...] = (), output: int = -1
) -> Callable[[Make], Recorder | Make]:
    """Have the compiled core run the recording kernels that a function makes.

    `edges` are the positions of the arguments that get gradients, `refused` of those that may require none, `output`
    that of the result which has the history, where there are several. `kept` says what the node keeps: `alpha = 2` an
    argument as it is, `shape = shape(0)`, `count = numel(0)` and `strides = stride(0)` of one, `other = save(1) for 0`
    a tensor (where argument 0 gets a gradient), `result = result(0)` the result, `indices = other(1)` one of no
    history.
    """

    def attach(make: Make) -> Recorder | Make:
        if fast is None or len(kept) > fast.MOST_SAVED:
            return make
        savings = tuple(map(_saving, kept))

        def compiled(node: Any, operator: Operator, below: Kernel) -> Kernel:
            total = len(operator.signature.names)
            return compiled_recorder(make(below), below, node, total, edges, savings, refused, output)

        return Recorder(node, compiled)

    return attach


def _saving(text: str) -> tuple[str, int, int, int]:
    """Return slot, how, position and the bits of those who need it, 0 for always."""
    match = _KEPT.fullmatch(text)
    assert match is not None, text
    slot, way, place, bare, needed = match.groups()
    return slot, _WAYS[way], int(place or bare), _bits(map(int, needed.split(", "))) if needed else 0


def _bits(positions: Iterable[int]) -> int:
    return sum(1 << position for position in positions)
