"""Calls with numbers, lists and arrays of other libraries."""
