"""Names that are found late: of functions, methods of other packages, docstrings and optional packages."""
