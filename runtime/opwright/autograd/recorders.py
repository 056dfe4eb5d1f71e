"""Recording kernels of generated operators, which follow from the classes of their nodes.

The operator says what its arguments are (one tensor, one that may be None, a list) and whether it writes in place or to
`out=`; the class of its nodes which of them get gradients, and what is kept (`fields`). `straight_recorders` has the
kernels of the common kinds, this module one for all others; the compiled core runs those that keep single tensors.

Note [When things are saved]
A functional call is recorded after it: what it wrote to beside its results, such as running statistics, is saved as it
is then. An in-place call is recorded around it: checked, and what formulas need of the old value kept, before anything
is written; results and history after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from opwright.autograd import saved
from opwright.autograd.fields import NodeType
from opwright.autograd.recording import (
    Kernel,
    check_inplace,
    move_history,
    record,
    record_several,
    refuse_recording,
)
from opwright.autograd.recording_plans import RecordingPlan, fill
from opwright.autograd.regenerating import rebase_history
from opwright.autograd.straight_inplace import straight_inplace
from opwright.autograd.straight_lists import straight_list_recorder
from opwright.autograd.straight_recorders import straight_recorder
from opwright_core.core import fast

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = [
    "Recorder", "compiled_recorder", "configure_recording", "inplace_recorder", "out_recorder", "recorder",
]  # fmt: skip


class Recorder:
    """The maker of the recording kernel of an operator, or of a variant of it, from the class of its nodes."""

    __slots__ = ("_make", "node")
    is_for_any = True  # (`dispatch.kernel_kinds.Wrapper`)

    def __init__(self, node: type, make: Callable[[Any, Operator, Kernel], Kernel]) -> None:
        self.node = node
        self._make = make

    def __call__(self, operator: Operator, below: Kernel) -> Kernel:
        """Return the recording kernel of an operator around the one below."""
        return self._make(self.node, operator, below)


def recorder(node: NodeType) -> Recorder:
    """Record calls of a functional operator as nodes of a class."""
    return Recorder(node, _functional)


def inplace_recorder(node: NodeType) -> Recorder:
    """Record calls of an in-place operator as nodes of a class."""
    return Recorder(node, _inplace)


def out_recorder(node: NodeType) -> Recorder:
    """Refuse to record calls with `out=`: none of the operands, as the class says which, and of the outputs may require
    grad."""
    return Recorder(node, _refusing)


def _functional(node: NodeType, operator: Operator, below: Kernel) -> Kernel:
    plan = RecordingPlan(node, operator)
    kept = plan.common()
    kernel = straight_list_recorder(plan, below) if kept is None else straight_recorder(kept, below)
    kernel = kernel or _general(plan, below)
    savings = None if fast is None else plan.savings(fast.MOST_SAVED)
    if savings is None:
        return kernel
    output = node.results[0] if node.results else -1
    return compiled_recorder(kernel, below, node, plan.total, node.operands, savings, node.refused, output)


def _inplace(node: NodeType, operator: Operator, below: Kernel) -> Kernel:
    (own,) = operator.signature.written
    plan = RecordingPlan(node, operator, own)
    kept = plan.common()
    return (None if kept is None else straight_inplace(kept, below)) or _general_inplace(plan, below)


def _refusing(node: NodeType, operator: Operator, below: Kernel) -> Kernel:
    signature = operator.signature
    outputs = [position for position in signature.written if position >= signature.positional]
    return refuse_recording(operator.base, *sorted({*node.operands, *outputs}))(below)


def _general(plan: RecordingPlan, below: Kernel) -> Kernel:
    """Return the kernel of any functional call."""
    make, edges_of, leave = plan.node, plan.edges(), plan.left_out()
    of_arguments, of_results = plan.of_arguments, plan.of_results
    history: Callable[[Any, Any], Any] = record_several if plan.is_several else record
    is_one, results = not plan.returns_several, plan.node.results
    (position,) = results if len(results) == 1 else (None,)

    def kernel(*args: Any) -> Any:
        edges = edges_of(args)
        if leave is not None and leave(args, edges):
            return below(*args)
        found = below(*args)
        node = make()
        node.edges = edges
        if of_arguments:
            fill(node, args, of_arguments)
        history(
            found if is_one else found[position] if position is not None else [found[each] for each in results], node
        )
        if of_results:
            fill(node, (found,) if is_one else found, of_results)
        return found

    return kernel


def _general_inplace(plan: RecordingPlan, below: Kernel) -> Kernel:
    """Return the kernel of any in-place call."""
    make, edges_of, leave, own = plan.node, plan.edges(), plan.left_out(), plan.own
    of_arguments, of_results = plan.of_arguments, plan.of_results
    rebase = move_history if plan.moves_view else rebase_history

    def kernel(*args: Any) -> Any:
        edges = edges_of(args)
        if leave is not None and leave(args, edges):
            return below(*args)
        target = args[own]
        check_inplace(target)
        node = make()
        node.edges = edges
        if of_arguments:
            fill(node, args, of_arguments)
        rebase(below(*args), node)
        if of_results:
            fill(node, (target,), of_results)
        return target

    return kernel


def compiled_recorder(
    kernel: Kernel,
    below: Kernel,
    node: type,
    total: int,
    edges: tuple[int, ...],
    savings: tuple[tuple[str, int, int, int], ...],
    refused: Iterable[int],
    output: int,
) -> Kernel:
    """Return the compiled core's kernel instead of one, which handles what is uncommon. `savings`: slot, how, position
    and the bits of the operands that need it, 0 for always."""
    configure_recording()
    bits = sum(1 << position for position in refused)
    made: Kernel = fast.Recorder(kernel, below, node, total, edges, savings, bits, output)
    return made


@cache
def configure_recording() -> None:
    """Tell the core what Python does where a call is uncommon; once."""
    fast.configure(
        save=saved.save, save_result=saved.save_result, saved_globals=vars(saved), SavedResult=saved.SavedResult,
        record=record,
    )  # fmt: skip
