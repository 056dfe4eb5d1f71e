"""Mixed precision: a kernel at Autocast casts its arguments to one dtype and goes on without that key."""

import opwright
from opwright import Tensor
from opwright.amp import cached_cast, promote_type
from opwright.library import Library

library = Library("myops", "IMPL", "Autocast")


def myadd_autocast(self: Tensor, other: Tensor) -> Tensor:
    with opwright.dispatch.exclude_keys("Autocast"):
        dtype = promote_type(opwright.get_autocast_dtype("cpu"), self, other)
        return opwright.ops.myops.myadd(cached_cast(dtype, self), cached_cast(dtype, other))


library.impl("myadd", myadd_autocast)
