"""From a registration and a keyset to a function that takes every argument positionally."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, assert_never

from opwright.adapters import adapt_array_kernel, adapt_boxed, adapt_user_kernel
from opwright.devices import Device, backend_named
from opwright.dispatch_errors import ambiguous, missing, unbound
from opwright.dispatch_table import AMBIGUOUS
from opwright.keys import (
    ADINPLACEORVIEW,
    ANOMALY,
    ARRAYS,
    AUTOGRAD,
    BACKEND_SELECT,
    BACKENDS,
    CPU,
    DENSE_CPU,
    GRAD,
    INFERENCE,
    META,
    NO_KEYS,
    ODD,
    PRIVATE,
    PYTHON_DISPATCHER,
    RUNTIME,
    VIEW,
    DispatchKey,
    KeySet,
)
from opwright.plain_arrays import call_with_arrays, unwrap
from opwright.registrations import (
    ArrayKernel,
    BackendSelect,
    Boxed,
    Composite,
    Fallthrough,
    Lazy,
    LazyWrapper,
    Shim,
    Unbound,
    UserKernel,
    Wrapper,
)

if TYPE_CHECKING:
    from opwright.dispatcher import Operator

__all__ = ["compose", "compose_arrays", "find_unloaded"]

Function = Callable[..., Any]


def compose(operator: Operator, keys: int) -> Function:
    """The kernel for a keyset. The lock is held and what it needs is loaded. Raises DispatchError."""
    kernel = _chain(operator, _start(keys))
    if keys & INFERENCE:
        return _for_autograd("inference", "making", kernel)
    if keys & BACKENDS and not keys & ADINPLACEORVIEW and operator.signature.written:
        return _for_autograd("inference", "checking", kernel, operator.signature.written)
    return kernel


def _chain(operator: Operator, keys: int) -> Function:
    key, entry = operator.first_entry(keys)
    registration = entry.registration
    if registration is None:
        if key is DispatchKey.Meta and operator.signature.written and not operator.signature.returns:
            return _fake_kernel("writes_alone", operator)
        raise ambiguous(operator) if entry.rule == AMBIGUOUS else missing(operator, key, keys)
    kernel = registration.kernel
    if isinstance(kernel, Lazy | LazyWrapper):
        if not kernel.is_needed(keys):
            return _chain(operator, _below(operator, key, keys))
        assert kernel.loaded is not None  # find_unloaded came first
        kernel = kernel.loaded
    if key is DispatchKey.Meta and keys & BACKENDS & ~META:
        return _fake_kernel("mixed", operator)
    match kernel:
        case Shim(general, dense):
            return general if dense is None or keys & ODD else dense
        case Composite(function):
            return _fake_kernel("in_mode", function) if keys & META else function
        case UserKernel(function, with_keyset):
            if with_keyset:
                function = functools.partial(function, KeySet(operator.without_fallthrough(keys)))
            adapted = adapt_user_kernel(operator, function)
            return _fake_kernel("check_fake_kernel", operator, adapted) if key is DispatchKey.Meta else adapted
        case ArrayKernel(function):
            return adapt_array_kernel(operator, function)
        case Wrapper(make):
            below = _below(operator, key, keys)
            made = _record(operator, kernel, keys, below) if key.bit & AUTOGRAD else make(_chain(operator, below))
            return _for_autograd("anomaly", "noting", made) if keys & ANOMALY and key.bit & AUTOGRAD else made
        case Boxed(function):
            return adapt_boxed(operator, function, KeySet(operator.without_fallthrough(keys)))
        case BackendSelect(position):
            return _select_backend(operator, position, keys & PYTHON_DISPATCHER)
        case Unbound():
            raise unbound(operator, key, entry)
        case Fallthrough():
            raise missing(operator, key, keys)
        case _:
            assert_never(kernel)


def _fake_kernel(kind: str, *about: Any) -> Function:
    """What serves tensors without data: made by `opwright.fake.kernels`, which is loaded when there are any."""
    from opwright.fake import kernels

    made: Function = getattr(kernels, kind)(*about)
    return made


def _record(operator: Operator, wrapper: Wrapper, keys: int, below: int) -> Function:
    """The kernel of an Autograd key. A generated one is there only for tensors that require grad; whether views do is
    known when they are looked at."""
    rest = _chain(operator, below)
    if not wrapper.is_generated:
        return wrapper.make(rest)
    if not keys & (GRAD | VIEW):
        return rest
    if not _ends_in_shim(operator, below):
        rest = _for_autograd("modes", "below_recording", rest)
    kernel = wrapper.make(rest)
    return _for_autograd("recording", "refreshing", kernel, rest, operator.signature) if keys & VIEW else kernel


def _ends_in_shim(operator: Operator, keys: int) -> bool:
    """Whether the last kernel of a chain calls no operators, which would be recorded themselves."""
    while True:
        key, entry = operator.first_entry(keys)
        kernel = entry.registration and entry.registration.kernel
        if not isinstance(kernel, Wrapper | LazyWrapper):
            return isinstance(kernel, Shim) or (isinstance(kernel, Lazy) and not kernel.is_composite)
        keys = _below(operator, key, keys)


def _for_autograd(module: str, kind: str, *about: Any) -> Function:
    """A kernel with what a mode of `opwright.autograd` adds to it."""
    made: Function = getattr(importlib.import_module(f"opwright.autograd.{module}"), kind)(*about)
    return made


def _start(keys: int) -> int:
    """The keys to look through. A call without tensors begins where its backend is selected."""
    if keys == NO_KEYS:
        return 0
    return keys if keys & RUNTIME else keys | BACKEND_SELECT


def _below(operator: Operator, key: DispatchKey, keys: int) -> int:
    return operator.without_fallthrough(keys) & (key.bit - 1 | PRIVATE)


def compose_arrays(operator: Operator) -> Function:
    """The kernel for plain NumPy arrays alone, with no mode switched on. The lock is held."""
    _, entry = operator.first_entry(DENSE_CPU)
    kernel = None if entry.registration is None else entry.registration.kernel
    if isinstance(kernel, Lazy):
        kernel = kernel.loaded
    match kernel:
        case Shim(arrays=function) if function is not None:
            return function
        case Composite(function) if not operator.signature.written:
            return lambda *args: unwrap(function(*args))
        case _:
            return lambda *args: call_with_arrays(operator, args)


def find_unloaded(operator: Operator, keys: int) -> Lazy | LazyWrapper | None:
    """A kernel that composing for `keys` needs and that is not imported yet. The lock is held."""
    keys = DENSE_CPU if keys == ARRAYS else _start(keys)
    while True:
        key, entry = operator.first_entry(keys)
        kernel = entry.registration and entry.registration.kernel
        if isinstance(kernel, Lazy | LazyWrapper) and kernel.loaded is None and kernel.is_needed(keys):
            return kernel
        if not isinstance(kernel, Wrapper | LazyWrapper):
            return None
        keys = _below(operator, key, keys)


def _select_backend(operator: Operator, position: int, mode: int) -> Function:
    """For factories: the device argument says which backend's kernel makes the tensor."""

    def select_backend(*args: Any) -> Any:
        device = args[position]
        keys = mode | (CPU if device is None or device.type == "cpu" else _backend_bit(device))
        return (operator.table.get(keys) or operator.resolve(keys))(*args)

    return select_backend


def _backend_bit(device: Device) -> int:
    return META if device.type == "meta" else backend_named(device).key
