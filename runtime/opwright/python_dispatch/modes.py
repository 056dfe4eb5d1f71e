"""Dispatch modes: objects that are asked for every operator that is called in their block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright.keys import PYTHON
from opwright.state import Modes, active_modes, set_modes

if TYPE_CHECKING:
    from typing import Self

    from opwright.dispatcher import Operator

__all__ = ["Entered", "TorchDispatchMode", "current_modes", "disable_modes", "enter_again", "entered", "leave"]


class TorchDispatchMode:
    """In its block, `__torch_dispatch__` is called in place of every operator, factories too.

    Modes nest: the innermost is asked first. Within its handler a mode is off and the outer ones are on, so that
    calling `func(*args, **kwargs)` there goes on to the next one and at last to the kernel. A mode is on in the thread
    or task that entered it, and may be entered again. Semantics: `torch.utils._python_dispatch.TorchDispatchMode`.
    """

    def __torch_dispatch__(
        self,
        func: Operator,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The result of a call of the operator `func`; a subclass must say it.

        `types` are the Tensor subclasses with a handler among the arguments. Keyword-only arguments come in `kwargs`,
        others in `args`; what equals its default is left out, but for positional arguments before others.
        NotImplemented leaves the call to the subclasses among its arguments.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __torch_dispatch__")

    def __enter__(self) -> Self:
        outer = active_modes()
        _entered.set(Entered(self, entered(), outer))
        set_modes(_on(outer))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        innermost = entered()
        if innermost is None or innermost.mode is not self:
            raise RuntimeError(f"{self!r} is not the innermost dispatch mode: modes are left in the reverse order")
        _entered.set(innermost.outer)
        set_modes(innermost.modes)


class Entered(NamedTuple):
    """A mode that was entered, those around it, and what was on before."""

    mode: TorchDispatchMode
    outer: Entered | None
    modes: Modes | None


_entered: Final[ContextVar[Entered | None]] = ContextVar("opwright_dispatch_modes", default=None)
entered: Final = _entered.get


def _on(modes: Modes | None) -> Modes:
    """The same modes, but that calls reach the handlers of dispatch modes."""
    return Modes(PYTHON, -1) if modes is None else Modes(modes.include | PYTHON, modes.mask)


def _off(modes: Modes | None) -> Modes | None:
    return None if modes is None else Modes(modes.include & ~PYTHON, modes.mask)


def leave(innermost: Entered, modes: Modes) -> None:
    """Switch a mode off, those around it stay on; `enter_again` follows, and `modes` put back."""
    _entered.set(innermost.outer)
    if innermost.outer is None:
        set_modes(_off(modes))


def enter_again(innermost: Entered) -> None:
    """Have the mode be the innermost again."""
    _entered.set(innermost)


@contextmanager
def disable_modes() -> Iterator[list[TorchDispatchMode]]:
    """In the block no dispatch mode is on; it is given those that were, the innermost last. Subclasses still are."""
    innermost, modes = entered(), active_modes()
    found = current_modes()
    _entered.set(None)
    set_modes(_off(modes))
    try:
        yield found
    finally:
        _entered.set(innermost)
        set_modes(modes)


def current_modes() -> list[TorchDispatchMode]:
    """The modes that are on, the innermost last."""
    found: list[TorchDispatchMode] = []
    each = entered()
    while each is not None:
        found.append(each.mode)
        each = each.outer
    return found[::-1]
