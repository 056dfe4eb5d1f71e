"""Custom operators: Python functions as operators, with gradients, fake kernels and the rest registered for them.

Loaded when `opwright.library` is first asked for one of these names.
"""

from opwright.library.custom_ops.decorator import custom_op
from opwright.library.custom_ops.definition import CustomOpDef, find_definition
from opwright.library.custom_ops.functions import (
    register_autocast,
    register_autograd,
    register_effect,
    register_kernel,
    register_meta,
    register_torch_dispatch,
    register_vmap,
)
from opwright.library.custom_ops.triton_kernels import triton_op, wrap_triton

__all__ = [
    "CustomOpDef", "custom_op", "find_definition", "register_autocast", "register_autograd", "register_effect",
    "register_kernel", "register_meta", "register_torch_dispatch", "register_vmap",
    "triton_op", "wrap_triton",
]  # fmt: skip
