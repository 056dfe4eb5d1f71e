"""Anomaly mode: an error of a backward pass points at the forward call, and NaN in a gradient is an error.

In the mode, calls carry the ANOMALY bit, and the chain composed for it keeps where each recorded call was made. Where
`graph.node_creation_hook` is on they carry it too, and the chain calls the hooks.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final

import numpy as np

from opwright.autograd import creations
from opwright.autograd.nodes import Node, node_of
from opwright.context_managers.blocks import Block, modes_or_none, put_back
from opwright.names.late_bound import late_bound
from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.dtypes import REDUCED
from opwright_core.keys import ANOMALY, FRONT_MODE, META
from opwright_core.state import MODES, NO_MODES, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["apply", "detect_anomaly", "is_on", "note", "noting", "set_detect_anomaly"]

_running: Final[ContextVar[Node | None]] = ContextVar("opwright_running_node", default=None)
_is_detecting: Final[ContextVar[bool]] = ContextVar("opwright_is_detecting", default=False)
_check_nan: Final[ContextVar[bool]] = ContextVar("opwright_check_nan", default=False)


def is_on() -> bool:
    """Whether this thread is in anomaly mode."""
    return _is_detecting.get() and (modes := active_modes()) is not None and modes.include & ANOMALY != 0


class set_detect_anomaly:
    """A switch of anomaly mode for this thread: on or off at once, and back again at the end of its `with` block.

    With `check_nan=False` NaN in gradients is no error.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        detecting = _is_detecting, _is_detecting.get()
        self._outer = (MODES, active_modes()), (_check_nan, _check_nan.get()), detecting
        try:  # (Note [Interrupted blocks])
            _switch(mode, check_nan)
        except BaseException:
            put_back(self._outer)
            raise

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            put_back(self._outer)
        except BaseException:
            put_back(self._outer)
            raise


def _switch(is_on: bool, check_nan: bool) -> None:
    modes = active_modes() or NO_MODES
    include = modes.include | ANOMALY if is_on or creations.are_watched() else modes.include & ~ANOMALY
    set_modes(modes_or_none(include, modes.mask, modes.top))
    _check_nan.set(check_nan)
    _is_detecting.set(is_on)


class detect_anomaly(Block):
    """Anomaly mode in a `with` block. It is slow: for finding a mistake, not for training."""

    __slots__ = ("_check_nan",)
    _variables = (MODES, _check_nan, _is_detecting)

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def _switch_on(self) -> None:
        _switch(True, self._check_nan)


def note(node: Node) -> None:
    """Keep where the call being recorded was made."""
    extra = node.more()
    if extra.trace is None:
        extra.trace = traceback.format_stack()[:-1]
        extra.parent = _running.get()


def noting(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a recording kernel that keeps where it was called, and tells hooks of the nodes that it made."""

    def call(*args: Any) -> Any:
        result = kernel(*args)
        results = result if isinstance(result, list | tuple) else (result,)
        if creations.are_watched():
            creations.announce_those_of(results)
        if not is_on():
            return result
        for each in results:
            if isinstance(each, Tensor) and each.edge is not None and each is not args[0]:
                node = node_of(each.edge)
                if node.sequence >= 0:
                    note(node)
        return result

    return call


def apply(node: Node, grads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Any]:
    """Run a node, `options` by keyword; what goes wrong is shown with the forward call. Raises RuntimeError for NaN."""
    outer = _running.get()
    try:
        _running.set(node)
        results = node.apply(*grads, **options)
        if _check_nan.get():
            _refuse_nan(node, results)
        return results
    except Exception as error:
        _explain(node, error)
        raise
    finally:
        _running.set(outer)


def _refuse_nan(node: Node, results: Sequence[Any]) -> None:
    """Raise RuntimeError for NaN."""
    for index, result in enumerate(results):
        if isinstance(result, Tensor) and _has_nan(result):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")


def _explain(node: Node, error: Exception) -> None:
    text = _forward_call(node)
    warnings.warn(text, stacklevel=2)
    error.add_note(text)


def _forward_call(node: Node) -> str:
    trace = None if node.extra is None else node.extra.trace
    if trace is None:
        return (
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information."
        )
    text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(trace)}"
    parent = node.extra.parent if node.extra is not None else None
    if parent is not None and parent.extra is not None and parent.extra.trace is not None:
        text += (
            f"\nIt was itself recorded while {parent.name()} was differentiated, whose forward call was:\n"
            f"{''.join(parent.extra.trace)}"
        )
    return text


def _has_nan(grad: Tensor) -> bool:
    if grad.keys & FRONT_MODE:
        grad = late_bound.levels().value_of_no_level(grad)
    if grad.keys & META:
        return False
    values = backend_of(grad.array).to_numpy(grad.array)
    return bool(np.isnan(values.astype(np.float32) if values.dtype in REDUCED else values).any())
