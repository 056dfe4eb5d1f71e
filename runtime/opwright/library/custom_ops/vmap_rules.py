"""The rules by which `vmap` runs operators, as users registered them: kept here, for the interpreter to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright.dispatch.kernel_forms import lock

__all__ = ["VmapRule", "add", "find"]

_rules: Final[dict[str, list[VmapRule]]] = {}


class VmapRule:
    """`function(info, in_dims, *args, **kwargs)` returns `(output, out_dims)`: the rule of one operator."""

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def remove(self) -> None:
        """Take the rule back: the one before it serves again."""
        with lock:
            found = _rules.get(self.name, [])
            if self in found:
                found.remove(self)
            if not found:
                _rules.pop(self.name, None)


def add(name: str, function: Callable[..., Any]) -> VmapRule:
    """Register the rule of the operator of that name."""
    rule = VmapRule(name, function)
    with lock:
        _rules.setdefault(name, []).append(rule)
    return rule


def find(name: str) -> VmapRule | None:
    """The newest rule of an operator; None if it has none."""
    with lock:
        found = _rules.get(name)
        return found[-1] if found else None
