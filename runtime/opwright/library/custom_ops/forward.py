"""Forward mode of custom operators: the `jvp` that was registered as the operator's forward rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.autograd.function_outputs import NOTHING
from opwright.autograd.saved import save
from opwright.library.custom_ops.recording import context_of, new_node
from opwright.registering.removing import Removable
from opwright.registering.rules import GivenRule, set_rule
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.forward_rules import ForwardRule, TangentFormula

__all__ = ["give_jvp"]

Function = Callable[..., Any]


def give_jvp(
    operator: Operator, setup_context: Function | None, jvp: Function, held: list[Removable]
) -> GivenRule[ForwardRule]:
    """Make `jvp(ctx, *tangents)` the operator's forward rule. It gets a tangent or None for each positional argument,
    and what `setup_context` saved, and returns the tangents of the results. The rule is added to `held`."""
    signature = operator.signature
    inputs = tuple(each.position for each in signature.tensors if each.position < signature.positional)
    outputs = tuple(range(len(signature.returns)))
    compute = _computed(operator, setup_context, jvp, inputs)
    formula = TangentFormula(compute, tuple(range(len(signature.names))), inputs, outputs, outputs)
    return set_rule(operator, ForwardRule(inputs, (formula,)), held=held)


def _computed(
    operator: Operator, setup_context: Function | None, jvp: Function, inputs: tuple[int, ...]
) -> Callable[..., Any]:
    """Return what the formula gives: arguments, tangents and results come one after the other."""
    signature = operator.signature
    count, positional = len(signature.names), signature.positional
    context = context_of(operator, jvp)

    def compute(*values: Any) -> Any:
        args, tangents, results = values[:count], values[count : count + len(inputs)], values[count + len(inputs) :]
        ctx = new_node(context)
        ctx.needs_input_grad = tuple(position in inputs for position in range(positional))
        if setup_context is not None:
            keywords = dict(zip(signature.names[positional:], args[positional:], strict=True))
            setup_context(
                ctx=ctx,
                inputs=args[:positional],
                **({"keyword_only_inputs": keywords} if keywords else {}),
                output=results[0] if len(results) == 1 else results,
            )
            ctx._saved = tuple(NOTHING if tensor is None else save(tensor) for tensor in ctx._to_save)
        given: list[Any] = [None] * positional
        for position, tangent in zip(inputs, tangents, strict=True):
            given[position] = tangent
        return jvp(ctx, *given)

    return compute
