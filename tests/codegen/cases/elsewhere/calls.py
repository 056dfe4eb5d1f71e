"""Calls of `demo_elsewhere`: modules of kernels are imported by a call, and not before; without data none is needed."""

import sys

from demo_elsewhere import ops

import opwright

x = opwright.ones(2, 3)
assert "elsewhere_kernels" not in sys.modules

for call in (lambda: ops.axpy(x, x), lambda: ops.axpy(x, x, out=x.clone()), lambda: ops.of_arrays(x, 1)):
    try:
        call()
    except NotImplementedError as error:
        assert "has a kernel for Numba: elsewhere_kernels cannot be imported" in str(error), error
    else:
        raise AssertionError("the module of the kernel cannot be imported")
for call in (lambda: ops.scale_(x.clone(), 2), lambda: ops.scale(x, 2), lambda: ops.counted(x, x)):
    try:
        call()
    except (ImportError, RuntimeError, OSError, TypeError, ValueError) as error:
        assert "scale" in str(error) or "counted" in str(error) or "tvm_ffi" in str(error), error
    else:
        raise AssertionError("the library of the kernel does not exist")

without_data = opwright.empty(2, 1, device="meta")
assert ops.axpy(without_data, opwright.empty(3, device="meta"), alpha=2).shape == (2, 3)
value, count = ops.counted(without_data, without_data)
assert value.shape == count.shape == (2, 1)
