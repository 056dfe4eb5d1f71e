"""What this thread or task has switched on: one immutable object in a ContextVar, replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final, final

from .keys import ADINPLACEORVIEW, ALIASES, AUTOGRAD, PYTHON_DISPATCHER, DispatchKey, key_bits

Keys = DispatchKey | str | Iterable[DispatchKey | str]
__all__ = [
    "Keys", "Modes", "active_modes", "below_adinplaceorview", "below_autograd", "enable_python_dispatcher",
    "enter_block", "exclude_keys", "include_keys", "leave_block", "reset_modes", "set_modes", "with_modes",
]  # fmt: skip


@final
class Modes:
    """Bits that are added to the keys of every call, and then the bits that may stay: exclusion wins.

    `mask` is the complement of what is excluded. Never changed once made.
    """

    __slots__ = ("include", "mask")

    def __init__(self, include: int, mask: int) -> None:
        self.include = include
        self.mask = mask

    def __repr__(self) -> str:
        return f"Modes(include={self.include:#x}, exclude={~self.mask:#x})"


_modes: Final[ContextVar[Modes | None]] = ContextVar("opwright_modes", default=None)
active_modes: Final = _modes.get
set_modes: Final = _modes.set  # who replaces this thread's or task's modes puts the old ones back
reset_modes: Final = _modes.reset  # by the token of `set_modes`: quicker, in a function that is not suspended between
_NOTHING: Final = Modes(0, -1)


def with_modes(keys: int) -> int:
    """The keys that a call with tensors of these keys dispatches by."""
    modes = active_modes()
    return keys if modes is None else (keys | modes.include) & modes.mask


# The `with` blocks of this thread or task, innermost first: what was entered, what was on before, the blocks around it.
# Kept here and not by what was entered, which may be in use in several threads.
_blocks: Final[ContextVar[tuple[object, Any, Any] | None]] = ContextVar("opwright_blocks", default=None)


def enter_block(what: object, before: Any) -> None:
    """Note what was on before `what` was entered, for `leave_block`."""
    _blocks.set((what, before, _blocks.get()))


def leave_block(what: object) -> Any:
    """What was on before `what` was entered. Raises RuntimeError unless that is the innermost block."""
    innermost = _blocks.get()
    if innermost is None or innermost[0] is not what:
        raise RuntimeError(f"{what!r} is not the innermost block that this thread entered: the last one is left first")
    _, before, outer = innermost
    _blocks.set(outer)
    return before


class _Guard:
    """Includes and excludes keys within a `with` block; may be entered again, also within itself and by several
    threads."""

    __slots__ = ("_exclude", "_include")

    def __init__(self, include: int, exclude: int) -> None:
        self._include = include
        self._exclude = exclude

    def __enter__(self) -> None:
        outer = active_modes()
        enter_block(self, outer)
        modes = outer or _NOTHING
        _modes.set(Modes(modes.include | self._include, modes.mask & ~self._exclude))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _modes.set(leave_block(self))


def include_keys(*keys: Keys) -> _Guard:
    """Within the block, calls of this thread dispatch as if a tensor carried these keys too."""
    return _Guard(_bits(keys), 0)


def exclude_keys(*keys: Keys) -> _Guard:
    """Within the block, calls of this thread skip these keys, included ones as well.

    An alias key stands for the keys it covers: `exclude_keys("Autograd")` skips every Autograd key. (PyTorch's guard,
    given an alias key, excludes nothing.)
    """
    return _Guard(0, _bits(keys))


def below_autograd() -> _Guard:
    """Within the block, calls of this thread skip every Autograd kernel."""
    return _Guard(0, AUTOGRAD)


def below_adinplaceorview() -> _Guard:
    """Within the block, calls of this thread skip every Autograd kernel, note no views and count no writes."""
    return _Guard(0, AUTOGRAD | ADINPLACEORVIEW)


def enable_python_dispatcher() -> _Guard:
    """Within the block, calls of this thread take the kernels of `Operator.py_impl` before all others of their keys."""
    return _Guard(PYTHON_DISPATCHER, 0)


def _bits(keys: Iterable[Keys]) -> int:
    """The bits of all of them; here an alias key stands for the keys it covers."""
    bits = 0
    for key in keys:
        if isinstance(key, str):
            key = DispatchKey.parse(key)
        bits |= ALIASES[key] if isinstance(key, DispatchKey) and key.is_alias else key_bits(key)
    return bits
