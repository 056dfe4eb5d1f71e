"""Forward mode: `with dual_level()`, tensors with tangents (`make_dual`) whose results have tangents (`unpack_dual`).

Levels nest, which PyTorch's do not: a tensor that has a tangent at one level may be given another at the next. What is
made and unpacked is so at the innermost. Tangents vanish when their level is left.
"""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from opwright.autograd.modes import Switch
from opwright.autograd.tangents import (
    Level,
    are_seen,
    check_fit,
    current_level,
    current_tangent,
    fit_tangent,
    ignoring_tangents,
    set_tangent,
)
from opwright.context_managers.blocks import modes_or_none, put_back
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.arrays.dtypes import INEXACT, dtype_name
from opwright_core.keys import TANGENT, VIEW
from opwright_core.state import MODES, NO_MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A dual tensor in its two parts; `tangent` is None where there is none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enter a level, which `exit_dual_level` leaves, and return its number: 0, or one more than that around it."""
    around = current_level.get()
    outer = active_modes()
    if around is not None or (outer is not None and outer.top is not None):
        number = 0 if around is None else around.number + 1
        late_bound.transforms().enter_dual_level(number)
        return number
    modes = outer or NO_MODES
    try:  # (Note [Interrupted blocks])
        current_level.set(Level())
        set_modes(Modes(modes.include | TANGENT, modes.mask, modes.top))
    except BaseException:
        put_back(((current_level, None), (MODES, outer)))
        raise
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level: all its tangents are gone. Raises RuntimeError for another one, and outside of any."""
    found = current_level.get()
    if found is None:
        raise RuntimeError("There is no dual level to exit: enter_dual_level() was not called, or it was left already")
    _check_level(level, found, "exit")
    if found.interpreter is not None:
        if found.leave is None:
            raise RuntimeError("There is no dual level to exit: the innermost is that of a transform, which leaves it")
        found.leave()
        return
    modes = active_modes()
    if modes is not None:
        include = modes.include & ~TANGENT
        set_modes(modes_or_none(include, modes.mask, modes.top))
    found.close()
    current_level.set(None)  # last: who was interrupted before may call this again


class dual_level(Switch):
    """A level for a `with` block, or for the decorated function."""

    __slots__ = ()

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            exit_dual_level()
        except BaseException:
            if current_level.get() is not None:  # an interrupt
                exit_dual_level()
            raise


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of `tensor` that has a tangent of its shape, dtype and device.

    The tangent is kept itself where it has the strides of the tensor, else a copy. Gradients flow through both. Raises
    RuntimeError outside of a level and where the two do not fit, ValueError for dtypes that are no floats or complex,
    TypeError for what is no Tensor.
    """
    found = current_level.get()
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    _check_level(level, found, "use")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"Expected {name} to be a Tensor, but got: {type(value).__name__}")
        if value.dtype not in INEXACT:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {dtype_name(value.dtype)}")
    check_fit(tensor, tangent)
    if found.interpreter is not None:
        tensor, tangent = found.interpreter.lift(tensor), found.interpreter.lift(tangent)
    if current_tangent(tensor) is not None:
        raise RuntimeError("Making a dual Tensor of one that already has a tangent at this level is not supported.")
    if current_tangent(tangent) is not None:
        raise RuntimeError("A tangent that itself has a tangent at the same level is not supported.")
    with ignoring_tangents():
        dual: Tensor = aten["view.default"](tensor, list(tensor.shape))
        fitted = fit_tangent(tangent, tensor)
    if are_seen():
        set_tangent(dual, fitted, found)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return both parts of a dual tensor: its values, as a view that has no tangent, and the tangent or None.
    Raises TypeError for anything else."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual() takes a Tensor, but got: {type(tensor).__name__}")
    found = current_level.get()
    if found is None:
        return UnpackedDualTensor(tensor, None)
    _check_level(level, found, "use")
    tangent = current_tangent(tensor) if are_seen() else None
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    with ignoring_tangents():
        primal: Tensor = aten["view.default"](tensor, list(tensor.shape))
    if primal.extra is not None:  # a view of a dual tensor, which has its tangent, is what this must not be
        primal.extra.base = None
    primal.keys &= ~VIEW
    if found.interpreter is not None:
        primal, tangent = found.interpreter.out_of(primal), found.interpreter.out_of(tangent)
    return UnpackedDualTensor(primal, tangent)


def _check_level(level: int | None, found: Level, verb: str) -> None:
    if level is not None and level != found.number:
        raise RuntimeError(
            f"Trying to {verb} the dual level {level!r}, but the innermost that this thread is in has the number "
            f"{found.number}"
        )
