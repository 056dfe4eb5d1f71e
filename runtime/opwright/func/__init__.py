"""Transforms of functions, which nest: `vmap`, `grad`, `vjp`, `jvp`, jacobians, `hessian`. Names of `torch.func`."""

from opwright.batching.transform import vmap
from opwright.functionalize.transform import functionalize
from opwright.func.transforms import grad, grad_and_value, jvp, vjp

__all__ = ["functionalize", "grad", "grad_and_value", "jvp", "vjp", "vmap"]
