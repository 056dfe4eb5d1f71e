"""`kernels_cuda/`: kernels on CuPy arrays. The first call that needs one imports the module, and CuPy with it."""

from opwright_codegen.targets.kernels.backend import Backend
from opwright_codegen.targets.kernels.native_calls import MODULE

FOLDER = "kernels_cuda"
BACKEND = Backend("CUDA", "cp", "cupy", has_plain_arrays=False, native=(f"..{MODULE}", "cuda", MODULE))
