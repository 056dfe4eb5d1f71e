"""The kernel for Triton, which gets what its parameters are called."""

import triton
import triton.language as tl


@triton.jit
def axpy(x, y, alpha, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    is_in = at < n
    tl.store(out + at, alpha * tl.load(x + at, mask=is_in) + tl.load(y + at, mask=is_in), mask=is_in)
