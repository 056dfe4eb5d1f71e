"""Arrays of JAX and our tensors: what each becomes where the other takes it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from opwright_core.arrays.devices import is_array
from opwright_core.arrays.dtypes import DType
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["array_of", "is_operand", "kept_dtype", "operand_of", "tensor_of"]


def is_operand(value: Any) -> bool:
    """Whether a value is an array: of JAX (traced or not), of NumPy, or one of ours."""
    return isinstance(value, (jax.Array, np.generic, Tensor)) or is_array(value)


def operand_of(value: Any) -> Any:
    """Return an array as JAX's. As everywhere in JAX, 64 bits become 32 where `jax_enable_x64` is not set."""
    return jax.numpy.asarray(value.detach().numpy() if isinstance(value, Tensor) else value)


def kept_dtype(dtype: DType) -> DType:
    """Return the dtype that JAX has for one: that of 32 bits where `jax_enable_x64` is not set."""
    kept: DType = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    return kept


def tensor_of(array: Any) -> Tensor:
    """Return an array of JAX that has data as a tensor on the same memory, which is not written."""
    return wrap(np.asarray(array))


def array_of(tensor: Tensor, shape: tuple[int, ...], dtype: DType) -> Any:
    """Return a tensor as the array that JAX was promised: one on memory of its own, which JAX may keep."""
    array = tensor.resolve_conj().resolve_neg().detach().numpy()
    if array.shape != shape:
        raise RuntimeError(f"a kernel gave the shape {array.shape} where its fake kernel promised {shape}")
    made = np.ascontiguousarray(array, dtype)
    return (made if made.flags.owndata else made.copy()).reshape(shape)
