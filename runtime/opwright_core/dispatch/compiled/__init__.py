"""The calls and kernels that the compiled core handles by itself."""
