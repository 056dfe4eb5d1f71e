"""Blocks in which calls of this thread or task have keys included or excluded."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.context_managers.blocks import ThreadBlock
from opwright_core.keys import ADINPLACEORVIEW, ALIASES, AUTOGRAD, PYTHON_DISPATCHER, DispatchKey, key_bits
from opwright_core.state import NO_MODES, Modes, active_modes, set_modes

__all__ = [
    "Keys", "below_adinplaceorview", "below_autograd", "enable_python_dispatcher", "exclude_keys", "include_keys",
]  # fmt: skip


Keys = DispatchKey | str | Iterable[DispatchKey | str]


class _Guard(ThreadBlock):
    """A `with` block that includes and excludes keys."""

    __slots__ = ("_exclude", "_include")

    def __init__(self, include: int, exclude: int) -> None:
        self._include = include
        self._exclude = exclude

    def _switch_on(self) -> None:
        modes = active_modes() or NO_MODES
        set_modes(Modes(modes.include | self._include, modes.mask & ~self._exclude, modes.top))


def include_keys(*keys: Keys) -> _Guard:
    """Include keys within the block: calls of this thread dispatch as if a tensor carried these keys too."""
    return _Guard(_bits(keys), 0)


def exclude_keys(*keys: Keys) -> _Guard:
    """Exclude keys within the block: calls of this thread skip them, included ones as well.

    An alias key stands for the keys it covers: `exclude_keys("Autograd")` skips every Autograd key. (PyTorch's guard,
    given an alias key, excludes nothing.)
    """
    return _Guard(0, _bits(keys))


def below_autograd() -> _Guard:
    """Skip every Autograd kernel within the block, in calls of this thread."""
    return _Guard(0, AUTOGRAD)


def below_adinplaceorview() -> _Guard:
    """Skip every Autograd kernel within the block, in calls of this thread; note no views and count no writes."""
    return _Guard(0, AUTOGRAD | ADINPLACEORVIEW)


def enable_python_dispatcher() -> _Guard:
    """Take the kernels of `Operator.py_impl` before all others of their keys, in calls of this thread in the block."""
    return _Guard(PYTHON_DISPATCHER, 0)


def _bits(keys: Iterable[Keys]) -> int:
    """Return the bits of all keys; here an alias key stands for the keys it covers."""
    bits = 0
    for key in keys:
        if isinstance(key, str):
            key = DispatchKey.parse(key)
        bits |= ALIASES[key] if isinstance(key, DispatchKey) and key.is_alias else key_bits(key)
    return bits
