"""The names, rows and plans of before, for pickles and for packages that were generated then."""
