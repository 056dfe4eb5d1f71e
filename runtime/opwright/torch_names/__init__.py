"""Counterparts of names that PyTorch's own Python sources use, for `opwright.as_torch` (Note [Sources of PyTorch])."""
