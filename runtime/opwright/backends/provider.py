"""Functions about operators that lower packages call in this one (late binding, `opwright_core.hooks.Operators`)."""

from opwright.backends.numpy_fallback import fall_back_to_numpy
from opwright.inspection.kernel_sources import name_row, wrong_result
from opwright.user_kernels.registering import register_array_kernel

__all__ = ["fall_back_to_numpy", "name_row", "register_array_kernel", "wrong_result"]
