"""The pickles of tensors: a storage, once for all tensors over it, and how each tensor looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opwright.creation.construction import with_known_dtype
from opwright.metadata.view_layouts import as_strided
from opwright.names.late_bound import late_bound
from opwright_core.arrays.devices import backend_named, backend_of
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.storage import Extra, Storage, storage_of
from opwright_core.keys import FRONT_MODE
from opwright_core.tensors.tensor import Tensor, wrap

Reduced = tuple[Callable[..., Tensor], tuple[Any, ...]]


def reduce_tensor(tensor: Tensor) -> Reduced:
    """Return how to build the tensor again: over its storage where arrays have strides, else from a NumPy array.

    It comes back with the attributes that it was given, an instance of a subclass as one. A tensor that an operator
    recorded comes back as a leaf. Raises RuntimeError for a tensor of a transform that is on.
    """
    if type(tensor) is not Tensor:
        return _instance, (type(tensor), late_bound.handlers().attributes_of(tensor), *_reduce_plain(tensor))
    given = vars(tensor)
    return (_with_attributes, (given, *_reduce_plain(tensor))) if given else _reduce_plain(tensor)


def _reduce_plain(tensor: Tensor) -> Reduced:
    if tensor.keys & FRONT_MODE:
        raise RuntimeError(
            "a tensor of a transform that is on (vmap, grad, jvp, …) is neither pickled nor copied: it stands for "
            "others. Do so with what the transform returns"
        )
    if not hasattr(tensor.array, "strides"):
        backend = backend_of(tensor.array)
        device = backend.device(tensor.array)
        return _from_numpy, (device.type, device.index, backend.to_numpy(tensor.array), tensor.requires_grad)
    strides = tensor.stride()
    if any(stride < 0 for stride in strides):
        tensor = wrap(np.ascontiguousarray(tensor.array))
        strides = tensor.stride()
    placed = tensor.shape, strides, tensor.storage_offset(), tensor.dtype
    return _over_storage, (storage_of(tensor), *placed, tensor.requires_grad)


def _instance(
    cls: type[Tensor], attributes: dict[str, Any], rebuild: Callable[..., Tensor], arguments: tuple[Any, ...]
) -> Tensor:
    plain = rebuild(*arguments)
    made: Tensor = late_bound.handlers().instance_like(cls, attributes, plain)
    return made.requires_grad_() if plain.requires_grad else made


def _with_attributes(given: dict[str, Any], rebuild: Callable[..., Tensor], arguments: tuple[Any, ...]) -> Tensor:
    made = rebuild(*arguments)
    vars(made).update(given)
    return made


def _over_storage(
    storage: Storage, shape: Shape, strides: Shape, offset: int, dtype: DType, requires_grad: bool
) -> Tensor:
    tensor = wrap(with_known_dtype(as_strided(storage, shape, strides, offset, dtype)))
    tensor.extra = Extra(storage)
    return tensor.requires_grad_() if requires_grad else tensor


def _from_numpy(kind: str, index: int | None, array: np.ndarray[Any, Any], requires_grad: bool) -> Tensor:
    tensor = wrap(backend_named(kind).from_numpy(with_known_dtype(array), index))
    return tensor.requires_grad_() if requires_grad else tensor


def share(tensor: Tensor) -> Tensor:
    """Return a second tensor over the same storage, for `copy.copy`."""
    if not tensor.is_leaf:
        raise RuntimeError("Only leaf tensors can be copied by copy.copy. Use .detach() first.")
    second = wrap(tensor.array)
    second.extra = Extra(storage_of(tensor))
    if type(tensor) is not Tensor:
        handlers = late_bound.handlers()
        second = handlers.instance_like(type(tensor), handlers.attributes_of(tensor), second)
    elif given := vars(tensor):
        vars(second).update(given)
    return second.requires_grad_() if tensor.requires_grad else second
