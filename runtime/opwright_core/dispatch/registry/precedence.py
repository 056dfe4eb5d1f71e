"""The computed table: which registration handles an operator at a runtime key.

Precedence is PyTorch's (`OperatorEntry::computeDispatchTableEntryWithDebug`), and so are the words for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opwright_core.dispatch.registry.kernel_kinds import (
    Fallthrough,
    Key,
    Lazy,
    LazyWrapper,
    Registration,
    Shim,
    Unbound,
)
from opwright_core.keys import ALIASES, AUTOGRAD, BACKENDS, DispatchKey, autograd_of
from opwright_core.names.late_imports import import_late

__all__ = ["AMBIGUOUS", "FALLTHROUGH", "MISSING", "Entry", "compute_entry"]

FALLTHROUGH: Final = "fallthrough"
MISSING: Final = "missing"
AMBIGUOUS: Final = "ambiguous autogradother"
_Registered = Mapping[Any, Sequence[Registration]]
_BACKEND_OF: Final = {
    autograd_of(key.bit): key for key in DispatchKey if not key.is_alias and key.bit & BACKENDS
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table: what handles a key, and by which rule.

    `rule` is what PyTorch's dump shows in brackets: `kernel`, `default backend kernel`, `math kernel`,
    `autograd kernel`, `backend fallback`, `ambiguous autogradother` or `missing`.
    """

    registration: Registration | None
    rule: str

    @property
    def source(self) -> str:
        """Return the rule; `fallthrough` where the key is skipped."""
        return FALLTHROUGH if self.is_fallthrough else self.rule

    @property
    def is_fallthrough(self) -> bool:
        """Whether dispatch skips the key."""
        return self.registration is not None and self.registration.is_fallthrough

    @property
    def kernel(self) -> Any:
        """Return the function that handles the key, as registered; None where there is none or it is not loaded yet."""
        if self.registration is None:
            return None
        kernel = self.registration.kernel
        if isinstance(kernel, Lazy | LazyWrapper):
            kernel = kernel.loaded or Unbound(repr(kernel))
        match kernel:
            case Shim(general):
                return general
            case Fallthrough() | Unbound():
                return None
            case _:
                return getattr(kernel, "function", None) or getattr(kernel, "make", None) or kernel

    @property
    def where(self) -> str:
        """Return where the registration was made."""
        return "" if self.registration is None else self.registration.where


_NOTHING: Final = Entry(None, MISSING)


def compute_entry(key: DispatchKey, registered: _Registered, fallbacks: _Registered) -> Entry:
    """Return the entry for `key`: its own kernel, an alias key's by the rules below, the key's fallback, or nothing."""
    found = (
        _newest(registered, key, "kernel")
        or _default_backend_kernel(key, registered)
        or _math_kernel(key, registered)
        or (_newest(registered, DispatchKey.Autograd, "autograd kernel") if key.bit & AUTOGRAD else None)
        or _newest(fallbacks, key, "backend fallback")
    )
    return found or _NOTHING


def _newest(registered: _Registered, key: Key, rule: str) -> Entry | None:
    found = registered.get(key)
    return Entry(found[-1], rule) if found else None


def _shares_autograd(key: Key) -> bool:
    """Whether a key is a backend without an Autograd key of its own: a foreign one."""
    if isinstance(key, DispatchKey):
        return False
    found: bool = import_late("opwright_core.foreign_keys").is_served_by_autograd_other(key)
    return found


def _default_backend_kernel(key: DispatchKey, registered: _Registered) -> Entry | None:
    if key is not DispatchKey.Undefined and not key.bit & BACKENDS:
        return None
    rule = "default backend kernel"
    return _newest(registered, DispatchKey.CompositeExplicitAutogradNonFunctional, rule) or _newest(
        registered, DispatchKey.CompositeExplicitAutograd, rule
    )


def _math_kernel(key: DispatchKey, registered: _Registered) -> Entry | None:
    """Return CompositeImplicitAutograd's kernel, unless the key belongs to a backend that has one of its own."""
    implicit = DispatchKey.CompositeImplicitAutograd
    if not registered.get(implicit) or (key is not DispatchKey.Undefined and not key.bit & ALIASES[implicit]):
        return None
    if key is DispatchKey.AutogradOther and any(_shares_autograd(k) for k, found in registered.items() if found):
        return Entry(None, AMBIGUOUS)
    if registered.get(DispatchKey.CompositeExplicitAutograd) or registered.get(_BACKEND_OF.get(key.bit)):
        return None
    return _newest(registered, implicit, "math kernel")
