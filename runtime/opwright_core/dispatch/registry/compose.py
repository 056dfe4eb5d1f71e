"""The composition of kernels: a registration and a keyset become a function that takes every argument positionally."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, assert_never

from opwright_core.arrays.devices import backend_named
from opwright_core.core import fast
from opwright_core.dispatch.call.plain_arrays import call_with_arrays
from opwright_core.dispatch.compiled.planned_kernels import with_views
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.registry.forward_rules import RULES
from opwright_core.dispatch.registry.kernel_kinds import (
    ArrayKernel,
    BackendSelect,
    Boxed,
    Composite,
    Fallthrough,
    Lazy,
    LazyWrapper,
    Registration,
    Shim,
    Taking,
    Unbound,
    UserKernel,
    Wrapper,
)  # fmt: skip
from opwright_core.dispatch.registry.precedence import AMBIGUOUS, Entry
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import (
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
    NONDENSE,
    PRIVATE,
    PRIVATEUSE1,
    PRIVATEUSE2,
    PRIVATEUSE3,
    PYTHON_DISPATCHER,
    TANGENT,
    VIEW,
    DispatchKey,
)  # fmt: skip
from opwright_core.late_bound import late_bound
from opwright_core.names.late_imports import import_late
from opwright_core.state import Modes, active_modes, set_modes

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["compose", "compose_arrays", "compose_registration", "find_unloaded", "on_one_device"]

Function = Callable[..., Any]
_REGISTERED = PRIVATEUSE1 | PRIVATEUSE2 | PRIVATEUSE3
_WRAPPERS = AUTOGRAD | ADINPLACEORVIEW
_BELOW_WRAPPERS = Modes(0, ~_WRAPPERS)  # where no other mode is on


def _errors() -> Any:
    return import_late("opwright_core.texts.dispatch_errors")  # as what follows: most processes need neither


def _adapters() -> Any:
    return import_late("opwright_core.user_kernels.adapters")


def on_one_device(operator: Operator, kernel: Function) -> Function:
    """Return a kernel that gets tensors on one device, as `mixed_devices` says; moved ones are not recorded."""
    below = _below_wrappers(lambda *args: operator.call(*args))
    found: Function = import_late("opwright_core.inputs.mixed_devices").on_one_device(operator, kernel, below)
    return found


def compose(operator: Operator, keys: int) -> Function:
    """Return the kernel for a keyset: what it needs is loaded. Raises DispatchError."""
    registry.check_held()
    kernel = _chain(operator, _start(keys))
    if keys & INFERENCE and not any(alias is not None for alias in operator.signature.aliases):
        return late_bound.gradients().making(kernel)
    if keys & BACKENDS and not keys & ADINPLACEORVIEW and operator.signature.written:
        return late_bound.gradients().checking(kernel, operator.signature.written)
    return kernel


def _chain(operator: Operator, keys: int, is_wrapped: bool = False) -> Function:
    """Return the function for a keyset, from its first key on. Below a wrapper, `is_wrapped`, kernels that call
    operators do so without recording these or counting what they write: the wrapper does that for the whole."""
    key, entry, keys = _first(operator, keys)
    registration = entry.registration
    if registration is None:
        if _has_several_backends(keys):
            return on_one_device(operator, functools.partial(_raise, _errors().missing(operator, key, keys)))
        if key is DispatchKey.Meta and operator.signature.written and not operator.signature.returns:
            return late_bound.gradients().differentiating(operator, _writes_alone) if keys & TANGENT else _writes_alone
        raise _errors().ambiguous(operator) if entry.rule == AMBIGUOUS else _errors().missing(operator, key, keys)
    kernel = compose_registration(operator, key, registration, keys, is_wrapped)
    return kernel if registry.watch is None else registry.watch(operator, key, entry, kernel)


def compose_registration(
    operator: Operator, key: DispatchKey, registration: Registration, keys: int, is_wrapped: bool = False
) -> Function:
    """Return one registration's kernel, handling `key` in a call with these keys: what it needs is loaded.

    Raises DispatchError.
    """
    registry.check_held()
    if keys & TANGENT and operator.signature.tensors and not _sees_tangents(key, registration):
        below = compose_registration(operator, key, registration, keys & ~TANGENT, is_wrapped)
        return late_bound.gradients().differentiating(operator, below)
    kernel = registration.kernel
    if isinstance(kernel, Lazy | LazyWrapper):
        assert kernel.loaded is not None  # find_unloaded came first
        kernel = kernel.loaded
    match kernel:
        case Shim(general) if _has_several_backends(keys):
            return on_one_device(operator, general)
        case Shim(general, dense) if key is not DispatchKey.Meta or not keys & BACKENDS & ~META:
            return general if dense is None or keys & NONDENSE else dense
        case Wrapper():
            return _wrapped(operator, key, keys, kernel)
        case Taking(make):
            return make(operator)
        case Unbound():
            raise _errors().unbound(operator, key, registration)
        case Fallthrough():
            raise _errors().missing(operator, key, keys)
        case _:
            function = _calling(operator, key, keys, kernel)
            is_trusted = isinstance(kernel, Composite) and kernel.is_trusted
            if is_trusted and registration.key is DispatchKey.CompositeImplicitAutograd:
                function = with_views(function, operator.signature, keys)
            # (random factories fill what they made in place, and nobody wrote to a new tensor)
            is_one = is_wrapped or "nondeterministic_seeded" in operator.tags
            is_of_backend = key.bit & BACKENDS or key is DispatchKey.Undefined
            return _below_wrappers(function) if is_one and is_of_backend else function


def _has_several_backends(keys: int) -> bool:
    """Whether tensors of several devices are among the arguments, or a guard says so."""
    backends = keys & BACKENDS & ~META
    return backends & (backends - 1) != 0


def _raise(error: Exception, *args: Any) -> Any:
    raise error


def _calling(
    operator: Operator,
    key: DispatchKey,
    keys: int,
    kernel: Shim | Composite | UserKernel | ArrayKernel | Boxed | BackendSelect,
) -> Function:
    """Return a kernel that may call operators."""
    if key is DispatchKey.Meta and keys & BACKENDS & ~META:
        return late_bound.fakes().mixed(operator)
    match kernel:
        case Composite(function, is_trusted):
            checked = function if is_trusted else _adapters().adapt_composite(operator, function)
            return late_bound.fakes().in_mode(checked) if keys & META else checked
        case UserKernel(function, with_keyset):
            if with_keyset:
                function = functools.partial(function, _adapters().KeySet(operator.without_fallthrough(keys)))
            adapted = _adapters().adapt_user_kernel(operator, function)
            return late_bound.fakes().check_fake_kernel(operator, adapted) if key is DispatchKey.Meta else adapted
        case ArrayKernel(function):
            adapted = _adapters().adapt_array_kernel(operator, function)
            is_mixed = _has_several_backends(keys) and key.bit & _REGISTERED
            return on_one_device(operator, adapted) if is_mixed else adapted
        case Boxed(function):
            boxed: Function = _adapters().adapt_boxed(operator, function, operator.without_fallthrough(keys))
            return boxed
        case BackendSelect(position):
            return _select_backend(operator, position, keys & PYTHON_DISPATCHER)
        case Shim():
            raise AssertionError("it calls no operators")
        case _:
            assert_never(kernel)


def _sees_tangents(key: DispatchKey, registration: Registration) -> bool:
    """Whether what handles a key sees tensors with their tangents, since it calls other operators on them: a mode, a
    composite, a kernel of a user's at an Autograd key."""
    if key.bit > AUTOGRAD:  # each of its bits is lower
        return True
    if key.bit & AUTOGRAD:
        return not isinstance(registration.kernel, ArrayKernel | Wrapper | LazyWrapper)
    return registration.key is DispatchKey.CompositeImplicitAutograd


