"""A call and its backward pass as one graph: traced without data, run with it, compared with the call itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opwright.autograd import no_grad
from opwright.errors import ContractError
from opwright.fake import FakeTensorMode
from opwright.fx import GraphModule, Interpreter, make_fx
from opwright.tensors.tensor import Tensor
from opwright.testing.checking.calls import Call, Operand, drawing_again, results_of
from opwright.testing.checking.fakes import call_fake
from opwright.testing.checking.passes import Gradients, gradients_of, unwritten_leaves
from opwright.testing.closeness import assert_close

__all__ = ["Trace", "check_graph", "traced"]


@dataclass(slots=True)
class Trace:
    """A call without data as it was traced, its result and gradients, and the graph."""

    call: Call
    result: Any
    gradients: Gradients
    graph: GraphModule


def traced(call: Call, mode: FakeTensorMode) -> Trace:
    """Return the trace of a call and its backward pass, on fakes of a mode. Raises what these raise."""
    original = call.copied(may_require_grad=True)
    tensors = _distinct(original)
    seen: list[tuple[Call, Any, Gradients]] = []

    def both(*inputs: Tensor) -> list[Tensor | None]:
        given = {id(tensor): fake for tensor, fake in zip(tensors, inputs, strict=True)}
        fake = unwritten_leaves(original.converted(lambda tensor: given[id(tensor)]))
        result = call_fake(fake, mode)
        found = gradients_of(fake, result)
        seen.append((fake, result, found))
        return _outputs(fake, result, found)

    graph = make_fx(both)(*map(mode.from_tensor, tensors))
    return Trace(*seen[0], graph)


def check_graph(trace: Trace, call: Call, real: Call, wanted: Any, gradients: Gradients, **tolerances: Any) -> None:
    """Raise ContractError where the graph gives other values than the call and its backward pass gave."""
    given = call.copied()
    with no_grad(), drawing_again(given):
        found = Interpreter(trace.graph).run(*_distinct(given))  # quicker than Python code, for one run
    expected = _outputs(real, wanted, gradients)
    for name, one, other in zip(_names(real, wanted, gradients), found, expected, strict=True):
        if one is None or other is None:
            continue  # (what looks otherwise without data is told elsewhere)
        try:
            assert_close(one, other.detach(), equal_nan=True, check_stride=False, **tolerances)
        except AssertionError as error:
            raise ContractError(
                f"{call.operator.name}: {name} is another one where the call and its backward pass were traced, and "
                f"the graph runs. (Does the operator, or its formula, keep anything between calls?)\n{error}"
            ) from error


def _distinct(call: Call) -> list[Tensor]:
    """Return the Tensors of a call, each once."""
    return list({id(operand.tensor): operand.tensor for operand in call.operands}.values())


def _named(call: Call, result: Any) -> Sequence[Operand]:
    return [*results_of(call.operator, result), *call.written]


def _names(call: Call, result: Any, gradients: Gradients) -> list[str]:
    return [
        *(each.name for each in _named(call, result)),
        *(f"the gradient of {each.name}" for each, _ in gradients),
    ]


def _outputs(call: Call, result: Any, gradients: Gradients) -> list[Tensor | None]:
    return [*(each.tensor for each in _named(call, result)), *(gradient for _, gradient in gradients)]
