"""Errors of kernels that return what their operator does not declare, and of `out=` that does not fit."""

from __future__ import annotations

import warnings
from typing import Any

from opwright_core.arrays.devices import Array
from opwright_core.arrays.dtypes import SCALAR_TYPE_NAME, DType, as_dtype
from opwright_core.arrays.layouts import Shape
from opwright_core.errors import ContractError
from opwright_core.names.late_imports import import_late

__all__ = ["cannot_cast", "shown", "warn_of_resize", "wrong_result", "wrong_target"]


def wrong_result(problem: str, what: str = "kernel") -> ContractError:
    """Return the error that the running `what` of a generated operator (its kernel, its rule) does not fit."""
    made: ContractError = import_late("opwright_core.texts.kernel_sources").wrong_result(problem, what)
    return made


def shown(value: Any) -> str:
    """Return a value in a few words: arrays by dtype and shape."""
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return f"an array {value.dtype}{list(value.shape)}"
    text = " ".join(repr(value).split())
    kind = type(value).__name__
    return "None" if value is None else f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"


def wrong_target(target: Array, shape: Shape) -> RuntimeError:
    """Return the error of an array that is written to and read, and has not the shape of the result."""
    return RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")


def cannot_cast(dtype: DType, array: Array) -> str:
    """Return the message about a result whose dtype is not cast to that of an array."""
    names = SCALAR_TYPE_NAME[dtype], SCALAR_TYPE_NAME[as_dtype(array.dtype)]
    return f"result type {names[0]} can't be cast to the desired output type {names[1]}"


def warn_of_resize(shape: Shape, old: Shape) -> None:
    """Warn that an `out=` with elements took another shape."""
    warnings.warn(
        f"An output with one or more elements was resized since it had shape {list(old)}, which does not match "
        f"the required output shape {list(shape)}. This behavior is deprecated; call resize_(0) on the output first.",
        UserWarning,
        stacklevel=5,
    )
