"""CuPy's arrays as a backend, for the first CUDA device or array that is seen."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from opwright_core import keys
from opwright_core.arrays.devices import Array, Backend, element_strides
from opwright_core.errors import DispatchError

__all__ = ["cuda_backend", "device_count"]


def device_count() -> int:
    """Return how many CUDA devices there are; 0 without CuPy or a driver."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # CuPy raises what the driver says, and ImportError of many kinds
        return 0


def cuda_backend() -> Backend:
    """Return the backend. Raises DispatchError where there is no CuPy."""
    try:
        import cupy
    except ImportError as error:
        raise DispatchError("CUDA needs CuPy: install opwright[cuda]") from error

    def from_numpy(array: np.ndarray[Any, Any], index: int | None) -> Array:
        if index is None:
            return cupy.asarray(array)
        with cupy.cuda.Device(index):
            return cupy.asarray(array)

    return Backend(
        name="cuda",
        key=keys.CUDA,
        keys=keys.DENSE_CUDA,
        array_type=cupy.ndarray,
        array_module=lambda: cupy,
        shape=attrgetter("shape"),
        strides=element_strides,
        dtype=attrgetter("dtype"),
        index=attrgetter("device.id"),
        to_numpy=cupy.asnumpy,
        from_numpy=from_numpy,
        data_ptr=attrgetter("data.ptr"),
    )
