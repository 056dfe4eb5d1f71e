"""The fallbacks that every process begins with: they handle keys at which an operator has no kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.dispatch.registry.kernel_kinds import Boxed, Fallthrough, Kernel, Registration, Taking, Wrapper
from opwright_core.keys import DispatchKey
from opwright_core.late_bound import has_library, late_bound

__all__ = ["COUNTING", "INPLACE_OR_VIEW", "default_fallbacks"]

Function = Callable[..., Any]
_SKIPPED: Final = ("BackendSelect", "ADInplaceOrView", "Autocast")


def default_fallbacks() -> dict[DispatchKey, list[Registration]]:
    """Return the fallback of each key that has one. Keys are PyTorch's, and two more Autograd keys: our tensors always
    carry theirs."""
    found: dict[DispatchKey, Kernel] = {key: Fallthrough() for key in DispatchKey if key.name in _SKIPPED}
    autograd = [key for key in DispatchKey if key.name.startswith("Autograd") and not key.is_alias]
    found |= dict.fromkeys(autograd, _wrapper(_warns))
    found[DispatchKey.Python] = found[DispatchKey.PreDispatch] = Boxed(_call_handlers)
    found[DispatchKey.Tracer] = Boxed(_record)
    found[DispatchKey.FrontMode] = Taking(lambda operator: late_bound.levels().front_of(operator))
    found[DispatchKey.BackMode] = Taking(lambda operator: late_bound.levels().back_of(operator))
    return {key: [_by_default(key, kernel)] for key, kernel in found.items()}


def _by_default(key: DispatchKey, kernel: Kernel) -> Registration:
    return Registration(key, kernel, "default")


def _wrapper(make: Callable[[Any, Function], Function]) -> Wrapper:
    """Return a wrapper of `opwright.autograd.fallbacks` (Note [Operators without formulas] there). Without the library
    nothing records, and there is nothing to count or to note."""
    return Wrapper(make, is_generated=True, is_for_any=True, lets_record=True)


def _warns(operator: Any, below: Function) -> Function:
    return late_bound.gradients().warn_in_backward(operator, below) if has_library() else below


def _counts(operator: Any, below: Function) -> Function:
    is_left = operator.stub is not None or not has_library()
    return below if is_left else late_bound.gradients().count_writes(operator, below)


def _writes_and_views(operator: Any, below: Function) -> Function:
    return late_bound.gradients().inplace_or_view(operator, below) if has_library() else below


def _call_handlers(operator: Any, keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Have dispatch modes and Tensor subclasses handle a call. Most programs have neither, and load nothing of them."""
    return late_bound.handlers().call_handlers(operator, keyset, args, kwargs)


def _record(operator: Any, keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Have the trace that is on record a call. Most programs have none, and load nothing of it."""
    return late_bound.traces().record(operator, keyset, args, kwargs)


# Of generated operators, by the alias annotations of their schemas.
INPLACE_OR_VIEW: Final = Wrapper(_writes_and_views, is_generated=True, is_for_any=True)
# Of operators that write, instead of ADInplaceOrView's fallthrough. Generated ones have `INPLACE_OR_VIEW`.
COUNTING: Final = _by_default(DispatchKey.ADInplaceOrView, _wrapper(_counts))
