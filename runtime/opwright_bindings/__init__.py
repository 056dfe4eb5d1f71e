"""Operators given to other frameworks: one package each, which alone imports it."""
