"""Operators for JAX: what modules that `bindings = ["jax"]` writes import."""

from __future__ import annotations

from opwright.bindings.frameworks import FrameworkMissing

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("jax", "jaxlib"):
        raise
    raise FrameworkMissing("JAX", "jax") from None

from opwright.bindings.jax.binding import Binding, Function, open_binding
from opwright.bindings.jax.costs import cost
from opwright.bindings.jax.gradients import Gradients
from opwright.bindings.jax.native import Kernel, Loop

__all__ = ["Binding", "Function", "Gradients", "Kernel", "Loop", "cost", "open_binding"]
