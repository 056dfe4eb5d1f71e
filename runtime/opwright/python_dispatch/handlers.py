"""Kernels of the key `Python`: the innermost mode is asked, then the subclasses among the arguments. At PreDispatch
classes are asked about functions (`overrides`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from opwright.namespaces import aten
from opwright.python_dispatch.aliasing import link_views, written_arguments
from opwright.python_dispatch.modes import ENTERED, WATCHER, Entered, current_modes, entered, leave
from opwright.python_dispatch.overrides import call_overrides
from opwright.python_dispatch.rules import RULES
from opwright_core.keys import PRE_DISPATCH, PYTHON, RUNTIME
from opwright_core.keysets import KeySet
from opwright_core.state import Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["call_handlers", "data_is_read", "lifted"]

_NOT_ABOVE: Final = ~(RUNTIME & -(PYTHON << 1))  # no key that comes before Python; private bits stay


def call_handlers(operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call that modes or subclasses handle: the argument itself where the operator writes and
    returns it; a wrapper that stands for a view of another one is known as that one's view.

    Raises TypeError where every handler returns NotImplemented.
    """
    if keyset.bits & PRE_DISPATCH:
        return call_overrides(operator, keyset, args, kwargs)
    tensors = overloaded((*args, *kwargs.values()))
    innermost = entered()
    if innermost is None and not tensors:  # the key was included by hand
        return operator.redispatch(keyset & KeySet.after("Python"), *args, **kwargs)
    types: tuple[Any, ...] = tuple(map(type, tensors))
    modes = active_modes()
    below = Modes(0, _NOT_ABOVE) if modes is None else Modes(modes.include, modes.mask & _NOT_ABOVE, modes.top)
    try:  # what a handler calls is not recorded: the call it handles is, above it
        set_modes(below)
        result = NotImplemented
        if innermost is not None:
            try:
                leave(innermost, below)
                result = _ask(innermost.mode, type(innermost.mode), operator, types, args, kwargs)
            finally:
                try:
                    ENTERED.set(innermost)
                finally:
                    set_modes(below)
        if result is NotImplemented:
            result = _ask_classes(operator, types, args, kwargs)
    finally:
        set_modes(modes)
    if result is NotImplemented:
        raise _unhandled(operator, innermost, types)
    aliases = operator.signature.aliases
    if aliases.count(None) == len(aliases):
        return result
    link_views(operator, args, kwargs, result)
    return written_arguments(operator, args, kwargs, result)


def lifted(made: Tensor) -> Tensor:
    """Show modes what `tensor(data)` makes: as the operator `lift_fresh`, whose result they may exchange."""
    shown: Tensor = aten["lift_fresh.default"](made)
    return made if shown.array is made.array or shown._base is made else shown


def data_is_read(tensor: Tensor, what: str) -> None:
    """Tell the modes that are on of what reads data and calls no operator: `x.numpy()`, `x.tolist()`."""
    watcher = WATCHER.get()
    if watcher is not None:
        watcher(tensor, what)
    for mode in current_modes():
        mode.data_is_read(tensor, what)


def _ask_classes(operator: Operator, types: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    """Return what the first class says that handles the call; NotImplemented where none does."""
    for kind in types:
        result = _ask(kind, kind, operator, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _ask(handler: Any, kind: type, operator: Operator, types: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    """Return what a mode or a class says to the call, or the rule that stands in for it."""
    rule = RULES.find(operator.name, kind)
    if rule is None:
        return handler.__torch_dispatch__(operator, types, args, kwargs)
    return rule(handler, operator, types, args, kwargs)


def _unhandled(operator: Operator, innermost: Entered | None, types: tuple[Any, ...]) -> TypeError:
    asked = [] if innermost is None else [f"mode {innermost.mode!r}"]
    asked += [f"Tensor subclass {kind.__qualname__}" for kind in types]
    return TypeError(
        f"Multiple dispatch failed for {operator.name}: every __torch_dispatch__ handler returned NotImplemented: "
        + ", ".join(asked)
    )


def overloaded(values: Iterable[Any]) -> list[Any]:
    """Return the first tensor of each class with a handler, in the order of arguments, subclasses before bases."""
    found: list[Any] = []
    for value in values:
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if isinstance(tensor, Tensor) and tensor.keys & PYTHON:
                kind = type(tensor)
                if all(type(other) is not kind for other in found):
                    position = next((p for p, other in enumerate(found) if issubclass(kind, type(other))), len(found))
                    found.insert(position, tensor)
    return found
