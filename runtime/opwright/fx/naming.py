"""Names of nodes: unique in their graph, usable as variables of Python, and as PyTorch's graphs have them."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable
from typing import Any, Final

from opwright_core.dispatch.call.operator import Operator

__all__ = ["TAKEN", "Namespace", "candidate_of"]

_ILLEGAL: Final = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED: Final = re.compile(r"(.*)_(\d+)$")
_AFTER_SMALL: Final = re.compile(r"([a-z0-9])([A-Z]+)")
# What generated code calls by these names, and what a name must not hide from it.
TAKEN: Final = frozenset([*dir(builtins), *keyword.kwlist, "inf", "nan", "self", "opwright", "operator", "math"])


class Namespace:
    """The names that were given."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def create_name(self, candidate: str) -> str:
        """Return a name that is free: the candidate, or it with the next number (`add`, `add_1`)."""
        if candidate in self._used or not candidate.isidentifier() or candidate in TAKEN:
            candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = f"_{candidate}"
            numbered = _NUMBERED.match(candidate)
            base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, None)
            candidate = base if number is None else f"{base}_{number}"
            number = number or self._numbers.get(base, 0)
            while candidate in self._used or candidate in TAKEN:
                number += 1
                candidate = f"{base}_{number}"
            self._numbers.setdefault(base, number)
            self._numbers[base] = max(self._numbers[base], number)
        self._used.add(candidate)
        return candidate

    def is_free(self, name: str) -> bool:
        """Whether the name could be given as it is."""
        return name not in self._used and name not in TAKEN and name.isidentifier()

    def release(self, name: str) -> None:
        """Have a name forgotten."""
        self._used.discard(name)


def candidate_of(op: str, target: Any) -> str:
    """Return the name that a node would like: what it calls or reads, in small letters."""
    if isinstance(target, Operator):
        if target.base.startswith("sym_"):  # as PyTorch calls sizes: sym_size_int
            return "_".join(filter(None, (target.base, target.overload)))
        return target.base if target.base.islower() else _snake(target.base)
    if isinstance(target, str):
        if op == "call_method":
            return _snake(target)
        return _snake(target.replace(".", "_"))
    return _snake(_function_name(target))


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _snake(text: str) -> str:
    return _AFTER_SMALL.sub(r"\1_\2", text).lower()
