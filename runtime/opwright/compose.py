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
    NO_GRAD,
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
    Kernel,
    Lazy,
    LazyWrapper,
    Shim,
    Unbound,
    UserKernel,
    Wrapper,
)
from opwright.state import below_adinplaceorview

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


def _chain(operator: Operator, keys: int, is_wrapped: bool = False) -> Function:
    key, entry = operator.first_entry(keys)
    registration = entry.registration
    if registration is None:
        if key is DispatchKey.Meta and operator.signature.written and not operator.signature.returns:
            return _writes_alone
        raise ambiguous(operator) if entry.rule == AMBIGUOUS else missing(operator, key, keys)
    kernel = registration.kernel
    if _is_generated(kernel) and _has_nothing_to_do(operator, key, keys):
        return _chain(operator, _below(operator, key, keys), is_wrapped)
    if isinstance(kernel, Lazy | LazyWrapper):
        assert kernel.loaded is not None  # find_unloaded came first
        kernel = kernel.loaded
    if key is DispatchKey.Meta and keys & BACKENDS & ~META:
        return _fake_kernel("mixed", operator)
    match kernel:
        case Shim(general, dense):
            return general if dense is None or keys & ODD else dense
        case Composite(function):
            if is_wrapped and key.bit & BACKENDS:
                function = _below_wrappers(function)
            return _fake_kernel("in_mode", function) if keys & META else function
        case UserKernel(function, with_keyset):
            if with_keyset:
                function = functools.partial(function, KeySet(operator.without_fallthrough(keys)))
            adapted = adapt_user_kernel(operator, function)
            return _fake_kernel("check_fake_kernel", operator, adapted) if key is DispatchKey.Meta else adapted
        case ArrayKernel(function):
            return adapt_array_kernel(operator, function)
        case Wrapper(make):
            below = _chain(operator, _below(operator, key, keys), is_wrapped=True)
            made = make(below)
            if not key.bit & AUTOGRAD:
                return made
            if kernel.is_generated and keys & VIEW:
                made = _for_autograd("recording", "refreshing", made, below, operator.signature)
            return _for_autograd("anomaly", "noting", made) if keys & ANOMALY else made
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


def _writes_alone(*args: Any) -> None:
    """The fake kernel of operators that write to their arguments and return nothing: there is no data to write."""


def _fake_kernel(kind: str, *about: Any) -> Function:
    """What serves tensors without data: made by `opwright.fake.kernels`, which is loaded when there are any."""
    from opwright.fake import kernels

    made: Function = getattr(kernels, kind)(*about)
    return made


def _is_generated(kernel: Kernel | None) -> bool:
    return isinstance(kernel, LazyWrapper) or (isinstance(kernel, Wrapper) and kernel.is_generated)


def _has_nothing_to_do(operator: Operator, key: DispatchKey, keys: int) -> bool:
    """Whether a generated wrapper is left out of the chain for these keys. At an Autograd key: no tensor requires grad
    (whether views do is known when they are looked at). At ADInplaceOrView: the result is one view, and no mode is on
    that such a kernel would note."""
    if key.bit & AUTOGRAD:
        return not keys & (GRAD | VIEW)
    signature = operator.signature
    is_view = not signature.written and signature.returns == ("Tensor",)
    return key is DispatchKey.ADInplaceOrView and is_view and not keys & (NO_GRAD | INFERENCE)


def _below_wrappers(function: Function) -> Function:
    """A kernel over other operators that wrappers treat as one operator: what it calls is neither recorded nor does it
    count as writes of its own."""

    def call(*args: Any) -> Any:
        with below_adinplaceorview():
            return function(*args)

    return call


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
        kernel = None if entry.registration is None else entry.registration.kernel
        if not (_is_generated(kernel) and _has_nothing_to_do(operator, key, keys)):
            if isinstance(kernel, Lazy | LazyWrapper) and kernel.loaded is None:
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
