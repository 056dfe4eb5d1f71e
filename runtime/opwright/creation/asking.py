"""Questions to modes about functions that are no operators: `tensor`, `as_tensor`, `asarray`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from opwright.names.late_bound import late_bound
from opwright_core.keys import PRE_DISPATCH
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["ask_modes", "asking_modes"]

P = ParamSpec("P")


def asking_modes(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Return the function as callers have it: a `TorchFunctionMode` that is on is asked first."""

    @functools.wraps(function)
    def asking(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        modes = active_modes()
        if modes is None or not modes.include & PRE_DISPATCH:
            return function(*args, **kwargs)
        result: Tensor = late_bound.handlers().ask_modes(asking, args, kwargs)
        return result

    return asking


def ask_modes(function: Callable[..., Tensor], data: object, **options: Any) -> Tensor:
    """Return what the innermost mode says to a call with these options; those that are None were not given."""
    given = {name: value for name, value in options.items() if value is not None}
    result: Tensor = late_bound.handlers().ask_modes(function, (data,), given)
    return result
