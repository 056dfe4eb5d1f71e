"""The registration of kernels and rules at run time, each to be taken back."""
