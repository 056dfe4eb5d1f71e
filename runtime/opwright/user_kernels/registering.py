"""Kernels that programs register: functions on the arrays of a backend, and fallbacks for every operator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

from opwright.registering.kernels import Handle, add, as_kernel, register
from opwright.registering.removing import Removable
from opwright_core.arrays.devices import backend_named
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import ArrayKernel, Boxed, Kernel, Registration, UserKernel, as_key
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import RegistrationError
from opwright_core.keys import DispatchKey
from opwright_core.names.missing import did_you_mean
from opwright_core.source_locations import caller

__all__ = ["key_of_device", "register_array_kernel", "register_fallback"]

_DEVICE_KEYS: Final = {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "meta": DispatchKey.Meta}


def key_of_device(device_type: str) -> DispatchKey:
    """Return the key of a device's kernels: `cpu`, `cuda` (there need be none), a backend's name; `default` is for all.

    Raises RuntimeError for a name that is none.
    """
    if device_type == "default":
        return DispatchKey.CompositeExplicitAutograd
    found = _DEVICE_KEYS.get(device_type)
    return DispatchKey(backend_named(device_type).key) if found is None else found


def register_array_kernel(operator: Operator | str, key: DispatchKey | str | int, kernel: Callable[..., Any]) -> Handle:
    """Register a function on the arrays of a backend: called positionally with every argument, arrays for Tensors.

    It returns new arrays, views of its arguments where the schema says so, and for written arguments the array it was
    given, or None for all of them. `key` may be a backend's bit. The operator may be defined later: of a namespace that
    has operators, but not this one, a warning says so. Raises TypeError for what cannot be called.
    """
    if not callable(kernel):
        raise TypeError(f"a kernel must be callable, got {type(kernel).__name__} {kernel!r}")
    found = DispatchKey(key) if isinstance(key, int) else key
    _warn_of_unknown(operator if isinstance(operator, str) else operator.name)
    return register(operator, found, ArrayKernel(kernel), where=caller())


def _warn_of_unknown(name: str) -> None:
    """Warn of an operator that is not there, though its namespace is: more likely misspelt than defined later."""
    known = registry.operators
    if name in known:
        return
    namespace = name.partition("::")[0] + "::"
    others = [each for each in known.copy() if each.startswith(namespace)]
    if others:
        warnings.warn(
            f"a kernel is registered for {name}, which is not defined{did_you_mean(name, others)}; it serves once an "
            "operator of that name is defined",
            stacklevel=4,  # who called `impl` or `kernel` of a backend
        )


def register_fallback(
    key: DispatchKey | str,
    kernel: Kernel | Callable[..., Any],
    *,
    where: str = "",
    held: list[Removable] | None = None,
) -> Handle:
    """Register what handles a key for every operator without a kernel there: a function of `(operator, KeySet, args,
    kwargs)`, or fallthrough_kernel. The handle is added to `held`, as `register` does.

    Raises RegistrationError for alias and foreign keys, TypeError for what is no kernel.
    """
    found = as_key(key)
    if not isinstance(found, DispatchKey) or not found.bit:
        raise RegistrationError(f"a fallback serves a runtime key, and {found} is none")
    form = as_kernel(kernel)
    if isinstance(form, UserKernel):
        form = Boxed(form.function)
    return add(None, Registration(found, form, where), held)
