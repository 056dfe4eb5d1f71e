"""Wrappers that serve custom operators at Meta and Autocast beside the functions of users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.amp import cached_cast
from opwright.arrays.dtypes import DType
from opwright.dispatch.errors import missing
from opwright.dispatch.operator import Operator
from opwright.keys import DispatchKey
from opwright.state import exclude_keys

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


def casting(dtypes: dict[str, DType], below: Kernel) -> Kernel:
    """Return a kernel of Autocast: tensors that autocast concerns are cast to the dtype given for their device, and the
    kernel `below` runs without autocast."""

    def call(*args: Any) -> Any:
        with exclude_keys("Autocast"):
            for device, dtype in dtypes.items():
                args = cached_cast(dtype, args, device)
            return below(*args)

    return call
