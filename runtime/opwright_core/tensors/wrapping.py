"""`wrap` and `wrap_view` as kernels call them: those of the compiled core, if it runs (`fast/arrays/wrapping.c`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright_core.arrays.devices import Array
from opwright_core.arrays.dtypes import CANONICAL, REDUCED
from opwright_core.arrays.size import Size
from opwright_core.arrays.storage import Extra, Storage
from opwright_core.core import fast
from opwright_core.tensors import tensor
from opwright_core.tensors.tensor import Tensor

__all__ = ["wrap", "wrap_view"]

if fast is not None:
    computing = tuple([dtype for dtype in CANONICAL if dtype not in REDUCED])
    fast.configure(
        Extra=Extra, Storage=Storage, wrap=tensor.wrap, wrap_view=tensor.wrap_view, computing_dtypes=computing,
        KEYS_OF_VIEWS=tensor.KEYS_OF_VIEWS, Size=Size, CPU_DEVICE=tensor.CPU_DEVICE,
    )  # fmt: skip
    fast.install_properties(tensor.Tensor)

wrap: Final[Callable[[Array], Tensor]] = tensor.wrap if fast is None else fast.wrap
wrap_view: Final[Callable[[Tensor, Array], Tensor]] = tensor.wrap_view if fast is None else fast.wrap_view
