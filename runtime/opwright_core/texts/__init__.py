"""Errors worded at length, and docstrings."""
