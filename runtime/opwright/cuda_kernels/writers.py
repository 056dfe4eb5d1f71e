"""CUDA kernels that write arguments: the arrays as they lie on the device, or copies whose values are put back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright.cuda_kernels.calls import DeviceKernel, OnDevice, OnHost
from opwright.cuda_kernels.operands import seen
from opwright_core.arrays.dtypes import DType
from opwright_core.native_kernels.function_kernels import WritingKernel

__all__ = ["CudaHostWriter", "CudaWriter", "Writer"]


class Writer(WritingKernel, DeviceKernel):
    """A kernel that writes arguments. What is checked is checked before anything is written."""

    __slots__ = ()

    def __call__(self, *given: Any) -> None:
        """Run the kernel.

        Raises RuntimeError for written arrays that are not on one device, overlap each other or themselves, or are of
        another shape than the others.
        """
        import cupy

        dtype, shape = self._known(given)
        with cupy.cuda.Device(self._device_of(given)):
            self._check_written(given)
            passed, copied = self._prepared(given, dtype, shape)
            self._compute(passed, (), dtype)
            for value, copy in copied:
                value[...] = copy

    def _device_of(self, given: Sequence[Any]) -> int:
        """Return the device of all arrays that are written. Raises RuntimeError."""
        found: dict[str, str] = {}
        device = 0
        for argument, value in self._arrays(given):
            if argument.is_written:
                on_host = isinstance(value, (np.ndarray, np.generic))
                device = device if on_host else value.device.id
                found.setdefault("cpu" if on_host else f"cuda:{device}", argument.name)
        if list(found) == [f"cuda:{device}"]:
            return device
        shown = " and ".join(f"{name!r} is on {where}" for where, name in found.items())
        raise RuntimeError(f"{self._operator}: {shown}, and its CUDA kernel writes to arrays of one GPU")

    def _seen(self, value: Any) -> np.ndarray[Any, Any]:
        return seen(value)

    def _new(self, shape: tuple[int, ...], dtype: DType) -> Any:
        import cupy

        return cupy.empty(shape, dtype)

    def _typed(self, value: Any, dtype: DType) -> Any:
        return value if value.dtype.num == dtype.num else value.view(dtype)


class CudaWriter(Writer, OnDevice):
    """A kernel of a `CudaSource` that writes arguments."""

    __slots__ = ()


class CudaHostWriter(Writer, OnHost):
    """A kernel that a function of the host launches, and that writes arguments."""

    __slots__ = ()
