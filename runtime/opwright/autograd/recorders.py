"""Recording kernels of generated operators, which follow from the classes of their nodes.

The operator says what its arguments are (one tensor, one that may be None, a list) and whether it writes in place or to
`out=`; the class of its nodes which of them get gradients, and what is kept (`fields`). Functional kernels are unrolled
from one definition, in-place kernels from another (Note [Unrolled closures]), by letters that `recording_plans` finds.
The compiled core runs those that keep single tensors.

Note [When things are saved]
A functional call is recorded after it: what it wrote to beside its results, such as running statistics, is saved as it
is then. An in-place call is recorded around it: checked, and what formulas need of the old value kept, before anything
is written; results and history after.

Note [Inline caches]
Python remembers in a function's code which class an attribute was last looked up in. Each kernel is of one class of
nodes, and gets its own copy of the code: 20 ns less for each slot of a node where kernels of many operators run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd import saved
from opwright.autograd.fields import NodeType
from opwright.autograd.nodes import next_sequence as next_sequence
from opwright.autograd.recording import Kernel, move_history, record, record_several, refuse_recording
from opwright.autograd.recording import check_inplace as check_inplace
from opwright.autograd.recording import edges_of as edges_of
from opwright.autograd.recording_plans import RecordingPlan
from opwright.autograd.recording_plans import fill as fill
from opwright.autograd.regenerating import rebase_history
from opwright.autograd.saved import save_result as save_result
from opwright_core.arrays.dtypes import INEXACT as INEXACT
from opwright_core.core import fast
from opwright_core.keys import DENSE_CPU, GRAD
from opwright_core.unrolling import Definition

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = [
    "Recorder", "compiled_recorder", "configure_recording", "inplace_recorder", "out_recorder", "recorder",
]  # fmt: skip

DENSE_GRAD: Final = DENSE_CPU | GRAD
# The letters are those of `RecordingPlan.letters`. A call is left out if C is set and `leave` says so.
_BEGIN: Final = """\
def kernel({*: x#, }):
    {E} edges = edges_of(x#)
    {S} edges = ({T: x#.edge, |O: None if x# is None else x#.edge, |L: *edges_of(x# or ()), })
    {C} if leave(({*: x#, }), edges): return below({*: x#, })
"""
_SAVE: Final = """\
    node = node_type()
    node.edges = edges
    {k} node._kept# = x#
    {s} node._kept# = save#(x#)
    {0} node._kept# = None if x0.edge is None else save#(x#)
    {1} node._kept# = None if x1.edge is None else save#(x#)
    {2} node._kept# = None if x2.edge is None else save#(x#)
    {h} node._fact# = x#.shape
    {d} node._fact# = x#.stride()
    {f} node._fact# = fact#(x#)
    {A} fill(node, ({*: x#, }), of_arguments)
"""
# One result is D, several M. R: its result is saved; V: more of results is.
_FUNCTIONAL: Final = Definition(
    f"""\
{_BEGIN}\
    result = below({{*: x#, }})
{_SAVE}\
    {{M}} history(result, node)
    {{D}} array = result.array
    {{D}} if result.keys == DENSE_CPU and (dtype := array.dtype) in INEXACT:
    {{D}}     node.sequence = next_sequence()
    {{D}}     node.extra = None
    {{D}}     node.shape = array.shape
    {{D}}     node.dtype = dtype
    {{D}}     result.edge = node
    {{D}}     result.keys = DENSE_GRAD
    {{D}} else:
    {{D}}     record(result, node)
    {{R}} node._result0 = save_result(result)
    {{V}} fill(node, results_in(result), of_results)
    return result
""",
    globals(),
)
_INPLACE: Final = Definition(
    f"""\
{_BEGIN}\
    check_inplace({{w: x#}})
{_SAVE}\
    history(below({{*: x#, }}), node)
    {{R}} node._result0 = save_result({{w: x#}})
    {{V}} fill(node, ({{w: x#}},), of_results)
    return {{w: x#}}
""",
    globals(),
)


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
    is_one = not plan.returns_several
    kernel = _unrolled(
        _FUNCTIONAL, plan, below, "M" if plan.is_several or not is_one else "D", history=_history(plan),
        results_in=(lambda result: (result,)) if is_one else list,
    )  # fmt: skip
    savings = None if fast is None else plan.savings(fast.MOST_SAVED)
    if savings is None:
        return kernel
    output = node.results[0] if node.results else -1
    return compiled_recorder(kernel, below, node, plan.total, node.operands, savings, node.refused, output)


def _inplace(node: NodeType, operator: Operator, below: Kernel) -> Kernel:
    (own,) = operator.signature.written
    plan = RecordingPlan(node, operator, own)
    return _unrolled(_INPLACE, plan, below, history=move_history if plan.moves_view else rebase_history)


def _unrolled(definition: Definition, plan: RecordingPlan, below: Kernel, flags: str = "", **free: Any) -> Kernel:
    """Return the kernel of a plan, which has its own copy of the code (Note [Inline caches])."""
    letters, more_flags, known = plan.letters()
    leave = plan.left_out()
    kernel: Any = definition.make(
        letters, flags + more_flags + ("" if leave is None else "C"),
        node_type=plan.node, below=below, leave=leave, **known, **free,
    )  # fmt: skip
    kernel.__code__ = kernel.__code__.replace()
    made: Kernel = kernel
    return made


def _history(plan: RecordingPlan) -> Callable[[Any, Any], Any]:
    """Return the function that gives what an operator returned a history."""
    history: Callable[[Any, Any], Any] = record_several if plan.is_several else record
    results = plan.node.results
    if not plan.returns_several:
        return history
    if len(results) == 1:
        return lambda found, node: history(found[results[0]], node)
    return lambda found, node: history([found[each] for each in results], node)


def _refusing(node: NodeType, operator: Operator, below: Kernel) -> Kernel:
    signature = operator.signature
    outputs = [position for position in signature.written if position >= signature.positional]
    return refuse_recording(operator.base, *sorted({*node.operands, *outputs}))(below)


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
