"""A stand-in for CuPy where there is no GPU: the names, parameters and loops of the CuPy that is installed, computed by
NumPy in the memory of the host.

What CuPy refuses is refused: operands of NumPy, implicit conversion, unknown keywords, dtypes without a loop. Shapes,
strides and views are CuPy's own. Kernels of `RawModule` are compiled as C++ and run on the CPU. What it cannot show:
that CuPy's kernels compile, that they compute what NumPy computes, the order and rounding of parallel reductions,
streams, several devices, memory that runs out.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

import cupy

from .module import CUPY

# Whether the tests run on a GPU. OPWRIGHT_CUDA=stand-in takes the stand-in where there is one, too.
HAS_GPU = bool(cupy.cuda.is_available()) and os.environ.get("OPWRIGHT_CUDA") != "stand-in"


def cupy_for_tests() -> ModuleType:
    """CuPy where there is a GPU; else the stand-in, which `import cupy` gives from now on in this process."""
    if HAS_GPU:
        return cupy
    sys.modules["cupy"] = CUPY
    return CUPY
