"""Modes of recording: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each masks or unmasks bits of the calls of this thread or task (`state`): without GRAD and VIEW in its keys a
call finds a chain that has no generated Autograd wrapper in it; with NO_GRAD or INFERENCE, one that notes how views
were made.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Final, TypeVar, overload

from opwright.context_managers.blocks import modes_or_none
from opwright.names.lazy_docstrings import wraps
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD, GRAD, INFERENCE, NO_GRAD, PRE_DISPATCH, TANGENT, VIEW
from opwright_core.state import NO_MODES, Modes, active_modes, set_modes

__all__ = [
    "Switch", "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_grad_enabled",
]  # fmt: skip

Call = TypeVar("Call", bound=Callable[..., Any])
_Outer = tuple[Modes | None, Any]  # the modes before a switch was entered, and before it was entered around that
_RECORDED: Final = GRAD | VIEW
_DIFFERENTIATED: Final = _RECORDED | AUTOGRAD | TANGENT
_NOT_RECORDED: Final = Modes(NO_GRAD, ~_RECORDED)
_BELOW_CLASSES: Final = Modes(0, ~PRE_DISPATCH)


def is_grad_enabled() -> bool:
    """Whether operators of this thread are recorded."""
    modes = active_modes()
    return modes is None or modes.mask & GRAD != 0


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    modes = active_modes()
    return modes is not None and modes.include & INFERENCE != 0


def without_recording(modes: Modes | None) -> Modes:
    """Return the modes given, but that nothing is recorded."""
    return _NOT_RECORDED if modes is None else Modes(modes.include | NO_GRAD, modes.mask & ~_RECORDED, modes.top)


def with_recording(modes: Modes | None) -> Modes | None:
    """Return the modes given, but that operators are recorded."""
    if modes is None or modes.mask & GRAD:
        return modes
    mask = modes.mask | _RECORDED
    include = modes.include & ~NO_GRAD
    return modes_or_none(include, mask, modes.top)


def below_classes(modes: Modes | None) -> Modes:
    """Return the modes given, but that no class is asked about functions: in a backward pass."""
    if modes is None:
        return _BELOW_CLASSES
    return Modes(modes.include, modes.mask & ~PRE_DISPATCH, modes.top) if modes.mask & PRE_DISPATCH else modes


class Switch:
    """A context manager, which may be entered again within itself, and a decorator, of generator functions too."""

    __slots__ = ("_outer",)

    def __init__(self) -> None:
        self._outer: _Outer | None = None

    def __enter__(self) -> None:
        # Nothing is called between the last change of the modes and the store (Note [Interrupted blocks]).
        outer = active_modes()
        try:
            set_modes(self._modes(outer))
        except BaseException:
            set_modes(outer)
            raise
        self._outer = outer, self._outer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._outer is None:
            raise RuntimeError(f"{self!r} was not entered, or left already")
        outer, self._outer = self._outer
        try:
            set_modes(outer)
        except MemoryError:
            set_modes(outer)  # (Note [Short memory])

    def __call__(self, function: Call) -> Call:
        if inspect.isgeneratorfunction(function):
            return _decorate_generator(self, function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    def clone(self) -> Switch:
        """Return another switch of the same kind."""
        return type(self)()

    def _modes(self, outer: Modes | None) -> Modes | None:
        raise NotImplementedError


def _decorate_generator(switch: Switch, function: Call) -> Call:
    """Return a generator function in the mode, which holds while the generator runs, not between its values."""

    @wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with switch.clone():
            generator = function(*args, **kwargs)
        send: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with switch.clone():
                    value = send()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield value
            except GeneratorExit:
                with switch.clone():
                    generator.close()
                raise
            except BaseException as error:
                send = functools.partial(generator.throw, error)
            else:
                send = functools.partial(generator.send, sent)

    return generate  # type: ignore[return-value]


class _Plain(Switch):
    """A switch without a setting: the class itself decorates too (`@no_grad`)."""

    __slots__ = ()

    @overload
    def __new__(cls) -> _Plain: ...
    @overload
    def __new__(cls, function: Call) -> Call: ...  # type: ignore[misc]
    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)


class no_grad(_Plain):
    """A block, or a decorated function, in which nothing is recorded: results do not require grad."""

    __slots__ = ()

    def _modes(self, outer: Modes | None) -> Modes | None:
        return without_recording(outer)


class enable_grad(_Plain):
    """A block, or a decorated function, in which operators are recorded, within `no_grad` too."""

    __slots__ = ()

    def _modes(self, outer: Modes | None) -> Modes | None:
        return with_recording(outer)


class set_grad_enabled(Switch):
    """A switch of recording: on or off at once; back again at the end of its block or of the decorated function."""

    __slots__ = ("mode",)

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        super().__enter__()

    def __enter__(self) -> None:
        if self._outer is None or self._outer[1] is not None:
            super().__enter__()
            return
        outer = self._outer[0]  # what the constructor did counts as this entry
        try:
            set_modes(self._modes(outer))
        except BaseException:
            set_modes(outer)
            raise
        self._outer = outer, self._outer

    def __call__(self, function: Call) -> Call:
        self.__exit__(None, None, None)
        return super().__call__(function)

    def clone(self) -> Switch:
        """Return a switch with the same setting, not yet on."""
        return enable_grad() if self.mode else no_grad()

    def _modes(self, outer: Modes | None) -> Modes | None:
        return with_recording(outer) if self.mode else without_recording(outer)


class inference_mode(Switch):
    """A block, or a decorated function, in which nothing is recorded and new tensors are inference tensors, which
    autograd never sees: they have no version, cannot be written outside of inference mode, nor saved for backward.

    `inference_mode(False)` turns it off. `@inference_mode` and `@inference_mode()` both decorate.
    """

    __slots__ = ("mode",)

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode

    def clone(self) -> Switch:
        """Return a switch with the same setting."""
        return inference_mode(self.mode)

    def _modes(self, outer: Modes | None) -> Modes | None:
        modes = outer or NO_MODES
        if self.mode:
            return Modes(modes.include | INFERENCE, modes.mask & ~_DIFFERENTIATED, modes.top)
        if not modes.include & INFERENCE:
            return outer
        return Modes(modes.include & ~(INFERENCE | NO_GRAD), modes.mask | _DIFFERENTIATED, modes.top)


def is_inference(keys: int) -> bool:
    """Whether a tensor of these keys is an inference tensor."""
    return not keys & (AUTOGRAD | ADINPLACEORVIEW)
