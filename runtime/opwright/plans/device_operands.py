"""Operands and results of CUDA kernels: on the right device, in one dtype, dense or with strides that a loop walks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from opwright.arrays.dtypes import DType
from opwright.errors import DispatchError

__all__ = ["broadcast_strides", "dense", "dense_out", "dtype_of", "merged", "placed"]

Shape = tuple[int, ...]


def dtype_of(
    given: Sequence[Any], arguments: Sequence[tuple[str, str]], known: Collection[DType], operator: str
) -> DType:
    """Return the dtype of the arrays, one of those `known`. Raises DispatchError."""
    named = zip(given, arguments, strict=True)
    (first, dtype), *others = [(name, value.dtype) for value, (name, sort) in named if sort == "array"]
    for name, other in others:
        if other != dtype:
            message = f"{first!r} is {dtype} and {name!r} {other}: a CUDA kernel takes arrays of one dtype"
            raise DispatchError(f"{operator}: {message}, to which `meta` casts what it takes as operands")
    for listed in known:
        if listed == dtype:
            return listed
    listed_names = ", ".join(map(str, known))
    raise DispatchError(f"{operator}: not implemented for {dtype}: its CUDA kernel takes {listed_names}")


def placed(cupy: Any, value: Any, dtype: DType) -> Any:
    """Return an operand as an array of the current device."""
    array = cupy.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value
    if array.device.id != cupy.cuda.runtime.getDevice():
        array = cupy.array(array)
    return array if array.dtype.num == dtype.num else array.view(dtype)  # `long long` beside `long`


def dense(array: Any, shape: Shape) -> Any:
    """Return the array broadcast to a shape, its elements one behind the other; itself where it is that."""
    if array.shape == shape and array.flags.c_contiguous:
        return array
    import cupy

    return cupy.broadcast_to(array, shape).copy("C")


def dense_out(cupy: Any, out: Any, shapes: Sequence[Shape], dtype: DType, operands: Sequence[Any]) -> list[Any]:
    """Return arrays for the results: `out` where it is dense, of that shape and dtype, and apart from all operands."""
    if out is not None and out.flags.c_contiguous and (out.shape, out.dtype) == (shapes[0], dtype):
        first, last = _extent(out)
        if all(high <= first or last <= low for low, high in map(_extent, operands)):
            return [out]
    return [cupy.empty(shape, dtype) for shape in shapes]


def _extent(array: Any) -> tuple[int, int]:
    """Return the addresses from which and up to which the elements of an array lie."""
    first = int(array.data.ptr)
    if array.size == 0:
        return first, first
    reaches = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)]
    low: int = sum(reach for reach in reaches if reach < 0)
    high: int = sum(reach for reach in reaches if reach > 0)
    return first + low, first + high + int(array.itemsize)


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
