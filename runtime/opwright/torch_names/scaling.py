"""The operators under PyTorch's `GradScaler`: gradients unscaled, and the next scale."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = ["unscale", "update_scale"]


def unscale(grads: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients in place by `inv_scale`, and set `found_inf` to 1 if one has a number that is not finite."""
    for grad in grads:
        if not bool(aten["all"](aten["isfinite"](grad))):
            found_inf.fill_(1.0)
        grad.mul_(inv_scale)


def update_scale(
    scale: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    growth_factor: float,
    backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """Let the scale, in place, shrink after a step that was left out, and grow after `growth_interval` others."""
    if found_inf.item():
        scale.mul_(backoff_factor)
        growth_tracker.fill_(0)
    elif growth_tracker.item() + 1 < growth_interval:
        growth_tracker.add_(1)
    else:
        grown = scale * growth_factor
        if bool(aten["isfinite"](grown)):
            scale.copy_(grown)
        growth_tracker.fill_(0)
    return scale
