"""Methods of tensors that formulas of gradients use often, as functions with a fast path: they compute on the array
where no mode and no autograd would see an operator, and call the method elsewhere. Results on the fast path are no
views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright_core.arrays.devices import dtype_of
from opwright_core.arrays.dtypes import FLOATING
from opwright_core.keys import CPU_ALONE, GRAD
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor, wrap


def is_array_alone(value: Any) -> bool:
    """Whether a tensor is a NumPy array alone: no mode is on, and no call with it is recorded by autograd."""
    return type(value) is Tensor and type(value.array) is np.ndarray and not with_modes(value.keys) & ~CPU_ALONE


def is_fast_path(*tensors: Any) -> bool:
    """Whether a call may take the fast path: no mode is on, and all operands are NumPy arrays. Autograd may record
    it in fewer steps."""
    keys = 0
    for tensor in tensors:
        if type(tensor) is not Tensor or type(tensor.array) is not np.ndarray:
            return False
        keys |= tensor.keys
    return not with_modes(keys) & ~(CPU_ALONE | GRAD)


def conjugate_of(value: Any) -> Any:
    """Return the conjugate, which of a real tensor is the tensor itself."""
    if type(value) is Tensor:
        array = value.array
        if (array.dtype if type(array) is np.ndarray else dtype_of(array)) in FLOATING:
            return value
    return value.conj()


def adjoint_of(value: Any) -> Any:
    """Return the conjugate transpose of the last two dimensions."""
    if is_array_alone(value) and value.array.ndim > 1 and value.array.dtype in FLOATING:
        return wrap(value.array.swapaxes(-1, -2))
    return value.mH


def turned(value: Any) -> Any:
    """Return the transpose of a matrix."""
    return wrap(value.array.T) if is_array_alone(value) and value.array.ndim == 2 else value.t()


def swapped(value: Any, dim0: int, dim1: int) -> Any:
    """Return the tensor with two dimensions swapped."""
    if is_array_alone(value) and value.array.ndim:
        return wrap(value.array.swapaxes(dim0, dim1))
    return value.transpose(dim0, dim1)


def reshaped(value: Any, shape: Sequence[int]) -> Any:
    """Return the elements in another shape."""
    if is_array_alone(value) and value.array.flags.c_contiguous:
        return wrap(value.array.reshape(shape))
    return value.reshape(shape)


def expanded(value: Any, shape: Sequence[int]) -> Any:
    """Return the value repeated over a shape, with stride 0."""
    if is_array_alone(value) and value.array.flags.c_contiguous and value.array.itemsize > 2 and 0 not in shape:
        array = value.array
        if not array.ndim:
            return wrap(np.ndarray(shape, array.dtype, array, 0, (0,) * len(shape)))
        if array.ndim == len(shape):
            pairs = zip(array.strides, array.shape, shape, strict=True)
            return wrap(np.ndarray(shape, array.dtype, array, 0, [step if a == b else 0 for step, a, b in pairs]))
    return value.expand(shape)


def zeros_for(value: Any, shape: Sequence[int]) -> Any:
    """Return zeros of the tensor's dtype and device."""
    return wrap(np.zeros(shape, value.array.dtype)) if is_array_alone(value) else value.new_zeros(shape)
