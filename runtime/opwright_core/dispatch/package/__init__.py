"""The parts of generated packages: rows made functions, and kernels that plan."""
