"""The operators and kernels that are registered, and which of them handles a call."""
