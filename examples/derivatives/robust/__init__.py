"""Kernels and backward functions of the operators of `ops.yaml`."""
