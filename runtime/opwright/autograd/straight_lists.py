"""Recording kernels of calls that take or return one list of tensors, written out as those of `straight_recorders` are.

The compiled core leaves them to Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.autograd.fields import Way
from opwright.autograd.recording import Kernel, edges_of, record, record_several
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.autograd.recording_plans import RecordingPlan

__all__ = ["straight_list_recorder"]


def straight_list_recorder(plan: RecordingPlan, below: Kernel) -> Kernel | None:
    """Return the recording kernel of `cat`, `split`, `unbind` and their kind, None for another."""
    node = plan.node
    fields = node.fields.values()
    kept = {field.position for field in fields if field.way is Way.ARGUMENT}
    facts = [field for field in fields if field.position == 0 and field.way in (Way.SHAPE, Way.VALUE)]
    is_known = len(kept) + len(facts) == len(fields) and len(facts) <= 1 and 0 not in kept and plan.left_out() is None
    if not is_known or node.operands != (0,) or plan.returns_several or plan.tensors[0].is_optional:
        return None
    compute = facts[0].compute if facts else None
    if plan.tensors[0].is_list and not plan.is_several and plan.total == 2 and (not facts or compute is not None):
        return _of_list(node, 1 in kept, compute, below)
    if plan.is_several and not plan.tensors[0].is_list and plan.total in (2, 3) and compute is None:
        parts = _parts_of_two if plan.total == 2 else _parts_of_three
        return parts(node, kept, bool(facts), below)
    return None


def _of_list(make: Any, keeps_second: bool, compute: Any, below: Kernel) -> Kernel:
    def kernel(tensors: list[Tensor], second: Any) -> Tensor:
        result: Tensor = below(tensors, second)
        node = make()
        node.edges = edges_of(tensors)
        if compute is not None:
            node._fact0 = compute(tensors)
        if keeps_second:
            node._kept1 = second
        record(result, node)
        return result

    return kernel


def _parts_of_two(make: Any, kept: set[int], keeps_shape: bool, below: Kernel) -> Kernel:
    keeps_second = 1 in kept

    def kernel(first: Tensor, second: Any) -> list[Tensor]:
        results: list[Tensor] = below(first, second)
        node = make()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_second:
            node._kept1 = second
        record_several(results, node)
        return results

    return kernel


def _parts_of_three(make: Any, kept: set[int], keeps_shape: bool, below: Kernel) -> Kernel:
    keeps_second, keeps_third = 1 in kept, 2 in kept

    def kernel(first: Tensor, second: Any, third: Any) -> list[Tensor]:
        results: list[Tensor] = below(first, second, third)
        node = make()
        node.edges = (first.edge,)
        if keeps_shape:
            node._fact0 = first.shape
        if keeps_second:
            node._kept1 = second
        if keeps_third:
            node._kept2 = third
        record_several(results, node)
        return results

    return kernel
