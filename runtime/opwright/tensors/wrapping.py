"""`wrap` and `wrap_view` as kernels call them: those of the compiled core, if it runs (`runtime/fast/wrapping.c`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.arrays.devices import Array
from opwright.arrays.dtypes import CANONICAL, REDUCED
from opwright.arrays.size import Size
from opwright.arrays.storage import Extra, Storage
from opwright.core import fast
from opwright.tensors import tensor
from opwright.tensors.tensor import Tensor

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
