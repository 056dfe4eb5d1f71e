"""Modes of dispatch: objects that are asked for every operator that is called in their block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright.context_managers.blocks import Block, ThreadBlock
from opwright_core.keys import PYTHON
from opwright_core.state import MODES, Modes, active_modes, set_modes

if TYPE_CHECKING:
    from typing import Self

    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.tensors.tensor import Tensor

__all__ = ["ENTERED", "WATCHER", "Entered", "TorchDispatchMode", "current_modes", "disable_modes", "entered", "leave"]


class Entered(NamedTuple):
    """A mode that was entered, and those around it."""

    mode: TorchDispatchMode
    outer: Entered | None


# Who wants to know of data that is read past operators, beside the modes.
WATCHER: Final[ContextVar[Callable[[Tensor, str], None] | None]] = ContextVar("opwright_watcher", default=None)
ENTERED: Final[ContextVar[Entered | None]] = ContextVar("opwright_dispatch_modes", default=None)
entered: Final = ENTERED.get


class TorchDispatchMode(ThreadBlock):
    """A block in which `__torch_dispatch__` is called instead of every operator, factories too.

    Modes nest: the innermost is asked first. Within its handler a mode is off and the outer ones are on, so that
    calling `func(*args, **kwargs)` there goes on to the next one and at last to the kernel. A mode is on in the thread
    or task that entered it, and may be entered again. Semantics: `torch.utils._python_dispatch.TorchDispatchMode`.
    """

    _variables = (MODES, ENTERED)

    if TYPE_CHECKING:

        def __enter__(self) -> Self: ...

    def __torch_dispatch__(
        self,
        func: Operator,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the result of a call of the operator `func`; a subclass must say it.

        `types` are the Tensor subclasses with a handler among the arguments. Keyword-only arguments come in `kwargs`,
        others in `args`; what equals its default is left out, but for positional arguments before others.
        NotImplemented leaves the call to the subclasses among its arguments.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __torch_dispatch__")

    def data_is_read(self, tensor: Tensor, what: str) -> None:
        """Take note that the program reads a tensor's data by what calls no operator, `what`; may raise."""

    def _switch_on(self) -> Self:
        ENTERED.set(Entered(self, entered()))
        set_modes(_on(active_modes()))
        return self


def _on(modes: Modes | None) -> Modes:
    """Return the modes given, but that calls reach the handlers of dispatch modes."""
    return Modes(PYTHON, -1) if modes is None else Modes(modes.include | PYTHON, modes.mask, modes.top)


def _off(modes: Modes | None) -> Modes | None:
    return None if modes is None else Modes(modes.include & ~PYTHON, modes.mask, modes.top)


def leave(innermost: Entered, modes: Modes) -> None:
    """Switch a mode off, those around it stay on; who calls this puts ENTERED and MODES back."""
    ENTERED.set(innermost.outer)
    if innermost.outer is None:
        set_modes(_off(modes))


class disable_modes(Block):
    """A block without dispatch modes; it is given those that were on, the innermost last. Subclasses stay on."""

    __slots__ = ()
    _variables = (MODES, ENTERED)

    def _switch_on(self) -> list[TorchDispatchMode]:
        found = current_modes()
        ENTERED.set(None)
        set_modes(_off(active_modes()))
        return found


def current_modes() -> list[TorchDispatchMode]:
    """Return the modes that are on, the innermost last."""
    found: list[TorchDispatchMode] = []
    each = entered()
    while each is not None:
        found.append(each.mode)
        each = each.outer
    return found[::-1]
