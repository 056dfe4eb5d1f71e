"""CPU kernels. They see Tensors; `numpy(force=True)` is the array, also of one that requires grad."""

import numpy as np

import opwright
from opwright import Tensor
from opwright.library import Library

library = Library("myops", "IMPL", "CPU")


def myadd_cpu(self: Tensor, other: Tensor) -> Tensor:
    print("  myadd on the CPU, in", self.dtype)
    return opwright.from_numpy(self.numpy(force=True) + other.numpy(force=True))


def myround_cpu(self: Tensor) -> Tensor:
    return opwright.from_numpy(np.rint(self.numpy(force=True)))


def mydouble_cpu(self: Tensor) -> Tensor:
    self.numpy(force=True)[...] *= 2
    return self


library.impl("myadd", myadd_cpu)
library.impl("myround", myround_cpu)
library.impl("mydouble_", mydouble_cpu)
