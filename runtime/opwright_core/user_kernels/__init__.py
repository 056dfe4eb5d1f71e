"""Functions of users made kernels."""
