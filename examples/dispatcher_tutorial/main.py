"""The programme of PyTorch's dispatcher tutorial: one operator, its kernels in modules that know nothing of each other.

Run it: python examples/dispatcher_tutorial/main.py
"""

from typing import Any

import myops
import myops_autocast  # noqa: F401
import myops_autograd  # noqa: F401
import myops_cells  # noqa: F401
import myops_cpu  # noqa: F401
import myops_cuda  # noqa: F401

import opwright
from opwright import dispatch
from opwright.dispatch import KeySet
from opwright.library import Library

myadd = opwright.ops.myops.myadd
x = opwright.tensor([1.0, 2.0], requires_grad=True)
y = opwright.tensor([10.0, 20.0])

print("On the CPU, recorded:")
z = myadd(x, y)
print(" ", z)
z.sum().backward()
print("  gradient:", x.grad)

print("On a backend of our own:")
print(" ", myadd(y.to("cells"), y.to("cells")).cpu())

print("On CUDA, without a GPU and without data:")
myops.library.register_fake("myadd", lambda self, other: self.new_empty(self.shape))
with opwright.fake.FakeTensorMode():
    print(" ", myadd(opwright.empty(2, device="cuda"), opwright.empty(2, device="cuda")).device)

print("Under autocast, bfloat16 and float32 meet in float32:")
with opwright.autocast("cpu"):
    print(" ", myadd(y.to(opwright.bfloat16), y).dtype, myadd(*[y.to(opwright.bfloat16)] * 2).dtype)

print("Without a formula:")
try:
    opwright.ops.myops.myround(x).sum().backward()
except RuntimeError as error:
    print(" ", str(error).partition(",")[0])
print("In place, counted:", opwright.ops.myops.mydouble_(y), "version", y._version)

print("A boxed fallback sees every operator:")


def trace(keyset: KeySet, op: Any, *args: Any, **kwargs: Any) -> Any:
    print("  calling", op)
    return op.redispatch(keyset & KeySet.after("Tracer"), *args, **kwargs)


everywhere = Library("_", "IMPL", "Tracer")
everywhere.fallback(trace, with_keyset=True)
with dispatch.include_keys("Tracer"):
    myadd(y, y).sin()

print("The table:")
dispatch.dump("myops::myadd")
