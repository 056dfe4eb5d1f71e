"""Images of another size."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_core.arrays.annotations import Images, Spatial
from opwright_core.arrays.dtypes import as_dtype, opmath
from opwright_core.arrays.sizes import guard_or_false, holds
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_kernels.rules.memory_formats import suggested_strides


def upsample(self: Images, ndim: Spatial, output_size: Sequence[int], accepts: str = "floating") -> Plan:
    """Plan (N, C, *sizes) with `ndim` other sizes. Raises RuntimeError unless there are as many, and none is 0."""
    wanted = tuple(output_size)
    if len(wanted) != ndim:
        raise RuntimeError(f"expected an output_size of {ndim} ints, but got {list(wanted)}")
    if self.ndim != ndim + 2:
        raise RuntimeError(f"expected an input of {ndim + 2} dimensions, but got one of size {list(self.shape)}")
    if not all(holds(size >= 1) for size in (*self.shape[2:], *wanted)):
        raise RuntimeError(
            f"input and output sizes should be greater than 0, but got {list(self.shape[2:])} and {list(wanted)}"
        )
    if guard_or_false(self.shape[1] == 0):
        raise RuntimeError(f"expected a tensor with channels, but got one of size {list(self.shape)}")
    given = as_dtype(self.dtype)
    check_accepted(accepts, given)
    compute = opmath(given)
    shape = (*self.shape[:2], *wanted)
    strides = suggested_strides(shape, self)
    return Plan(TensorSpec(shape, strides, given, given, compute, None, (compute is not given,)), (self,))
