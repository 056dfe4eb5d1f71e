"""Answers to lower rooms about operators (`opwright_core.hooks.Operators`)."""

from opwright.inspection.kernel_sources import name_row, wrong_result

__all__ = ["name_row", "wrong_result"]
