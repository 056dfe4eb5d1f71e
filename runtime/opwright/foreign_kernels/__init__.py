"""Kernels that are written elsewhere: for Numba, for Triton, in modules of tvm-ffi."""
