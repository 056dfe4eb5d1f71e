"""Checks by `_check` and its like: demands of kernels and fake kernels on sizes and values, under PyTorch's names.

A condition on symbolic sizes is decided by a guard; where only data could tell, it is noted as a deferred assertion of
the ShapeEnv and taken to hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.symbolic.numbers import SymBool
from opwright_core.arrays.dtypes import INEXACT, DType, bool_, dtype_name
from opwright_core.arrays.sizes import check, guard_or_true
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
    "_check_tensor_all_with", "_check_type", "_check_value", "_check_with", "check_differentiable",
]  # fmt: skip

Message = Callable[[], object] | str | None


def _check_with(error_type: type[Exception], cond: bool | SymBool, message: Message = None) -> None:
    """Raise `error_type` with a text, or what `message()` returns, unless the condition holds.

    Raises TypeError for a condition that is neither bool nor SymBool.
    """
    if not isinstance(cond, bool | SymBool):
        hint = ": _check_tensor_all takes one" if isinstance(cond, Tensor) else ""
        raise TypeError(f"cond must be a bool, but got {type(cond).__name__}{hint}")
    if isinstance(cond, SymBool) and guard_or_true(cond):
        check(cond, lambda: _text(cond, message))
    elif not cond:
        raise error_type(_text(cond, message))


def _text(cond: bool | SymBool, message: Message) -> str:
    if message is None:
        what = "cond" if isinstance(cond, bool) else str(cond)
        return f"Expected {what} to be True, but got False: pass a message to say what was wrong"
    return str(message() if callable(message) else message)


def _check(cond: bool | SymBool, message: Message = None) -> None:
    """Raise RuntimeError with the message, or what it returns, unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless a number can be a size: not negative, and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: bool | SymBool, message: Message = None) -> None:
    """Raise IndexError with the message, or what it returns, unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool | SymBool, message: Message = None) -> None:
    """Raise ValueError with the message, or what it returns, unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool | SymBool, message: Message = None) -> None:
    """Raise TypeError with the message, or what it returns, unless the condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool | SymBool, message: Message = None) -> None:
    """Raise NotImplementedError with the message, or what it returns, unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """Raise `error_type` with the message, or what it returns, unless all elements of a bool Tensor hold.

    Raises TypeError for any other condition.
    """
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond).__name__}")
    if cond.dtype != bool_:
        raise TypeError(f"cond tensor must have dtype bool, but got {dtype_name(cond.dtype)}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError with the message, or what it returns, unless all elements of a bool Tensor hold."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: object) -> None:
    """Raise AssertionError with the message unless the condition, a bool, a SymBool or a Tensor, holds."""
    if not condition:
        raise AssertionError(message)


def check_differentiable(dtype: DType, message: str) -> None:
    """Raise RuntimeError with `message` for a dtype that cannot require gradients."""
    if dtype not in INEXACT:
        raise RuntimeError(message)
