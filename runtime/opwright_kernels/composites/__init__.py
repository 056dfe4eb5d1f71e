"""Kernels of operators over other operators: on Tensors, so that what they call is recorded, traced and batched."""
