"""The operators of this example called, each beside the C kernel: arrays, gradients, fakes, batches."""

import numpy as np
from elsewhere_demo import ops

import opwright
from opwright.autograd import gradcheck
from opwright.func import vmap
from opwright.library import opcheck

random = np.random.default_rng(0)
x, y = random.standard_normal((3, 4)), random.standard_normal(4)
first, second = (opwright.from_numpy(each.copy()).requires_grad_() for each in (x, y))
expected = ops.axpy_c(x, y, alpha=2.0)

for name in ("axpy_numba", "axpy_arrays", "axpy_tvm"):
    axpy = getattr(ops, name)
    try:
        found = axpy(x, y, alpha=2.0)
    except opwright.errors.DispatchError as error:
        print(error)
        continue
    checked = opcheck(f"elsewhere_demo::{name}", (first, second))
    print(
        f"{name}:",
        "equal" if np.array_equal(found, expected) else "different",
        gradcheck(axpy, (first, second)),
        set(checked.values()),
        vmap(axpy)(opwright.ones(2, 3), opwright.ones(2, 3)).tolist(),
    )

if opwright.cuda.is_available():
    given = (opwright.from_numpy(each).cuda() for each in (x, y))
    print("axpy_triton:", np.allclose(ops.axpy_triton(*given, alpha=2.0).cpu(), expected))
