"""Kernels registered and taken back: atomic, under one lock; each change drops the tables it makes stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.registering.removing import Removable
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import (
    ArrayKernel,
    BackendSelect,
    Boxed,
    Composite,
    Fallthrough,
    Kernel,
    Key,
    Lazy,
    LazyWrapper,
    Registration,
    Shim,
    Taking,
    Unbound,
    UserKernel,
    Wrapper,
    as_key,
    fallthrough_kernel,
)
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey

__all__ = ["Handle", "add", "as_kernel", "register", "registered", "undefine"]


_FORMS = (
    ArrayKernel, BackendSelect, Boxed, Composite, Fallthrough, Lazy, LazyWrapper, Shim, Taking, Unbound, UserKernel,
    Wrapper,
)  # fmt: skip


class Handle:
    """One registration, to be taken back: the one before it then serves its key again."""

    __slots__ = ("name", "registration")

    def __init__(self, name: str | None, registration: Registration) -> None:
        self.name = name  # of the operator; None for a fallback
        self.registration = registration

    def remove(self) -> None:
        """Take the registration back. Doing so again has no effect."""
        registration = self.registration
        with registry.lock:
            found = registered(self.name, registration.key)
            if registration in found:
                found.remove(registration)
                registry.forget_tables(self.name)
            if self.name is not None:
                _drop_if_unused(self.name)

    def __repr__(self) -> str:
        return f"<Handle {self.name or 'fallback'} at {self.registration.key}>"


def as_kernel(function: Kernel | Callable[..., Any]) -> Kernel:
    """Return the kernel's form; a plain function is one on Tensors. Raises TypeError for what cannot be called."""
    if isinstance(function, _FORMS):
        return function
    if function is fallthrough_kernel:
        return Fallthrough()
    if not callable(function):
        raise TypeError(f"a kernel must be callable, got {type(function).__name__} {function!r}")
    return UserKernel(function)


def register(
    operator: Operator | str,
    key: DispatchKey | str,
    kernel: Kernel | Callable[..., Any],
    *,
    where: str = "",
    held: list[Removable] | None = None,
) -> Handle:
    """Register a kernel for an operator, which need not be defined yet, at a key. The newest of a key serves it.

    `kernel` is one of the forms of `dispatch.registry.kernel_kinds`, or a function on Tensors. The handle is added to
    `held`, as one step with the registration. Raises RegistrationError for an unknown key, TypeError for what is no
    kernel.
    """
    name = operator if isinstance(operator, str) else operator.name
    registration = Registration(as_key(key), as_kernel(kernel), where)
    if registration.key is DispatchKey.Undefined:
        raise RegistrationError(f"{name}: no kernel can be registered at Undefined; use CompositeExplicitAutograd")
    return add(name, registration, held)


def add(name: str | None, registration: Registration, held: list[Removable] | None) -> Handle:
    """Register for an operator, or with None for all. An interrupt leaves neither the kernel nor the handle."""
    handle = Handle(name, registration)
    with registry.lock:
        try:
            registered(name, registration.key).append(registration)
            registry.forget_tables(name)
            if held is not None:
                held.append(handle)
        except BaseException:
            handle.remove()
            raise
    return handle


def undefine(operator: Operator) -> None:
    """Take an operator back. Its kernels stay registered for a later definition of the name."""
    registry.check_held()
    if registry.operators.get(operator.name) is operator:
        del registry.operators[operator.name]
        packet = registry.change_overloads(operator)
        packet.operators.pop(operator.overload, None)  # not yet there, where the definition was interrupted
        if not packet.operators:
            registry.empty_overloads[operator.packet_name] = registry.overloads.pop(operator.packet_name)
        _drop_if_unused(operator.name)
        for table, rule in tuple(operator.rules.items()):
            rule.remove()
            del operator.rules[table]
        operator.forget_table()


def registered(name: str | None, key: Key) -> list[Registration]:
    """Return what is registered at a key, to be changed: for an operator, or with None for all."""
    registry.check_held()
    if name is not None:
        return registry.kernels.setdefault(name, {}).setdefault(key, [])
    assert isinstance(key, DispatchKey)  # register_fallback takes no other
    return registry.fallbacks.setdefault(key, [])


def _drop_if_unused(name: str) -> None:
    """Drop the entry of a name that is neither defined nor has kernels."""
    registry.check_held()
    if name not in registry.operators and not any(registry.kernels.get(name, {}).values()):
        registry.kernels.pop(name, None)
