"""Traces within traced functions: what they run is no part of the outer graph, as in PyTorch."""

from __future__ import annotations

from opwright.context_managers.blocks import Block, modes_or_none
from opwright.fx.recording import ProxyTorchDispatchMode
from opwright.python_dispatch.modes import ENTERED, WATCHER, Entered, current_modes
from opwright_core.keys import PYTHON, TRACER
from opwright_core.state import MODES, active_modes, set_modes

__all__ = ["unrecorded"]


class unrecorded(Block):
    """A block in which the recorders around it record nothing; other modes stay on."""

    __slots__ = ()
    _variables = (MODES, ENTERED, WATCHER)

    def _switch_on(self) -> None:
        kept: Entered | None = None
        for mode in current_modes():
            if not isinstance(mode, ProxyTorchDispatchMode):
                kept = Entered(mode, kept)
        ENTERED.set(kept)
        modes = active_modes()
        if modes is not None and modes.include & TRACER:
            WATCHER.set(None)
        if modes is not None:
            include = modes.include & ~TRACER if kept is not None else modes.include & ~(TRACER | PYTHON)
            set_modes(modes_or_none(include, modes.mask, modes.top))
