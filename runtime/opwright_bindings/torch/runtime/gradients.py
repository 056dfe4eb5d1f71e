"""Gradients by formulas over `torch.ops`, which PyTorch traces and differentiates as its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.tangents import Rule, register_recorded

__all__ = ["need_of", "needs_of", "register_formulas", "spread"]


def register_formulas(
    library: torch.library.Library,
    overload: torch._ops.OpOverload,
    arguments: Arguments,
    kept: Callable[..., tuple[Any, ...]],
    backward: Callable[..., Any],
    of: Sequence[str],
    outputs: Sequence[int],
    rule: Rule,
) -> None:
    """Register the formulas of one operator, and the rule of its tangents."""
    positions = [arguments.names.index(name) for name in of]
    count = len(overload._schema.returns)
    is_list = count == 1 and "List[" in str(overload._schema.returns[0].type)
    is_several = len(outputs) > 1 or is_list

    def setup_context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        values = arguments.filled(tuple(inputs), keyword_only_inputs or {})
        results = output if count > 1 else (output,)
        _keep(ctx, kept(*values, *results))
        other = [results[position] for position in range(count) if position not in outputs]
        if other:
            ctx.mark_non_differentiable(*other)

    def gradients(ctx: Any, *grads: Any) -> Any:
        chosen = grads[0] if is_list else [grads[position] for position in outputs] if is_several else grads[outputs[0]]
        found = backward(chosen, needs_of(ctx, positions), *_unpacked(ctx))
        return spread(ctx, positions, found)

    register_recorded(library, overload, arguments, gradients, setup_context, rule)


def needs_of(ctx: Any, positions: Sequence[int]) -> list[bool]:
    """Return which arguments need a gradient; a list of tensors does if one of them does."""
    needs = [need_of(ctx, position) for position in positions]
    return [any(each) if isinstance(each, (list, tuple)) else each for each in needs]


def need_of(ctx: Any, position: int) -> Any:
    """Return whether an argument needs a gradient; one for each tensor of a list. PyTorch leaves out the last ones that
    are at their defaults."""
    needs = ctx.needs_input_grad
    return needs[position] if position < len(needs) else False


def spread(ctx: Any, positions: Sequence[int], found: Sequence[Any]) -> Any:
    """Return a gradient for each argument, None for those without."""
    given: list[Any] = [
        [None] * len(each) if isinstance(each, (list, tuple)) else None for each in ctx.needs_input_grad
    ]
    for position, value in zip(positions, found, strict=True):
        if position >= len(given):
            continue
        if isinstance(given[position], list):
            given[position] = list(value) if value is not None else given[position]
        elif need_of(ctx, position):  # (PyTorch refuses a gradient of what was None)
            given[position] = value
    return tuple(given) if len(given) > 1 else given[0]


def _keep(ctx: Any, values: Sequence[Any]) -> None:
    """Save tensors, in lists too, and keep the rest."""
    tensors: list[Any] = []
    shape: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            shape.append(slice(len(tensors), None))
            tensors.append(value)
        elif isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
            shape.append(slice(len(tensors), len(tensors) + len(value)))
            tensors += value
        else:
            shape.append((value,))
    ctx.save_for_backward(*tensors)
    ctx.kept = shape


def _unpacked(ctx: Any) -> list[Any]:
    tensors = ctx.saved_tensors
    found = []
    for each in ctx.kept:
        if not isinstance(each, slice):
            found.append(each[0])
        elif each.stop is None:
            found.append(tensors[each.start])
        else:
            found.append(list(tensors[each]))
    return found
