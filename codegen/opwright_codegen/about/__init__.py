"""The commands that are about Opwright itself, and need no project."""
