"""Instances of Tensor subclasses: over a tensor's memory, or as wrappers that have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from opwright.names.late_bound import late_bound
from opwright.python_dispatch.overrides import ask_of_members, handles_functions
from opwright_core.arrays import layouts
from opwright_core.arrays.dense import nondense_bit
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import as_dtype, get_default_dtype
from opwright_core.arrays.storage import Extra, storage_of
from opwright_core.keys import GRAD, PRE_DISPATCH, PYTHON, VIEW
from opwright_core.tensors.tensor import Tensor

__all__ = ["attributes_of", "instance_like", "make_subclass", "make_wrapper", "same_history"]

Sub = TypeVar("Sub", bound=Tensor)


def make_subclass(cls: type[Sub], data: Tensor, require_grad: bool) -> Sub:
    """Return an instance over the memory of a tensor, without its history."""
    if not isinstance(data, Tensor):
        raise TypeError(f"{cls.__name__} is made from a Tensor, got {type(data).__name__}")
    made = _bare(
        cls, data.array, data.keys & ~(GRAD | VIEW | PYTHON | PRE_DISPATCH) | _bit(cls), Extra(storage_of(data))
    )
    if require_grad:
        made.requires_grad_()
    return made


def same_history(cls: type[Sub], tensor: Tensor) -> Sub:
    """Return an instance over the memory of a tensor, at its position in the graph."""
    made = make_subclass(cls, tensor, False)
    made.keys |= tensor.keys & GRAD
    made.edge = tensor.edge
    return made


def make_wrapper(
    cls: type[Sub],
    size: Sequence[int],
    strides: Sequence[int] | None,
    storage_offset: int | None,
    dtype: object,
    device: Device | str | None,
    requires_grad: bool,
) -> Sub:
    """Return an instance without data that looks like a tensor of this size, dtype and device."""
    fakes = late_bound.fakes()
    handled = _bit(cls)
    if not handled & PYTHON:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__: without data, nothing else can serve it")
    shape = tuple(size)
    steps = layouts.contiguous_strides(shape) if strides is None else tuple(strides)
    place = fakes.place_on(as_device("cpu" if device is None else device))
    array = fakes.meta_array(shape, steps, get_default_dtype() if dtype is None else as_dtype(dtype), place)
    array.offset = (storage_offset or 0) * array.itemsize
    made = _bare(cls, array, place.keys | nondense_bit(array) | handled, None)
    if requires_grad:
        made.requires_grad_()
    return made


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """Return what an instance of a subclass has beside what a Tensor has."""
    names = [*getattr(tensor, "__dict__", ())]
    for kind in type(tensor).__mro__[: type(tensor).__mro__.index(Tensor)]:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    own = {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}
    own.pop("__dict__", None)
    return own


def instance_like(cls: type[Sub], attributes: dict[str, Any], tensor: Tensor) -> Sub:
    """Return an instance with these attributes instead of a plain tensor, without its history."""
    made = _bare(cls, tensor.array, tensor.keys & ~GRAD | _bit(cls), tensor.extra)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def _bit(cls: type[Tensor]) -> int:
    """Return the keys that instances dispatch by, where their class has a handler of operators or of functions."""
    own = PYTHON if cls.has_dispatch_handler() else 0
    if not handles_functions(cls):
        return own
    ask_of_members(cls)
    return own | PRE_DISPATCH


def _bare(cls: type[Sub], array: Any, keys: int, extra: Extra | None) -> Sub:
    made: Sub = Tensor.__new__(cls)
    made.array = array
    made.keys = keys
    made.edge = None
    made.extra = extra
    return made
