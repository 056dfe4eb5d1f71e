"""Operators as objects to look at: schemas, tables, kernels, and errors that have to be worded at length."""
