"""The binding to PyTorch. It imports nothing: the halves are `target` and `runtime`."""
