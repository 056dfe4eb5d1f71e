"""The functions that make tensors of a caller's data."""
