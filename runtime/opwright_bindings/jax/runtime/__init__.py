"""Operators for JAX: what modules that `bindings = ["jax"]` writes import."""

from __future__ import annotations

from opwright_bindings.frameworks import FrameworkMissing

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("jax", "jaxlib"):
        raise
    raise FrameworkMissing("JAX", "jax") from None

from opwright_bindings.jax.runtime.binding import Binding, Function, open_binding
from opwright_bindings.jax.runtime.costs import cost
from opwright_bindings.jax.runtime.gradients import Gradients
from opwright_bindings.jax.runtime.native import Kernel, Loop

__all__ = ["Binding", "Function", "Gradients", "Kernel", "Loop", "cost", "open_binding"]
