"""The questions of `torch.nn` and `torch.optim` about tensors: how they are grouped, moved, pickled and swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import opwright
from opwright import zeros_like
from opwright.linalg import vector_norm
from opwright.names.late_bound import late_bound
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, DType, as_dtype, bool_
from opwright_core.arrays.formats import MemoryFormat
from opwright_core.names.late_imports import import_late
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "canonical_mask", "dtype_or_none", "dtype_says", "group_tensors", "is_all_true", "is_any_true", "norm_except_dim",
    "parse_to", "rebuild_parameter", "rebuild_parameter_with_state", "state_of", "takes_data", "typename",
    "weight_norm",
]  # fmt: skip


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: DType | None,
    other_name: str,
    target_type: DType,
    check_other: bool = True,
) -> Tensor | None:
    """Return a mask as one that is added: minus infinity where a bool mask is true."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != bool_:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    filled: Tensor = zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return filled


def dtype_says(dtype: DType, question: str) -> bool:
    """Return what PyTorch's dtypes say of themselves: `is_complex`, `is_floating_point`, `is_signed`."""
    answers = {"is_complex": dtype in COMPLEX, "is_floating_point": dtype in FLOATING}
    return answers.get(question, dtype.kind not in "ub")


def dtype_or_none(tensor: Tensor | None) -> DType | None:
    """Return the dtype of a tensor, None of None."""
    return None if tensor is None else tensor.dtype


def group_tensors(lists: Sequence[Sequence[Any]], with_indices: bool = False) -> dict[Any, tuple[list[Any], list[int]]]:
    """Return the elements of parallel lists by device and dtype of those of the first, with their positions if
    asked."""
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    for position, tensor in enumerate(lists[0]):
        key = tensor.device, tensor.dtype
        found, positions = groups.setdefault(key, ([[] for _ in lists], []))
        for own, each in zip(found, lists, strict=True):
            if each:
                own.append(each[position])
        if with_indices:
            positions.append(position)
    return groups


def parse_to(
    *args: Any,
    device: Device | str | None = None,
    dtype: object = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> tuple[Device | None, DType | None, bool, MemoryFormat | None]:
    """Return the arguments of `Module.to`: a device, a dtype, whether not to wait, a memory format."""
    given = list(args)
    if given and isinstance(given[0], Tensor):
        other = given.pop(0)
        device, dtype = other.device, other.dtype
    elif given and isinstance(given[0], str | int | Device):
        device = given.pop(0)
    if given and not isinstance(given[0], bool):
        dtype = given.pop(0)
    if given:
        non_blocking = given.pop(0)
    placed = None if device is None else as_device(device)
    return placed, None if dtype is None else as_dtype(dtype), non_blocking, memory_format


def is_all_true(self: Tensor) -> Tensor:
    """Return whether all elements hold, of all samples of a batch: it can be read within `vmap`."""
    found: Tensor = opwright.all(late_bound.levels().value_of_no_level(self))
    return found


def is_any_true(self: Tensor) -> Tensor:
    """Return whether an element holds, of all samples of a batch."""
    found: Tensor = opwright.any(late_bound.levels().value_of_no_level(self))
    return found


def state_of(tensor: object) -> Mapping[str, Any]:
    """Return the attributes that a tensor was given."""
    return dict(vars(tensor))


def _parameter_class() -> Any:
    return import_late("opwright.utils.torch_alias").import_below("torch.nn.parameter").Parameter


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Mapping[Any, Any]) -> Tensor:
    """Return a parameter as it was pickled."""
    made: Tensor = _parameter_class()(data, requires_grad)
    made._backward_hooks = hooks  # type: ignore[attr-defined]
    return made


def rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, hooks: Mapping[Any, Any], state: Mapping[str, Any]
) -> Tensor:
    """Return a parameter as it was pickled, with its attributes."""
    made = rebuild_parameter(data, requires_grad, hooks)
    vars(made).update(state)
    return made


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """Return the norms of a tensor over all dimensions but one, of size 1; over all where it is -1."""
    if dim == -1:
        return vector_norm(v, pow)
    others = [each for each in range(v.ndim) if each != dim % v.ndim]
    return vector_norm(v, pow, others, True)


def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return a tensor with the directions of `v` and the norms `g` (`torch.nn.utils.weight_norm`)."""
    scaled: Tensor = v * (g / norm_except_dim(v, 2, dim))
    return scaled


def takes_data(tensor: Tensor, other: Tensor) -> bool:
    """Return whether `tensor.data = other` is possible: where not, a module gets another parameter."""
    return tensor.device == other.device


def typename(value: object) -> str:
    """Return the name of a type, or of a value's, with its module."""
    kind = value if isinstance(value, type) else type(value)
    module = "torch" if kind is Tensor else kind.__module__
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"
