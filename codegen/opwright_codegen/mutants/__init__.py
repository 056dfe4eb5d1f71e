"""Mutants of declarations: each an entry with one change, for a gate that is to notice it."""
