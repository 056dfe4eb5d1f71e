"""Gradients that are too long for a line of derivatives.yaml."""

from opwright import Tensor, where


def clip_rows_backward(grad: Tensor, rows: Tensor, limit: float) -> Tensor:
    """Return the gradient of `clip_rows`: what would only lengthen a row that was scaled down is lost."""
    norms = rows.norm(2, -1, keepdim=True).clamp_min(1e-12)
    along = rows * ((grad * rows.conj()).sum(-1, keepdim=True).real / (norms * norms))
    return where(norms > limit, (grad - along) * (limit / norms), grad)
