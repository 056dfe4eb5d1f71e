"""Answers to lower rooms about operators (`opwright.hooks.Operators`)."""

from opwright.backends.numpy_fallback import fall_back_to_numpy
from opwright.dispatch.user_kernels import register_array_kernel
from opwright.inspection.kernel_sources import name_row, wrong_result

__all__ = ["fall_back_to_numpy", "name_row", "register_array_kernel", "wrong_result"]
