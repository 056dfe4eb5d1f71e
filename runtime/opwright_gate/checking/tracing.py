"""A call and its backward pass as one graph: traced without data, run with it, compared with the call itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opwright.autograd import no_grad
from opwright.errors import GuardOnDataDependentError
from opwright.fake import FakeTensorMode
from opwright.functionalize.transform import functionalize
from opwright.fx import GraphModule, Interpreter, Node, make_fx
from opwright.symbolic import ShapeEnv
from opwright.testing import assert_close
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import ContractError
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, Operand, drawing_again, results_of
from opwright_gate.checking.fakes import call_fake
from opwright_gate.checking.passes import Gradients, gradients_of, unwritten_leaves

__all__ = ["Trace", "check_graph", "traced"]


@dataclass(slots=True)
class Trace:
    """A call without data as it was traced, its result and gradients, and the graph; where it writes to anything, also
    the graph of the program without writes that functionalisation makes of it."""

    call: Call
    result: Any
    gradients: Gradients
    graph: GraphModule
    functional: GraphModule | None


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
    return Trace(*seen[0], graph, _functional(call, graph, tensors, mode.shape_env is not None))


def _functional(call: Call, graph: GraphModule, tensors: Sequence[Tensor], is_dynamic: bool) -> GraphModule | None:
    """Return the graph without writes; None where there are none, or where a size that the data says decides about
    one. Raises ContractError where writes are left."""
    if not any(_writes(node) for node in graph.graph.nodes):
        return None
    mode = FakeTensorMode(shape_env=ShapeEnv() if is_dynamic else None)  # what the first trace wrote is another one's
    try:
        made = make_fx(functionalize(graph))(*map(mode.from_tensor, tensors))
    except GuardOnDataDependentError:
        return None
    _check_no_writes(call, made)
    return made


def _writes(node: Node) -> bool:
    return isinstance(node.target, Operator) and bool(node.target.signature.written)


def _check_no_writes(call: Call, functional: GraphModule) -> None:
    """Raise ContractError where a functionalised program writes to anything but its inputs, at its end, and clones that
    custom operators are given to write to."""
    for node in functional.graph.nodes:
        if _writes(node) and not all(map(_may_be_written, node.all_input_nodes[:1])):
            raise ContractError(
                f"{call.operator.name}: the call was functionalised, but the program still writes: {node.format_node()}"
            )


def _may_be_written(node: Node) -> bool:
    while _writes(node):  # which returns what it wrote to
        node = node.all_input_nodes[0]
    return node.op == "placeholder" or str(node.target).startswith("aten.clone")


def check_graph(trace: Trace, call: Call, real: Call, wanted: Any, gradients: Gradients, **tolerances: Any) -> None:
    """Raise ContractError where a graph gives other values than the call and its backward pass gave."""
    _check_one(trace.graph, "were traced", call, real, wanted, gradients, tolerances)
    if trace.functional is not None:
        _check_one(trace.functional, "were traced and functionalised", call, real, wanted, gradients, tolerances)


def _check_one(
    graph: GraphModule, done: str, call: Call, real: Call, wanted: Any, gradients: Gradients,
    tolerances: Mapping[str, Any],
) -> None:  # fmt: skip
    given = call.copied()
    with no_grad(), drawing_again(given):
        found = Interpreter(graph).run(*_distinct(given))  # quicker than Python code, for one run
    expected = _outputs(real, wanted, gradients)
    for name, one, other in zip(_names(real, wanted, gradients), found, expected, strict=True):
        if one is None or other is None:
            continue  # (what looks otherwise without data is told elsewhere)
        try:
            assert_close(one, other.detach(), equal_nan=True, check_stride=False, **tolerances)
        except AssertionError as error:
            raise ContractError(
                f"{call.operator.name}: {name} is another one where the call and its backward pass {done}, and the "
                f"graph runs. (Does the operator, or its formula, keep anything between calls?)\n{error}"
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
