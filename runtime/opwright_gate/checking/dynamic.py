"""`test_aot_dispatch_dynamic`: a call gives the same on copies without gaps; its results and gradients look without
data as they do with; and the graph of call and backward pass, traced without data, gives what they give."""

from __future__ import annotations

from typing import Any

from opwright.autograd import enable_grad, no_grad
from opwright.errors import DataDependentOutputError, DynamicOutputShapeError, GuardOnDataDependentError
from opwright.fake import FakeTensorMode
from opwright.metadata.tags import Tag
from opwright.metadata.view_layouts import share_memory
from opwright.symbolic import ShapeEnv
from opwright.testing import assert_close, closeness
from opwright.testing.symbolic_results import bound_by
from opwright_core.errors import ContractError
from opwright_gate.checking.calls import Call, Operand, results_of
from opwright_gate.checking.comparison import difference, tensor_difference
from opwright_gate.checking.fakes import call_fake, may_refuse
from opwright_gate.checking.passes import Gradients, gradients_of, run, unwritten_leaves
from opwright_gate.checking.tracing import check_graph, traced

__all__ = ["check_dynamic"]


def check_dynamic(call: Call, *, is_dynamic: bool = True, atol: float | None = None, rtol: float | None = None) -> None:
    """Raise ContractError where the call depends on more than its arguments' values, or where results and gradients
    without data, with symbolic sizes if `is_dynamic`, are others, or those of the graph that was traced; what the call,
    its fake kernel and its formula raise."""
    _check_values(call, atol, rtol)
    _check_traced(call, ShapeEnv() if is_dynamic else None, atol, rtol)


def _check_values(call: Call, atol: float | None, rtol: float | None) -> None:
    """Check that results and writes are the same where arguments lie one after the other in memory of their own."""
    with no_grad():
        given = call.copied()
        wanted = run(given)
        if Tag.nondeterministic_seeded in call.operator.tags:
            return
        compact = call.copied()
        if not _is_shared(compact):
            compact = compact.converted(lambda tensor: tensor.clone(memory_format=None).contiguous())
        found = run(compact)
        results = zip(_outputs(given, wanted), _outputs(compact, found), strict=True)
        for one, other in results:
            relative, absolute = rtol, atol
            if absolute is None and one.tensor.dtype in closeness.TOLERANCES:  # sums are in another order
                relative, absolute = (10 * each for each in closeness.TOLERANCES[one.tensor.dtype])
            try:
                assert_close(other.tensor, one.tensor, atol=absolute, rtol=relative, equal_nan=True)
            except AssertionError as error:
                raise ContractError(
                    f"{call.operator.name}: {one.name} depends on more than the values of its arguments: with copies "
                    "of them that lie without gaps it is another. (Is a layout taken for granted? An operator that "
                    f"draws random numbers has the tag nondeterministic_seeded.)\n{error}"
                ) from error


def _outputs(call: Call, result: Any) -> list[Operand]:
    return [*results_of(call.operator, result), *call.written]


def _is_shared(call: Call) -> bool:
    """Whether Tensors of the call share memory, or are one: copies one by one would be another call."""
    return any(
        share_memory(one.tensor, other.tensor)
        for place, one in enumerate(call.operands)
        for other in call.operands[:place]
    )


def _check_traced(call: Call, env: ShapeEnv | None, atol: float | None, rtol: float | None) -> None:
    """Check forward and backward without data against those of real Tensors, and their graph."""
    with enable_grad():
        real = unwritten_leaves(call.copied(may_require_grad=True))
        wanted = run(real)
        gradients = gradients_of(real, wanted)
        mode = FakeTensorMode(shape_env=env)
        try:
            trace = traced(call, mode)
        except (DataDependentOutputError, DynamicOutputShapeError, GuardOnDataDependentError) as error:
            if may_refuse(call.operator, error, env):
                return
            if gradients and _runs_without_data(call, env):
                raise ContractError(
                    f"the backward pass of {call.operator.name} reads data, and cannot run without: it is to be made "
                    f"of operators, or of a custom operator of its own\n{error}"
                ) from error
            raise
    problem = difference(trace.call, trace.result, real, wanted, env)
    problem = problem or _gradient_difference(gradients, trace.gradients, _bound(env, trace.result, wanted))
    if problem is not None:
        raise ContractError(f"{call.operator.name} without data: {problem}")
    if Tag.nondeterministic_seeded not in call.operator.tags:
        check_graph(trace, call, real, wanted, gradients, atol=atol, rtol=rtol)


def _runs_without_data(call: Call, env: ShapeEnv | None) -> bool:
    """Whether the call runs without its backward pass."""
    mode = FakeTensorMode(shape_env=env)
    try:
        with no_grad():
            call_fake(call.copied().converted(mode.from_tensor), mode)
    except (DataDependentOutputError, DynamicOutputShapeError, GuardOnDataDependentError):
        return False
    return True


def _bound(env: ShapeEnv | None, found: Any, wanted: Any) -> dict[str, Any]:
    """Return the values of symbols that results without data tell, beside the real ones."""
    return {} if env is None else bound_by(env, found, wanted)


def _gradient_difference(wanted: Gradients, found: Gradients, values: dict[str, Any]) -> str | None:
    """Return how the gradients of a backward pass without data differ."""
    for (operand, gradient), (_, other) in zip(wanted, found, strict=True):
        name = f"the gradient of {operand.name}"
        if gradient is None or other is None:
            if gradient is not other:
                which = "with data" if other is None else "without data"
                return f"{name} is there only in a backward pass {which}"
            continue
        one, two = (Operand(name, operand.position, each.contiguous()) for each in (other, gradient))
        problem = tensor_difference(one, two, values)
        if problem is not None:
            return problem
    return None
