"""Wrappers that handle custom operators at Meta and Autocast beside the functions of users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.amp.casts import cast_each
from opwright.amp.settings import is_autocast_enabled
from opwright.context_managers.keys import exclude_keys
from opwright.pytree import tensors_of
from opwright_core.arrays.dtypes import DType
from opwright_core.dispatch.call.operator import Operator
from opwright_core.keys import DispatchKey
from opwright_core.texts.dispatch_errors import missing

__all__ = ["casting", "no_fake", "returning_written"]

Kernel = Callable[..., Any]


def no_fake(operator: Operator) -> Kernel:
    """Return a kernel of Meta, for an operator without a fake kernel: it raises DispatchError."""

    def call(*args: Any) -> Any:
        raise missing(operator, DispatchKey.Meta, 0)

    return call


def returning_written(operator: Operator) -> Kernel:
    """Return a kernel of Meta, for an operator that returns what it writes to, or nothing; ADInplaceOrView counts."""

    def call(*args: Any) -> Any:
        signature = operator.signature
        results = [None if alias is None else args[alias] for alias in signature.aliases]
        return results[0] if len(results) == 1 else tuple(results) or None

    return call


def casting(dtypes: dict[str, DType], operator: Operator, below: Kernel) -> Kernel:
    """Return a kernel of Autocast: tensors on a device that autocast is on for are cast to the dtype given for it, and
    the operator is called anew, without autocast, since they have other keys. Where there is none, `below` is called.
    """

    def call(*args: Any) -> Any:
        present = {tensor.device.type for tensor in tensors_of(args)}
        wanted = {device: dtypes[device] for device in present if device in dtypes and is_autocast_enabled(device)}
        if not wanted:
            return below(*args)
        with exclude_keys("Autocast"):
            for device, dtype in wanted.items():
                args = cast_each(dtype, args, device)
            return operator.call(*args)

    return call
