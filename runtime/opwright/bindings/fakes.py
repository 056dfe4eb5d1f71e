"""Tensors without data, of the shapes and dtypes of another framework's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.fake.arrays import meta_array, wrap_meta
from opwright.fake.modes import FakeTensorMode
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.tensors.tensor import Tensor

__all__ = ["fake"]


def fake(shape: Sequence[int], dtype: Any, mode: FakeTensorMode) -> Tensor:
    """Return a tensor without data."""
    sizes = tuple(shape)
    return wrap_meta(meta_array(sizes, contiguous_strides(sizes), as_dtype(dtype), mode.place(Device("cpu"))))
