"""The recording kernels that the compiled core runs by itself (`runtime/fast/recorder.c`).

A generated package says how calls are recorded beside the Python that does it, which serves what is uncommon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

from opwright.autograd import saved
from opwright.autograd.nodes import Node
from opwright.autograd.recording import record
from opwright.core import fast
from opwright.keys import AUTOGRAD, GRAD

__all__ = ["configure_recording", "records"]

Function = Callable[..., Any]
Make = TypeVar("Make", bound=Function)
_KEPT: Final = re.compile(r"(\w+) = (?:(\d+)|save\((\d+)\)(?: for (\d+))?|result)")
# How a thing is kept: `Keeping` in runtime/fast/recorder.c.
_VALUE, _TENSOR, _RESULT = range(3)


def records(node: type[Node], edges: tuple[int, ...], *kept: str) -> Callable[[Make], Make]:
    """Note on a function that makes recording kernels what they do: the places of the arguments that get gradients, and
    what the node keeps, `alpha = 2`, `other = save(1) for 0` (where argument 0 gets one), `result = result`."""

    def attach(make: Make) -> Make:
        if fast is not None and (savings := _savings(kept)) is not None:

            def compiled(kernel: Any, below: Function) -> Function:
                configure_recording()
                made: Function = fast.Recorder(kernel, below, node, kernel.__code__.co_argcount, edges, savings)
                return made

            make.compiled = compiled  # type: ignore[attr-defined]
        return make

    return attach


def _savings(kept: tuple[str, ...]) -> tuple[tuple[str, int, int, int], ...] | None:
    """Return slot, how, place and the place of who needs it, -1 for always; None where the core cannot do it."""
    found = []
    for text in kept:
        match = _KEPT.fullmatch(text)
        if match is None or len(kept) > fast.MOST_SAVED:
            return None
        slot, value, tensor, needed = match.groups()
        if value is not None:
            found.append((slot, _VALUE, int(value), -1))
        elif tensor is not None:
            found.append((slot, _TENSOR, int(tensor), -1 if needed is None else int(needed)))
        else:
            found.append((slot, _RESULT, 0, -1))
    return tuple(found)


@cache
def configure_recording() -> None:
    """Tell the core what Python does where a call is uncommon; once."""
    fast.configure_saving(saved.save, saved.save_result, vars(saved), "_blocks", saved.SavedResult, AUTOGRAD)
    fast.configure_recording(Node, record, GRAD)
