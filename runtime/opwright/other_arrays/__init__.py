"""Calls with arrays of other libraries, lists and numbers where tensors are declared."""
