"""Errors of calls that no kernel handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright_core import plugins
from opwright_core.dispatch.registry.kernel_kinds import Registration, Unbound
from opwright_core.dispatch.registry.tables import why_kernel_lost
from opwright_core.errors import DispatchError
from opwright_core.foreign_keys import is_served_by_autograd_other
from opwright_core.keys import BACKEND_SELECT, RUNTIME, DispatchKey
from opwright_core.keysets import KeySet

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["ambiguous", "missing", "unbound"]


def missing(operator: Operator, key: DispatchKey, keys: int) -> DispatchError:
    """Return the error where every key of the call has no kernel, or only fallthroughs."""
    if key is DispatchKey.Meta:
        problem = (
            f"could not run {operator.name} on tensors without data (fake or meta ones): it has no fake kernel. "
            "Declare `meta` in its schema, or register a function that makes results of the right shape: "
            f'register_fake("{operator.name}") of the library opwright'
        )
    elif key is not DispatchKey.Undefined:
        problem = f"could not run {operator.name} with arguments of {key.name}: no kernel is registered for {key.name}"
    elif keys & RUNTIME & ~BACKEND_SELECT:
        problem = (
            f"could not run {operator.name}: every key of {KeySet(keys)} falls through, and no kernel is left to run"
        )
    else:
        problem = (
            f"could not run {operator.name}: there were no tensor arguments to dispatch on (an empty list of tensors "
            "holds none), and no fallback function is registered for the operator"
        )
    return DispatchError(f"{problem}{why_kernel_lost(operator.name)}.\n{_registered(operator, key)}")


def unbound(operator: Operator, key: DispatchKey, registration: Registration) -> DispatchError:
    """Return the error where the kernel that would run is declared by name alone."""
    kernel = registration.kernel
    name = kernel.name if isinstance(kernel, Unbound) else repr(kernel)
    return DispatchError(
        f"could not run {operator.name} at {key.name}: its kernel '{name}' is declared{_at(registration)} but no "
        "kernel module has it. Name the module (opwright generate --kernels MODULE), or register the kernel: "
        f'impl("{operator.name}", "cpu", function) of the library opwright.\n{_registered(operator)}'
    )


def ambiguous(operator: Operator) -> DispatchError:
    """Return the error where AutogradOther cannot choose a composite, since a backend of it has a kernel of its own."""
    others = ", ".join(
        str(k) for k, found in operator.registrations.items() if found and is_served_by_autograd_other(k)
    )
    return DispatchError(
        f"{operator.name}: ambiguous_autogradother: it has a CompositeImplicitAutograd kernel and kernels for backends "
        f"that share AutogradOther ({others}). Register a kernel at AutogradOther to say which way gradients go."
    )


def _registered(operator: Operator, missing: DispatchKey | None = None) -> str:
    """Say which kernels there are, and which are only declared. What handles the missing one says that it is
    missing."""
    bound: list[str] = []
    declared: list[str] = []
    for key, found in operator.registrations.items():
        if not found or key is missing:
            continue
        newest = found[-1]
        name = key.name if isinstance(key, DispatchKey) else key
        if isinstance(newest.kernel, Unbound):
            declared.append(f"{name}: {newest.kernel.name}{_at(newest)}")
        else:
            bound.append(f"{name}{_at(newest)}")
    lines = [f"Registered for {operator.name}: {', '.join(bound)}." if bound else f"{operator.name} has no kernel."]
    if declared:
        lines.append(f"Declared, but bound to no code: {'; '.join(declared)}.")
    return "\n".join(lines) + plugins.failures()


def _at(registration: Registration) -> str:
    return f" ({registration.where})" if registration.where else ""
