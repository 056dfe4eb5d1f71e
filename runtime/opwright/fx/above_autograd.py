"""Recording at the key Tracer: what the user calls, above autograd, operators made of others whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from opwright.autograd.engine import is_running
from opwright.context_managers.blocks import ThreadBlock
from opwright.fx.recording import Recorder
from opwright.python_dispatch.modes import WATCHER
from opwright_core.dispatch.call.operator import Operator
from opwright_core.keys import TRACER
from opwright_core.keysets import KeySet
from opwright_core.state import MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["CallRecording", "record"]


class CallRecording(ThreadBlock):
    """A block in which a Recorder records each call of an operator before anything else sees it."""

    def __init__(self, recorder: Recorder, decompositions: Mapping[Operator, Callable[..., Any]]) -> None:
        self.recorder = recorder
        self.decompositions = decompositions
        self.is_in_backward = is_running()  # a hook or a formula that traces

    def _switch_on(self) -> CallRecording:
        modes = active_modes()
        _current.set(self)
        WATCHER.set(self.data_is_read)
        set_modes(Modes(TRACER, -1) if modes is None else Modes(modes.include | TRACER, modes.mask, modes.top))
        return self

    def call(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call, or what a decomposition makes of it."""
        if is_running() and not self.is_in_backward:
            raise RuntimeError(
                "make_fx(pre_dispatch=True) records what a function calls above autograd, and a backward pass is below "
                "it: it reads what operators saved, which no call returns. Leave pre_dispatch out, and formulas are "
                "recorded"
            )
        wrapper = self.recorder.takes_apart(args, kwargs)
        if wrapper is not None:
            raise RuntimeError(
                f"make_fx(pre_dispatch=True) records calls before {wrapper.__qualname__}.__torch_dispatch__ sees them, "
                "and what it holds would be a constant of the graph. Leave pre_dispatch out, and what it calls is "
                "recorded"
            )
        rule = self.decompositions.get(operator)
        if rule is not None:
            with self:
                result = rule(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self.recorder.call(operator, args, kwargs)

    def data_is_read(self, tensor: Tensor, what: str) -> None:
        """Refuse what would make data of inputs a constant of the graph."""
        if self.recorder.fakes is None:
            self.recorder.check_constant(tensor)


_current: Final[ContextVar[CallRecording | None]] = ContextVar("opwright_call_recording", default=None)
CallRecording._variables = (MODES, WATCHER, _current)


def record(operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Have the recording that is on record a call; what it calls is not recorded."""
    recording = _current.get()
    if recording is None:  # the key was included by hand
        return operator.redispatch(keyset & KeySet.after("Tracer"), *args, **kwargs)
    modes = active_modes()
    assert modes is not None
    try:
        set_modes(Modes(modes.include & ~TRACER, modes.mask, modes.top))
        return recording.call(operator, args, kwargs)
    finally:
        set_modes(modes)
