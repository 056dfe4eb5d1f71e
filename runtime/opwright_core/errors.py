"""Errors of the small runtime, one class each. The library's stand beside them in `opwright.errors`."""

from __future__ import annotations

__all__ = ["ArgumentError", "AutogradError", "ContractError", "DispatchError", "RegistrationError"]


class RegistrationError(RuntimeError):
    """A definition or a kernel that cannot be registered; the registry is left as it was."""


class DispatchError(NotImplementedError):
    """No kernel handles the call, or no backend its device. The message says what is registered, or to be installed."""


class ArgumentError(DispatchError, TypeError):
    """An argument that does not fit the declaration: which one, where it stands, its value, and the declaration."""


class AutogradError(RuntimeError):
    """A call that gradients cannot be recorded for."""


class ContractError(RuntimeError):
    """An operator that does not do what it is declared and registered to do: what a test of `opcheck` finds."""


# Users import them from `opwright.errors`: tracebacks and pickles say that.
for _name in __all__:
    globals()[_name].__module__ = "opwright.errors"
