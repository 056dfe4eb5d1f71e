"""Factors of matrices, solutions and what follows from them."""
