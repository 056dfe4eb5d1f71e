"""Expressions of `kernel:`: what they may contain, and what they are in NumPy, in C and as derivatives."""
