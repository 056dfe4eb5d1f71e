"""Opwright runtime."""
