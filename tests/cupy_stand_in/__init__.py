"""A stand-in for CuPy where there is no GPU: the names, parameters and loops of the CuPy that is installed, computed by
NumPy in the memory of the host.

What CuPy refuses is refused: operands of NumPy, implicit conversion, unknown keywords, dtypes without a loop. Shapes,
strides and views are CuPy's own. What it cannot show: that kernels compile, that they compute what NumPy computes, the
order and rounding of parallel reductions, streams, several devices, memory that runs out.
"""

from __future__ import annotations

import sys
from types import ModuleType

from .module import CUPY


def install() -> ModuleType:
    """Let `import cupy` give the stand-in from now on, and return it."""
    sys.modules["cupy"] = CUPY
    return CUPY
