"""Tensor, and how tensors are made: from data, and from the results of kernels."""
