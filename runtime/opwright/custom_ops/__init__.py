"""Custom operators: Python functions as operators, with gradients, fake kernels and the rest registered for them.

Loaded when `opwright.library` is first asked for one of these names.
"""

from opwright.custom_ops.definition import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op"]
