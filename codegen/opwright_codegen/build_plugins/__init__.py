"""Plug-ins that build backends call, so that `pip install .` generates and compiles."""
