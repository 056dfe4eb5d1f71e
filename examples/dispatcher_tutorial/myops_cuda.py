"""CUDA kernels, in a module of their own. Registering them takes no GPU; calling them does."""

import opwright
from opwright import Tensor
from opwright.library import Library

library = Library("myops", "IMPL", "CUDA")


def myadd_cuda(self: Tensor, other: Tensor) -> Tensor:
    return opwright.as_tensor(self.array + other.array)  # CuPy arrays


library.impl("myadd", myadd_cuda)
