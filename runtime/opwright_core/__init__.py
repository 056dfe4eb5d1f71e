"""The small runtime: what generated code is linked to (`opwright_core.abi`), and what a call runs through.

The library on it, by PyTorch's names, is `opwright`. Nothing here imports that: what is asked of it is loaded by name,
by the first question (`late_bound`).
"""

import warnings

from opwright_core.locks.imports import guard_imports as _guard_imports

__version__ = "0.1.0"  # of the core and of all that is built on it

# Floating point overflows and divides by zero in silence, as in PyTorch: NumPy's warnings of it stay on for everyone
# else's code. A filter by module costs a call nothing; generated packages have theirs (`registering.install`).
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"opwright(_core|_kernels)?\.")
_guard_imports()
