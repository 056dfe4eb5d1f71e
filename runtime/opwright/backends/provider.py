"""Functions about operators that lower packages call in this one (late binding, `opwright_core.hooks.Operators`)."""

from opwright.inspection.kernel_sources import name_row, wrong_result

__all__ = ["name_row", "wrong_result"]
