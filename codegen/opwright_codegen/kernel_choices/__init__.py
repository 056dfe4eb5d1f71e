"""Kernels, rules and expressions bound to the operators and keys that they handle."""