def _wrapped(operator: Operator, key: DispatchKey, keys: int, wrapper: Wrapper) -> Function:
    """Return a wrapper around what is below its key."""
    below = _chain(operator, _below(operator, key, keys), not wrapper.lets_record)
    made = wrapper.make(operator, below) if wrapper.is_for_any else wrapper.make(below)
    if not key.bit & AUTOGRAD:
        return made
    if wrapper.is_generated and keys & VIEW:
        made = late_bound.gradients().regenerating(made, below, operator.signature)
    return late_bound.gradients().noting(made) if keys & ANOMALY else made


def _first(operator: Operator, keys: int) -> tuple[DispatchKey, Entry, int]:
    """Return the first key whose kernel has something to do in calls with these keys, what handles it, and later
    keys."""
    while True:
        key, entry = operator.first_entry(keys)
        kernel = None if entry.registration is None else entry.registration.kernel
        is_generated = isinstance(kernel, LazyWrapper) or (isinstance(kernel, Wrapper) and kernel.is_generated)
        if not is_generated or not _is_left_out(operator, key, keys):
            return key, entry, keys
        keys = _below(operator, key, keys)


def _is_left_out(operator: Operator, key: DispatchKey, keys: int) -> bool:
    """Whether a generated wrapper has nothing to do. At an Autograd key: no tensor requires grad (whether views do is
    known when they are looked at). At ADInplaceOrView: nothing is written, and nothing returned but at most one view,
    of which only a mode would be noted."""
    if key.bit & AUTOGRAD:
        return not keys & (GRAD | VIEW)
    signature = operator.signature
    if key is not DispatchKey.ADInplaceOrView or signature.written:
        return False
    return not any(alias is not None for alias in signature.aliases) or (
        signature.returns == ("Tensor",) and not keys & (NO_GRAD | INFERENCE)
    )


