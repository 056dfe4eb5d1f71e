"""Recording kernels of in-place calls of the common kinds, written out as those of `straight_recorders` are."""

from __future__ import annotations

from typing import Any, Final

from opwright.autograd.recording import Kernel, check_inplace
from opwright.autograd.regenerating import rebase_history
from opwright.autograd.saved import save, save_original, save_result
from opwright.autograd.straight_recorders import Kept, Make, made_of_kind
from opwright_core.tensors.tensor import Tensor

__all__ = ["straight_inplace"]


def straight_inplace(kept: Kept, below: Kernel) -> Kernel | None:
    """Return the recording kernel of an in-place call, None where it is of a rare kind."""
    return None if any(kept.facts) else made_of_kind(_CROSSED if kept.crossed else _KINDS, kept, below)


def _unary(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first,), _, keeps_result, _ = kept

    def kernel(first: Tensor) -> Tensor:
        check_inplace(first)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_first:
            node._kept0 = save_original(first)
        rebase_history(below(first), node)
        if keeps_result:
            node._result0 = save_result(first)
        return first

    return kernel


def _of_first_of_two(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second), _, keeps_result, _ = kept

    def kernel(first: Tensor, second: Any) -> Tensor:
        check_inplace(first)
        node: Any = node_type()
        node.edges = (first.edge,)
        if keeps_first:
            node._kept0 = save_original(first)
        if keeps_second:
            node._kept1 = second
        rebase_history(below(first, second), node)
        if keeps_result:
            node._result0 = save_result(first)
        return first

    return kernel


def _binary(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second), _, keeps_result, _ = kept

    def kernel(first: Tensor, second: Tensor) -> Tensor:
        check_inplace(first)
        node: Any = node_type()
        node.edges = (first.edge, second.edge)
        if keeps_first:
            node._kept0 = save_original(first)
        if keeps_second:
            node._kept1 = save(second)
        rebase_history(below(first, second), node)
        if keeps_result:
            node._result0 = save_result(first)
        return first

    return kernel


def _binary_of_three(kept: Kept, below: Kernel) -> Kernel:
    node_type, (keeps_first, keeps_second, keeps_third), _, keeps_result, _ = kept

    def kernel(first: Tensor, second: Tensor, third: Any) -> Tensor:
        check_inplace(first)
        node: Any = node_type()
        node.edges = (first.edge, second.edge)
        if keeps_first:
            node._kept0 = save_original(first)
        if keeps_second:
            node._kept1 = save(second)
        if keeps_third:
            node._kept2 = third
        rebase_history(below(first, second, third), node)
        if keeps_result:
            node._result0 = save_result(first)
        return first

    return kernel


def _crossed(kept: Kept, below: Kernel) -> Kernel:
    node_type, _, _, keeps_result, _ = kept

    def kernel(first: Tensor, second: Tensor) -> Tensor:
        check_inplace(first)
        node: Any = node_type()
        node.edges = edge, other_edge = first.edge, second.edge
        node._kept0 = None if other_edge is None else save_original(first)
        node._kept1 = None if edge is None else save(second)
        rebase_history(below(first, second), node)
        if keeps_result:
            node._result0 = save_result(first)
        return first

    return kernel


# By how many arguments there are, and which of them are operands.
_CROSSED: Final[dict[tuple[int, tuple[int, ...]], Make]] = {(2, (0, 1)): _crossed}
_KINDS: Final[dict[tuple[int, tuple[int, ...]], Make]] = {
    (1, (0,)): _unary,
    (2, (0,)): _of_first_of_two,
    (2, (0, 1)): _binary,
    (3, (0, 1)): _binary_of_three,
}
