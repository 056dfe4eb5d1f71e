"""Gradients by an operator of their own: for PyTorch a box, in which Opwright differentiates the call.

For gradients that are Python functions over our tensors, and for operators that are composed of others: PyTorch can
trace neither. The call is computed again, and its gradient is not differentiated any further.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opwright_bindings.torch.runtime.arguments import Arguments, Declared
from opwright_bindings.torch.runtime.gradients import need_of, spread
from opwright_bindings.torch.runtime.sharding import register_gradient_sharding
from opwright_bindings.torch.runtime.tangents import Rule, register_recorded
from opwright_bindings.torch.runtime.values import our_tensor, torch_tensor
from opwright_core.tensors.tensor import Tensor

__all__ = ["register_opaque"]


def register_opaque(
    library: torch.library.Library,
    overload: torch._ops.OpOverload,
    arguments: Arguments,
    of: Sequence[str],
    rule: Rule,
) -> None:
    """Define the operator that computes the gradients of `of`, and register it."""
    schema = overload._schema
    name = _name(overload)
    positions = [arguments.names.index(each) for each in of]
    given = str(schema).partition("(")[2].rpartition(") -> ")[0]
    text = given.replace(", *, ", ", ").removeprefix("*, ")
    library.define(f"{name}(Tensor?[] grads_, bool[] needs_, {text}) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,))
    own = getattr(getattr(torch.ops, overload.namespace), name).default
    _register_kernels(library, name, own, arguments, positions)
    register_gradient_sharding(own, arguments, positions)
    returned = [str(each.type) for each in schema.returns]

    def setup_context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
        values = arguments.filled(tuple(inputs), keyword_only_inputs or {})
        flat = [each for value in values for each in (value if isinstance(value, (list, tuple)) else [value])]
        ctx.save_for_backward(*[each for each in flat if isinstance(each, torch.Tensor)])
        ctx.values = [_without_tensors(value) for value in values]
        results = output if isinstance(output, tuple) else (output,)
        flat = [each for value in results for each in (value if isinstance(value, list) else [value])]
        other = [each for each in flat if isinstance(each, torch.Tensor) and not _is_differentiable(each)]
        if other:
            ctx.mark_non_differentiable(*other)

    def backward(ctx: Any, *grads: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        values = [_with_tensors(value, tensors) for value in ctx.values]
        flat = [each for grad in grads for each in (grad if isinstance(grad, (list, tuple)) else [grad])]
        needs = [each for position in positions for each in _as_list(need_of(ctx, position))]
        found = iter(own(flat, needs, *values))
        asked = []
        for position in positions:
            need = need_of(ctx, position)
            made = [next(found) if each else None for each in _as_list(need)]
            asked.append(made if isinstance(need, (list, tuple)) else made[0])
        return spread(ctx, positions, asked)

    if returned:
        register_recorded(library, overload, arguments, backward, setup_context, rule)


def _register_kernels(
    library: torch.library.Library, name: str, own: Any, arguments: Arguments, positions: Sequence[int]
) -> None:
    def wanted(values: list[Any], needs: Sequence[bool]) -> list[Any]:
        flat = [each for position in positions for each in _as_list(values[position])]
        return [each for each, need in zip(flat, needs, strict=True) if need]

    def kernel(grads: Any, needs: Any, *args: Any) -> list[torch.Tensor]:
        from opwright.autograd import grad

        values = arguments.filled(args, {})
        arguments.ours(values, our_tensor)
        inputs = wanted(values, needs)
        for each in inputs:
            each.requires_grad_()
        results = arguments.operator.call(*values)
        flat = [each for value in _as_list(results) for each in _as_list(value)]
        pairs = [
            (result, our_tensor(each))
            for result, each in zip(flat, grads, strict=True)
            if each is not None and isinstance(result, Tensor) and result.requires_grad
        ]
        found: Any = [None] * len(inputs)
        if pairs and inputs:
            found = grad([one for one, _ in pairs], inputs, [other for _, other in pairs], allow_unused=True)
        return [_contiguous(each, made) for each, made in zip(inputs, found, strict=True)]

    def fake(grads: Any, needs: Any, *args: Any) -> list[torch.Tensor]:
        return [
            torch.empty_like(each, memory_format=torch.contiguous_format)
            for each in wanted(arguments.filled(args, {}), needs)
        ]

    def refuse(ctx: Any, *grads: Any) -> Any:
        raise NotImplementedError(
            f"{own}: second derivatives are not there: the gradient is a Python function of Opwright, not a formula "
            "that PyTorch can differentiate"
        )

    library.impl(name, kernel, "CPU")
    library.impl(name, kernel, "CUDA")
    torch.library.register_fake(own._schema.name, fake, lib=library)
    declared = Declared(own._schema)
    register_recorded(library, own, declared, refuse, lambda **kept: None, lambda: None)


def _contiguous(like: Tensor, found: Tensor | None) -> torch.Tensor:
    """Return a gradient as the fake says it is: row by row, and nobody else's memory."""
    theirs = torch.empty(tuple(like.shape), dtype=torch_tensor(like.detach()).dtype, device=str(like.device))
    return theirs.zero_() if found is None else theirs.copy_(torch_tensor(found.detach()))


def _name(overload: torch._ops.OpOverload) -> str:
    base = overload._schema.name.partition("::")[2]
    return f"_{base}_{overload._schema.overload_name}_backward".replace("__backward", "_backward")


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _is_differentiable(tensor: torch.Tensor) -> bool:
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


class _Saved:
    """The position of a tensor that was saved."""


_SAVED = _Saved()


def _without_tensors(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _SAVED
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return [_without_tensors(each) for each in value]
    return value


def _with_tensors(value: Any, tensors: Any) -> Any:
    if value is _SAVED:
        return next(tensors)
    if isinstance(value, list):
        return [_with_tensors(each, tensors) for each in value]
    return value
