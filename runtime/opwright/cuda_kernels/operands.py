"""Operands and results of CUDA kernels: on the right device, in one dtype, dense or with strides that a loop walks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright_core.arrays.dtypes import DType

__all__ = ["DeviceResult", "broadcast_strides", "dense", "dense_out", "merged", "placed", "seen"]

Shape = tuple[int, ...]


def placed(cupy: Any, value: Any, dtype: DType) -> Any:
    """Return an operand as an array of the current device and of that dtype."""
    array = cupy.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value
    if array.device.id != cupy.cuda.runtime.getDevice():
        array = cupy.array(array)
    if array.dtype != dtype:
        return array.astype(dtype)
    return array if array.dtype.num == dtype.num else array.view(dtype)  # `long long` beside `long`


def dense(array: Any, shape: Shape) -> Any:
    """Return the array broadcast to a shape, its elements one behind the other; itself where it is that."""
    if array.shape == shape and array.flags.c_contiguous:
        return array
    import cupy

    return cupy.broadcast_to(array, shape).copy("C")


def dense_out(
    cupy: Any, out: Any, shapes: Sequence[Shape], dtypes: Sequence[DType], operands: Sequence[Any]
) -> list[Any]:
    """Return arrays for the results: `out` where it is dense, of that shape and dtype, and apart from all operands."""
    if out is not None and out.flags.c_contiguous and (out.shape, out.dtype) == (shapes[0], dtypes[0]):
        first, last = _extent(out)
        if all(high <= first or last <= low for low, high in map(_extent, operands)):
            return [out]
    return [cupy.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def _extent(array: Any) -> tuple[int, int]:
    """Return the addresses from which and up to which the elements of an array lie."""
    first = int(array.data.ptr)
    if array.size == 0:
        return first, first
    reaches = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)]
    low: int = sum(reach for reach in reaches if reach < 0)
    high: int = sum(reach for reach in reaches if reach > 0)
    return first + low, first + high + int(array.itemsize)


class DeviceResult:
    """A result, from `float32 like x over 1 kept`: the dtype that it always has, and what its shape is that of."""

    __slots__ = ("dim", "dtype", "keeps", "like")
    _TEXT = re.compile(r"((?!like\b)\w+)? ?(?:like (\w+)(?: over (-?\d+)( kept)?)?)?")

    def __init__(self, text: str) -> None:
        found = self._TEXT.fullmatch(text)
        assert found is not None
        dtype, self.like, dim, keeps = found.groups()
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.dim = None if dim is None else int(dim)
        self.keeps = keeps is not None

    def shape_of(self, array: Any) -> Shape:
        """Return the shape, where it is that of an array, without a dimension or with 1 for it."""
        sizes = list(array.shape)
        if self.dim is not None and sizes:
            sizes[self.dim : self.dim + 1 or None] = [1] if self.keeps else []
        return tuple(sizes)


class _Described:
    """The position of the elements of an array of a device, for NumPy to compare: nothing there may be read."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = {
            "data": (int(array.data.ptr), False), "shape": array.shape, "strides": array.strides,
            "typestr": array.dtype.str, "version": 3,
        }  # fmt: skip


def seen(array: Any) -> np.ndarray[Any, Any]:
    """Return an array of NumPy whose elements are where those of an array of a device are; nothing may read it."""
    return array if isinstance(array, np.ndarray) else np.asarray(_Described(array))


def broadcast_strides(array: Any, shape: Shape) -> Shape:
    """Return strides, in elements, by which an array is walked under a shape that it broadcasts to."""
    sizes: Shape = array.shape
    own = [0 if size == 1 else step // array.itemsize for size, step in zip(sizes, array.strides, strict=True)]
    return (0,) * (len(shape) - len(sizes)) + tuple(own)


def merged(shape: Shape, strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """Return shape and strides with as few dimensions as they can be walked in, row by row; none for one element."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for dim, size in enumerate(shape):
        here = [each[dim] for each in strides]
        if size == 1:
            continue
        if sizes and all(found[-1] == step * size for found, step in zip(steps, here, strict=True)):
            sizes[-1] *= size
            for found, step in zip(steps, here, strict=True):
                found[-1] = step
            continue
        sizes.append(size)
        for found, step in zip(steps, here, strict=True):
            found.append(step)
    return tuple(sizes), [tuple(each) for each in steps]
