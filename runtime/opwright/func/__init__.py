"""Transforms of functions, which nest: `vmap`, `grad`, `vjp`, `jvp`, jacobians, `hessian`. Names of `torch.func`."""

from opwright.batching.transform import vmap
from opwright.func.debugging import debug_unwrap
from opwright.func.jacobians import hessian, jacfwd, jacrev
from opwright.func.transforms import grad, grad_and_value, jvp, linearize, vjp
from opwright.functionalize.transform import functionalize

__all__ = [
    "debug_unwrap", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp",
    "vmap",
]  # fmt: skip
