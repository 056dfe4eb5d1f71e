"""The operators and kernels that are registered, and which of them serves a call."""
