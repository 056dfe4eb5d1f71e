"""The cost of operators, derived: floating-point operations, transcendental functions, bytes read and written."""
