"""Functions that lower packages call in this one (late binding, `opwright_core.late_bound.Gradients`)."""

from opwright.autograd.anomaly import noting
from opwright.autograd.fallbacks import count_writes, warn_in_backward
from opwright.autograd.forward import differentiating
from opwright.autograd.inference import checking, making
from opwright.autograd.inplace_or_view import inplace_or_view
from opwright.autograd.recording import check_out
from opwright.autograd.regenerating import regenerating
from opwright.autograd.tangents import current_tangent

__all__ = [
    "check_out", "checking", "count_writes", "current_tangent", "differentiating", "inplace_or_view", "making",
    "noting", "regenerating", "warn_in_backward",
]  # fmt: skip
