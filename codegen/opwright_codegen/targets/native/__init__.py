"""Targets of `native/`: kernels in C and loops, as C, Python and JAX call them."""
