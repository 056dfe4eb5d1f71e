"""Functionalisation: programs that write to tensors as programs that only make new ones."""
