"""Data files of the generator."""
