"""ATen's operators, for the runtime's own code to call: each is looked up when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.namespaces import ops

__all__ = ["aten"]


class _Functions(dict[str, Callable[..., Any]]):
    """Functions and packets, by what stands behind `ops.aten.`, kept once they are found.

    `aten["add.Tensor"](x, y)` calls one overload, by its generated function; `aten["to"](x, …)` the one that fits.
    """

    def __missing__(self, path: str) -> Callable[..., Any]:
        name, _, overload = path.partition(".")
        packet = getattr(ops.aten, name)
        operator = getattr(packet, overload) if overload else None
        found: Callable[..., Any] = packet if operator is None else operator.stub or operator
        self[path] = found
        return found


aten: Final = _Functions()
