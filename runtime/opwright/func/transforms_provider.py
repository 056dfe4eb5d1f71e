"""Functions that lower packages call in this one (late binding, `opwright_core.late_bound.Transforms`)."""

from opwright.batching.transform import vmap
from opwright.func.levels import enter_dual_level

__all__ = ["enter_dual_level", "vmap"]
