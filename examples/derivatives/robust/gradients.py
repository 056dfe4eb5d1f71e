"""Backward functions: over operators, so that gradients have gradients."""

from collections.abc import Sequence

from opwright import Tensor


def scaled_rows_backward(
    grad: Tensor, x: Tensor, weight: Tensor, length: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of `self` and `weight`, None for the one that nobody asks for."""
    unit = x / length
    to_weight = (grad * unit).sum_to_size(weight.shape) if mask[1] else None
    if not mask[0]:
        return None, to_weight
    scaled = grad * weight
    return (scaled - unit * (scaled * unit).sum(-1, keepdim=True)) / length, to_weight


def blend_backward(
    grad: Tensor, tensors: Sequence[Tensor], weights: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Gradients for each tensor of both lists."""
    return [grad * weight for weight in weights], [grad * tensor for tensor in tensors]
