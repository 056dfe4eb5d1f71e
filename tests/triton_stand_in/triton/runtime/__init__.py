"""Kernels, and what runs them."""
