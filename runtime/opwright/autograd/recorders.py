"""The recording kernels that the compiled core runs by itself (`runtime/fast/recorder.c`).

A generated package says how calls are recorded beside the Python that does it, which serves what is uncommon.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, TypeVar

from opwright.autograd import saved
from opwright.autograd.nodes import Node
from opwright.autograd.recording import record
from opwright.core import fast

__all__ = ["configure_recording", "records"]

Function = Callable[..., Any]
Make = TypeVar("Make", bound=Function)
_KEPT: Final = re.compile(r"(\w+) = ([a-z]*)(?:\((\d+)\)|(\d+))?(?: for (\d+(?:, \d+)*))?")
# How a thing is kept: `SAVE_VALUE` and so on of runtime/fast/saved_values.h, by `NUMBERS` of setup.py.
_VALUE, _TENSOR, _RESULT, _OTHER, _SHAPE, _COUNT, _STRIDES = range(7)
_WAYS: Final = {
    "": _VALUE, "save": _TENSOR, "result": _RESULT, "other": _OTHER, "shape": _SHAPE, "numel": _COUNT,
    "stride": _STRIDES,
}  # fmt: skip


def records(
    node: type[Node], edges: tuple[int, ...], *kept: str, refused: tuple[int, ...] = (), output: int = -1
) -> Callable[[Make], Make]:
    """Note on a function that makes recording kernels what they do.

    `edges` are the places of the arguments that get gradients, `refused` of those that may require none, `output` that
    of the result which has the history, where there are several. `kept` says what the node keeps: `alpha = 2` an
    argument as it is, `shape = shape(0)`, `count = numel(0)` and `strides = stride(0)` of one, `other = save(1) for 0`
    a tensor (where argument 0 gets a gradient), `result = result(0)` the result, `indices = other(1)` one of no
    history.
    """

    def attach(make: Make) -> Make:
        if fast is not None and len(kept) <= fast.MOST_SAVED:
            savings = tuple(map(_saving, kept))

            def compiled(kernel: Any, below: Function) -> Function:
                configure_recording()
                total = kernel.__code__.co_argcount
                made: Function = fast.Recorder(kernel, below, node, total, edges, savings, _bits(refused), output)
                return made

            make.compiled = compiled  # type: ignore[attr-defined]
        return make

    return attach


def _saving(text: str) -> tuple[str, int, int, int]:
    """Return slot, how, place and the bits of those who need it, 0 for always."""
    match = _KEPT.fullmatch(text)
    assert match is not None, text
    slot, way, place, bare, needed = match.groups()
    return slot, _WAYS[way], int(place or bare), _bits(map(int, needed.split(", "))) if needed else 0


def _bits(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


@cache
def configure_recording() -> None:
    """Tell the core what Python does where a call is uncommon; once."""
    fast.configure(
        save=saved.save, save_result=saved.save_result, saved_globals=vars(saved), SavedResult=saved.SavedResult,
        record=record,
    )  # fmt: skip
