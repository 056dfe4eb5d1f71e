"""Target `kernels_cuda.py`: kernels on CuPy arrays. The first call that needs one imports the module, and CuPy."""

from opwright_codegen.targets.kernels import Backend

FILE = "kernels_cuda.py"
BACKEND = Backend("CUDA", "cp", "cupy", has_plain_arrays=False)
