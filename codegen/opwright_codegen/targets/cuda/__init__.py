"""Targets of `native/` for CUDA: kernels and loops, as nvcc, CuPy and Python see them."""
