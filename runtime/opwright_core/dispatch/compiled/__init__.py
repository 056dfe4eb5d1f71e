"""The calls and kernels that the compiled core serves by itself."""
