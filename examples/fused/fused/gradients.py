"""Derivatives of derivatives, and tangents: over operators, so that they are differentiable themselves.

They compute a row's statistics again: those that a forward pass returned are constants to whoever differentiates.
"""

from collections.abc import Sequence

from opwright import Tensor


def normalized(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Each row at mean 0 and variance 1, and its reciprocal deviation."""
    centered = x - x.mean(-1, keepdim=True)
    rstd = ((centered * centered).mean(-1, keepdim=True) + eps).rsqrt()
    return centered * rstd, rstd


def projected(v: Tensor, hat: Tensor) -> Tensor:
    """`v` without what moves a row's mean or its length: normalising takes that out again."""
    return v - v.mean(-1, keepdim=True) - hat * (v * hat).mean(-1, keepdim=True)


def sum_of_rows(v: Tensor) -> Tensor:
    """One row, the sum of all."""
    return v.sum_to_size(v.shape[-1:])


def layer_norm_tangent(
    x: Tensor, x_t: Tensor | None, weight: Tensor | None, weight_t: Tensor | None, bias_t: Tensor | None, eps: float
) -> Tensor:
    """How the result moves."""
    hat, rstd = normalized(x, eps)
    moved = hat * 0 if x_t is None else rstd * projected(x_t, hat)
    moved = moved if weight is None else moved * weight
    moved = moved if weight_t is None else moved + hat * weight_t
    return moved if bias_t is None else moved + bias_t


def layer_norm_double_backward(
    grads: Sequence[Tensor | None], grad_y: Tensor, x: Tensor, weight: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients of `grad_y`, `x` and `weight`, from those of the three gradients."""
    hat, rstd = normalized(x, eps)
    scaled = grad_y if weight is None else grad_y * weight
    to_y = to_hat = x * 0
    to_x, to_weight = x * 0, None
    if (given := grads[0]) is not None:
        moved = rstd * projected(given, hat)
        to_y = moved if weight is None else moved * weight
        to_weight = None if weight is None else sum_of_rows(grad_y * moved)
        to_hat = -rstd * (scaled * (given * hat).mean(-1, keepdim=True) + given * (scaled * hat).mean(-1, keepdim=True))
        to_x = -rstd * rstd * hat * (given * projected(scaled, hat)).mean(-1, keepdim=True)
    if (given := grads[1]) is not None:
        to_y, to_hat = to_y + given * hat, to_hat + given * grad_y
    if (given := grads[2]) is not None:
        to_y = to_y + given
    return to_y, to_x + rstd * projected(to_hat, hat), to_weight


def against_target(v: Tensor, logits: Tensor, target: Tensor) -> Tensor:
    """For each row the mean of `v` by softmax, less its element at the target."""
    return (v * logits.softmax(-1)).sum(-1) - v.gather(-1, target.unsqueeze(-1)).squeeze(-1)


def cross_entropy_double_backward(grad: Tensor, grad_loss: Tensor, logits: Tensor) -> Tensor:
    """The gradient of the logits, from that of their gradient."""
    p = logits.softmax(-1)
    return grad_loss.unsqueeze(-1) * p * (grad - (grad * p).sum(-1, keepdim=True))
