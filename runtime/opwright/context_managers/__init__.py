"""Blocks in which something is switched on for the calls of a thread or task."""
