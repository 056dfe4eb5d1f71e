"""Blocks that set variables of a thread or task, and have them as they were at their end."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar, Final

from opwright_core.state import MODES, Modes

__all__ = ["Before", "Block", "ThreadBlock", "modes_or_none", "put_back", "reset_modes"]


reset_modes: Final = MODES.reset  # by the token of `set_modes`: quicker, in a function that is not suspended between
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
    other place without a loop does Python look for signals. A variable that was set stays so for ever if that comes
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


def modes_or_none(include: int, mask: int, top: Any) -> Modes | None:
    """Return these modes; None, which calls look at no further, where nothing is on."""
    return None if not include and mask == -1 and top is None else Modes(include, mask, top)
