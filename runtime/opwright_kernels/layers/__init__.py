"""Kernels of layers: attention, embeddings, normalization, losses."""
