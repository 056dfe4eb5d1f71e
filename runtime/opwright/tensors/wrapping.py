"""`wrap` and `wrap_view` as kernels call them: those of the compiled core, if it runs (`runtime/fast/wrapping.c`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.arrays.devices import Array
from opwright.arrays.dtypes import CANONICAL, REDUCED
from opwright.arrays.size import Size
from opwright.arrays.storage import Extra, Storage
from opwright.core import fast
from opwright.keys import DENSE_CPU, ODD, TRACKED, VIEW
from opwright.tensors import tensor
from opwright.tensors.tensor import Tensor

__all__ = ["wrap", "wrap_view"]

if fast is not None:
    fast.configure_storage(Extra, Storage)
    computing = tuple([dtype for dtype in CANONICAL if dtype not in REDUCED])
    fast.configure_wrapping(
        tensor.wrap, tensor.wrap_view, computing, DENSE_CPU, ODD, VIEW, tensor.KEYS_OF_VIEWS, TRACKED
    )
    fast.serve_facts(tensor.Tensor, Size, tensor.CPU_DEVICE)

wrap: Final[Callable[[Array], Tensor]] = tensor.wrap if fast is None else fast.wrap
wrap_view: Final[Callable[[Tensor, Array], Tensor]] = tensor.wrap_view if fast is None else fast.wrap_view
