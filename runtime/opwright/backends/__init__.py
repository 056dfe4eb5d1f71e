"""Backends beside NumPy's, and the calls that bring their arrays together."""
