"""The state that this thread or task has switched on: one immutable object in a ContextVar, replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar, Final, final

from opwright_core.keys import ADINPLACEORVIEW, ALIASES, AUTOGRAD, PYTHON_DISPATCHER, DispatchKey, key_bits

Keys = DispatchKey | str | Iterable[DispatchKey | str]
__all__ = [
    "MODES", "NO_MODES", "Block", "Keys", "Modes", "ThreadBlock", "active_modes", "below_adinplaceorview",
    "below_autograd", "enable_python_dispatcher", "exclude_keys", "include_keys", "modes_or_none", "put_back",
    "reset_modes", "set_modes", "with_modes",
]  # fmt: skip


@final
class Modes:
    """The modes: bits that are added to the keys of every call, and then the bits that may stay: exclusion wins.

    `mask` is the complement of what is excluded. `top` is the innermost interpreter that calls go through first
    (`opwright.levels`), None where there is none. Never changed once made.
    """

    __slots__ = ("include", "mask", "top")

    def __init__(self, include: int, mask: int, top: Any = None) -> None:
        self.include = include
        self.mask = mask
        self.top = top

    def __repr__(self) -> str:
        return f"Modes(include={self.include:#x}, exclude={~self.mask:#x})"


MODES: Final[ContextVar[Modes | None]] = ContextVar("opwright_modes", default=None)
active_modes: Final = MODES.get
set_modes: Final = MODES.set  # who replaces this thread's or task's modes puts the old ones back
reset_modes: Final = MODES.reset  # by the token of `set_modes`: quicker, in a function that is not suspended between
NO_MODES: Final = Modes(0, -1)


def modes_or_none(include: int, mask: int, top: Any) -> Modes | None:
    """Return these modes; None, which calls look at no further, where nothing is on."""
    return None if not include and mask == -1 and top is None else Modes(include, mask, top)


def with_modes(keys: int) -> int:
    """Return the keys that a call with tensors of these keys dispatches by."""
    modes = active_modes()
    return keys if modes is None else (keys | modes.include) & modes.mask


Before = Sequence[tuple[ContextVar[Any], Any]]


def put_back(before: Before) -> None:
    """Set each variable to its value. Who is interrupted in it calls it again. (Note [Short memory])"""
    for variable, value in before:
        try:
            variable.set(value)
        except MemoryError:
            variable.set(value)


class Block:
    """A `with` block that sets `_variables`, which have their values again at its end; may be entered again within
    itself. Subclasses say what it sets.

    Note [Interrupted blocks]: the handler of a signal may raise after any call, and where a function begins; at no
    other position without a loop does Python look for signals. A variable that was set stays so for ever if that comes
    before its `with` or `try` block is on, or before it is put back. So what is to be put back is read before anything
    is set. It is set within a `try`. A function puts it back in `finally`, where a function written in C is called
    first: that is done before the next look. What takes several calls is done again if it was interrupted, which does
    no harm. No block is a generator with `contextmanager`: an interrupt in that one's own code leaves the generator to
    the garbage collector, which would put values back long after the blocks around it did.

    Note [Short memory]: a ContextVar takes memory to have its old value again, and who computes on with what a block
    had set would not know. So where that fails for want of memory it is tried once more: the error that is on its way,
    or what the block made, has freed some by then.

    Python code cannot help where `__exit__` begins, and where the function begins that makes an interrupted step
    again. What is set then stays until the block around it ends. `set_grad_enabled` and `set_detect_anomaly` set
    things when they are made: what comes between that and their block finds them on, as after a call without a block.
    """

    __slots__ = ("_outer",)
    _variables: ClassVar[tuple[ContextVar[Any], ...]] = (MODES,)

    def __init__(self) -> None:
        self._outer: tuple[Before, Any] | None = None

    def _switch_on(self) -> Any:
        """Set the variables. Returns what the block is given."""
        raise NotImplementedError

    def _switched_off(self) -> None:
        """Do what is left when all is put back. It is skipped after interrupts."""

    def __enter__(self) -> Any:
        before = [(variable, variable.get()) for variable in self._variables]
        try:
            given = self._switch_on()
        except BaseException:
            put_back(before)
            raise
        self._outer = before, self._outer
        return given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._outer is None:
            raise RuntimeError(f"{self!r} was not entered, or left already")
        before, self._outer = self._outer
        try:
            put_back(before)
        except BaseException:
            put_back(before)
            raise
        self._switched_off()


# The ThreadBlocks of this thread or task: the innermost, and what was on before.
_blocks: Final[ContextVar[tuple[object, Before] | None]] = ContextVar("opwright_blocks", default=None)


class ThreadBlock(Block):
    """A block that several threads may be in: each thread keeps what was on before. The last entered is left first."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def __enter__(self) -> Any:
        before = [(variable, variable.get()) for variable in (*self._variables, _blocks)]
        try:
            _blocks.set((self, before))
            return self._switch_on()
        except BaseException:
            put_back(before)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before: Before | None = None
        try:
            before = self._before(error)
            put_back(before)
        except BaseException:
            put_back(self._before(error) if before is None else before)
            raise
        if not before:
            raise RuntimeError(
                f"{self!r} is not the innermost block that this thread entered: the last entered is left first"
            )
        self._switched_off()

    def _before(self, error: BaseException | None) -> Before:
        """Return what was on before this block; nothing where another is the innermost. An error may come from one
        within whose end was interrupted: what that one set ends with this one."""
        found = _blocks.get()
        while found is not None and found[0] is not self and error is not None:
            found = next(value for variable, value in found[1] if variable is _blocks)
        return () if found is None or found[0] is not self else found[1]


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
