"""Operators for JAX: what modules that `bindings = ["jax"]` writes import."""

from __future__ import annotations

from opwright.doors.frameworks import FrameworkMissing

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("jax", "jaxlib"):
        raise
    raise FrameworkMissing("JAX", "jax") from None

from opwright.doors.jax.door import Door, Function, open_door
from opwright.doors.jax.native import Kernel, Loop

__all__ = ["Door", "Function", "Kernel", "Loop", "open_door"]
