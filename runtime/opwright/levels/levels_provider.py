"""Functions that lower packages call in this one (late binding, `opwright_core.late_bound.Levels`)."""

from __future__ import annotations

from typing import Any

from opwright.levels.inside import InsideArray
from opwright.levels.mode_kernels import back_of, front_of
from opwright.namespaces import aten
from opwright_core.keys import GRAD, TANGENT
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "back_of", "call_function", "front_of", "is_followed_outside", "lifted", "read", "text_of", "value_of_no_level",
]  # fmt: skip


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an `autograd.Function` while a transform is on: the innermost says how. Raises RuntimeError."""
    modes = active_modes()
    assert modes is not None and modes.top is not None
    return modes.top.call_function(function, modes, args, kwargs)


def text_of(tensor: Tensor) -> str:
    """Return the `repr` of a tensor of a level: what it is, and that of its value; nothing for one of no level."""
    array = tensor.array
    if not isinstance(array, InsideArray):
        return ""
    level = array.level
    inner = repr(array.value).replace("\n", "\n    ")
    dim = "" if array.dim is None else f", bdim={array.dim}"
    return f"{level.shown_as}(lvl={level.level}{dim}, value=\n    {inner}\n)"


def value_of_no_level(tensor: Tensor) -> Tensor:
    """Return the tensor of no level that a tensor stands for: of a batch, all samples."""
    while isinstance(tensor.array, InsideArray):
        tensor = tensor.array.value
    return tensor


def is_followed_outside(tensor: Tensor) -> bool:
    """Return whether the value of a level's tensor, at any depth, has a gradient function or a tangent."""
    while isinstance(tensor.array, InsideArray):
        tensor = tensor.array.value
        if tensor.keys & (GRAD | TANGENT):
            return True
    return False


def lifted(tensor: Tensor) -> Tensor:
    """Return a tensor that Python values were made into while a transform is on, as one of its level: it is new there,
    and may be written to."""
    made: Tensor = aten["lift_fresh.default"](tensor)
    return made


def read(tensor: Tensor, what: str) -> Tensor:
    """Return the tensor of no level whose data a tensor of a level has; itself, if it is of none. `what` wants it."""
    while isinstance(tensor.array, InsideArray):
        tensor = tensor.array.level.read(tensor, what)
    return tensor
