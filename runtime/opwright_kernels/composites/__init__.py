"""Kernels of operators over other operators: they see Tensors, and whatever they call is recorded, traced and batched."""