def _below_wrappers(function: Function) -> Function:
    """Return the function, run without recording or counting what it calls."""

    def call(*args: Any) -> Any:
        modes = active_modes()
        if modes is not None and not modes.mask & _WRAPPERS:
            return function(*args)  # within another such function
        try:
            set_modes(_BELOW_WRAPPERS if modes is None else Modes(modes.include, modes.mask & ~_WRAPPERS, modes.top))
            return function(*args)
        finally:
            set_modes(modes)

    return call if fast is None else fast.Below(call, function, _BELOW_WRAPPERS)


def _writes_alone(*args: Any) -> None:
    """Do nothing: the fake kernel of operators that write to their arguments and return nothing."""


def _start(keys: int) -> int:
    """Return the keys to look through. A call without tensors begins with what modes include, or where its backend is
    selected."""
    if keys == NO_KEYS:
        return 0
    return keys if keys & BACKENDS else keys | BACKEND_SELECT


def _below(operator: Operator, key: DispatchKey, keys: int) -> int:
    return operator.without_fallthrough(keys) & (key.bit - 1 | PRIVATE)


def compose_arrays(operator: Operator) -> Function:
    """Return the kernel for plain NumPy arrays alone, with no mode switched on."""
    registry.check_held()
    _, entry, _ = _first(operator, DENSE_CPU)
    kernel = None if entry.registration is None else entry.registration.kernel
    if isinstance(kernel, Lazy):
        kernel = kernel.loaded

    def otherwise(*args: Any) -> Any:
        return call_with_arrays(operator, args)

    if registry.watch is not None:
        return otherwise
    match kernel:
        case Shim(arrays=function) if function is not None:
            return function
        case Shim(general, row=Row() as row):
            from opwright_core.dispatch.package.row_arrays import (
                on_arrays,  # late: many packages are called with Tensors alone
            )

            return on_arrays(row, general, otherwise)
        case _:
            return otherwise


def find_unloaded(operator: Operator, keys: int) -> Callable[[], None] | None:
    """Return a function that imports a kernel that composing for `keys` needs; None if all are imported."""
    registry.check_held()
    if keys > 0 and keys & TANGENT and (load_rules := RULES.find_unloaded(operator.name)):
        return load_rules
    keys = DENSE_CPU if keys == ARRAYS else _start(keys)
    while True:
        key, entry, keys = _first(operator, keys)
        kernel = None if entry.registration is None else entry.registration.kernel
        if isinstance(kernel, Lazy | LazyWrapper) and kernel.loaded is None:
            return kernel.load
        if not isinstance(kernel, Wrapper | LazyWrapper):
            return None
        keys = _below(operator, key, keys)


def _select_backend(operator: Operator, position: int, mode: int) -> Function:
    """Return the kernel of a factory: the device argument says which backend's kernel makes the tensor."""

    def select_backend(*args: Any) -> Any:
        device = args[position]
        kind = "cpu" if device is None else device.type
        keys = mode | (CPU if kind == "cpu" else META if kind == "meta" else backend_named(device).key)
        return (operator.table.get(keys) or operator.resolve(keys))(*args)

    return select_backend if fast is None else fast.Selector(select_backend, operator.table, mode | CPU, position)
