"""`kernels_cpu/`: kernels on NumPy arrays."""

from opwright_codegen.targets.kernels.backend import Backend

FOLDER = "kernels_cpu"
BACKEND = Backend("CPU", "np", "numpy", has_plain_arrays=True)
