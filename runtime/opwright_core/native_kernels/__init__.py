"""Kernels in C of generated packages."""
