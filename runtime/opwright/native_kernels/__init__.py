"""Kernels in C of generated packages: their libraries, and arrays as they take them."""
