"""Errors of the small runtime, one class each. The library's stand beside them in `opwright.errors`."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ArgumentError", "AutogradError", "ContractError", "DispatchError", "LibraryMissingError", "RegistrationError",
]  # fmt: skip


class RegistrationError(RuntimeError):
    """A definition or a kernel that cannot be registered; the registry is left as it was."""


class DispatchError(NotImplementedError):
    """No kernel handles the call, or no backend its device. The message says what is registered, or to be installed."""


class LibraryMissingError(DispatchError):
    """An operator whose kernel is in C, and whose library nobody has built."""


class ArgumentError(DispatchError, TypeError):
    """An argument that does not fit the declaration: which one, where it stands, its value, and the declaration."""


class AutogradError(RuntimeError):
    """A call that gradients cannot be recorded for."""


class ContractError(RuntimeError):
    """An operator that does not do what it is declared and registered to do: what a test of `opcheck` finds."""


def _made(name: str, args: tuple[Any, ...]) -> Exception:
    made: Exception = globals()[name](*args)
    return made


def _reduced(error: Exception) -> tuple[Any, ...]:
    return _made, (type(error).__name__, error.args), error.__dict__ or None


# Users import them from `opwright.errors`: tracebacks say that. A pickle is read where the core alone is installed.
for _name in __all__:
    globals()[_name].__module__ = "opwright.errors"
    globals()[_name].__reduce__ = _reduced
