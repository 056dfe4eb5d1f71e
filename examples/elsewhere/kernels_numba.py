"""The kernels that Numba compiles: plain Python, which need not import it."""

import numpy as np


def axpy(n, x, y, alpha, out):
    """Write alpha * x + y into out, as the function in C does: x, y and out are pointers."""
    for i in range(n):
        out[i] = alpha * x[i] + y[i]


def axpy_of_arrays(x, y, alpha):
    """Return alpha * x + y: x and y are arrays."""
    return np.asarray(alpha * x + y).astype(x.dtype)
