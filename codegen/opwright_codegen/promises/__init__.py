"""Promises of a project: what its operators are for those who call them, kept, and compared between two states."""
