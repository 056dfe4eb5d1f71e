"""Tags of operators, limits of dtypes, and layouts of views."""
