"""Special functions: gamma, Bessel, Airy, error functions, orthogonal polynomials."""
