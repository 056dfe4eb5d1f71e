"""Target `kernels_cpu.py`: kernels on NumPy arrays."""

from opwright_codegen.targets.kernels import Backend

FILE = "kernels_cpu.py"
BACKEND = Backend("CPU", "np", "numpy", has_plain_arrays=True)
