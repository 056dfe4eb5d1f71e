"""Dimension rules that depend on a call: texts of `dims`, made of shapes and values of arguments."""
