"""PyTorch's place for fake tensors."""
