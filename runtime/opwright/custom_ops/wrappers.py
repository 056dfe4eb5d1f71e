"""What serves custom operators at Meta and Autocast beside the functions of users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.dispatch_errors import missing
from opwright.dispatcher import Operator
from opwright.dtypes import FLOATING, DType, float64
from opwright.keys import AUTOCAST, DispatchKey
from opwright.state import Modes, active_modes, set_modes
from opwright.tensor import Tensor

__all__ = ["casting", "no_fake", "returning_written"]

Kernel = Callable[..., Any]


def no_fake(operator: Operator) -> Kernel:
    """At Meta, of an operator without a fake kernel: raises DispatchError."""

    def call(*args: Any) -> Any:
        raise missing(operator, DispatchKey.Meta, 0)

    return call


def returning_written(operator: Operator) -> Kernel:
    """At Meta, of an operator that returns what it writes to, or nothing. (ADInplaceOrView counts the write.)"""

    def call(*args: Any) -> Any:
        signature = operator.signature
        results = [None if alias is None else args[alias] for alias in signature.aliases]
        return results[0] if len(results) == 1 else tuple(results) or None

    return call


def casting(dtypes: dict[str, DType], below: Kernel) -> Kernel:
    """At Autocast: tensors of floating-point dtypes but float64 are cast to the one given for their device, and the
    kernel runs without autocast."""

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor):
            dtype = dtypes.get(value.device.type)
            is_cast = dtype is not None and value.dtype in FLOATING and value.dtype != float64
            return value.to(dtype) if is_cast else value
        return [cast(item) for item in value] if type(value) is list else value

    def call(*args: Any) -> Any:
        modes = active_modes()
        set_modes(Modes(0, ~AUTOCAST) if modes is None else Modes(modes.include, modes.mask & ~AUTOCAST))
        try:
            return below(*map(cast, args))
        finally:
            set_modes(modes)

    return call
