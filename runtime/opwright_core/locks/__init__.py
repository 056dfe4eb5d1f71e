"""Locks that survive signals and forks."""
