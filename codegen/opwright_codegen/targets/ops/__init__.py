"""Targets of operators as Python calls them, and the tables that say what handles them."""
