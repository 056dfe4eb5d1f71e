"""Handles, by `get_kernel`: kernels to call by themselves, such as one that another registration replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.call.plain_arrays import call_with_arrays
from opwright_core.dispatch.registry.compose import compose_registration, find_unloaded
from opwright_core.dispatch.registry.forward_rules import RULES
from opwright_core.dispatch.registry.kernel_kinds import (
    BackendSelect,
    Composite,
    Lazy,
    LazyWrapper,
    Registration,
    Wrapper,
)
from opwright_core.dispatch.registry.precedence import Entry
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import DispatchError
from opwright_core.keys import NO_KEYS, PRIVATE, TANGENT, DispatchKey
from opwright_core.keysets import KeySet
from opwright_core.names.late_imports import import_late

__all__ = ["COMPOSITES", "KernelHandle", "find_unloaded_below", "get_kernel", "handle_of"]

COMPOSITES: Final = (
    DispatchKey.CompositeImplicitAutograd,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeExplicitAutogradNonFunctional,
)


class KernelHandle:
    """One kernel of an operator at a runtime key, called directly whatever is registered for the key since.

    It is invalid once its registration is taken back, with its library: calling it raises RuntimeError.
    """

    __slots__ = ("_changes", "_composed", "key", "operator", "registration")

    def __init__(self, operator: Operator, key: DispatchKey, registration: Registration) -> None:
        self.operator = operator
        self.key = key
        self.registration = registration
        self._composed: dict[int, Callable[..., Any]] = {}
        self._changes = operator.changes

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel as if dispatch had come to its key: with those of the arguments' keys that come after it.

        Raises RuntimeError once the kernel is invalid."""
        return self._call(None, args, kwargs)

    def call_boxed(self, keyset: KeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel as called with these keys. Raises TypeError without a KeySet, RuntimeError."""
        if not isinstance(keyset, KeySet):
            raise TypeError(f"call_boxed takes a KeySet and then the operator's arguments, not {type(keyset).__name__}")
        return self._call(keyset.bits, args, kwargs)

    def _call(self, keys: int | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = import_late("opwright_core.inputs.calls").with_tensors(
            self.operator, self.operator.signature.bind(args, kwargs)
        )
        find = self._find if keys is not None else self._find_below
        return call_with_arrays(self.operator, bound, keys, find)

    def call(self, *args: Any) -> Any:
        """Run the kernel with all arguments, bound already, as called with its key alone. Raises RuntimeError."""
        return self._find(self.key.bit)(*args)

    def _find_below(self, keys: int) -> Callable[..., Any]:
        return self._find(keys & (self.key.bit - 1 | PRIVATE))

    def _find(self, keys: int) -> Callable[..., Any]:
        """Return the kernel as a function, for a call with these keys."""
        keys = (0 if keys == NO_KEYS else keys) | self.key.bit
        if self._changes == self.operator.changes and keys in self._composed:
            return self._composed[keys]
        while True:
            with registry.lock:
                if not self._is_valid():
                    raise RuntimeError(
                        f"the kernel of {self.operator.name} for {self.key.name} has been invalidated: what registered "
                        f"it{_at(self.registration)} was destroyed"
                    )
                about = self.operator, self.key, self.registration, keys
                unloaded = find_unloaded_below(*about)
                if unloaded is None:
                    if self._changes != self.operator.changes:
                        self._composed = {}
                        self._changes = self.operator.changes
                    kernel = self._composed[keys] = compose_registration(*about)
                    return kernel
            unloaded()  # Note [Imports and the lock]

    def _is_valid(self) -> bool:
        if registry.operators.get(self.operator.name) is not self.operator:
            return False
        key = self.registration.key
        registered = [*self.operator.registrations.get(key, ())]
        if isinstance(key, DispatchKey):
            registered += registry.fallbacks.get(key, ())
        return isinstance(self.registration.kernel, BackendSelect) or self.registration in registered

    def __repr__(self) -> str:
        return f"<KernelHandle {self.operator.name} at {self.key.name}{_at(self.registration)}>"


def find_unloaded_below(
    operator: Operator, key: DispatchKey, registration: Registration, keys: int
) -> Callable[[], None] | None:
    """Return what loads the first kernel that is not loaded yet, from one registration that serves `key`."""
    kernel = registration.kernel
    if keys & TANGENT and (load_rules := RULES.find_unloaded(operator.name)):
        return load_rules
    if isinstance(kernel, Lazy | LazyWrapper) and kernel.loaded is None:
        return kernel.load
    if not isinstance(kernel, Wrapper | LazyWrapper):
        return None
    return find_unloaded(operator, operator.without_fallthrough(keys) & (key.bit - 1 | PRIVATE))


def handle_of(operator: Operator, key: DispatchKey) -> KernelHandle | None:
    """Return the newest kernel that is registered for a key itself, for a composite one that is over operators; None
    where there is none."""
    with registry.lock:
        known = operator.registrations.get(key)
    if not known or (key is DispatchKey.CompositeExplicitAutograd and not _is_composite(known[-1].kernel)):
        return None
    runtime = DispatchKey.AutogradCPU if key is DispatchKey.CompositeImplicitAutograd else DispatchKey.CPU
    return KernelHandle(operator, key if key.bit else runtime, known[-1])


def _is_composite(kernel: Any) -> bool:
    """Whether a kernel surely is one over other operators: one of a user's may read the data."""
    return isinstance(kernel, Composite) or (isinstance(kernel, Lazy) and kernel.is_composite)


def _at(registration: Registration) -> str:
    return f" at {registration.where}" if registration.where else ""


def get_kernel(op: str | Operator, dispatch_key: str | DispatchKey) -> KernelHandle:
    """Return the kernel that handles an operator at a runtime key, also where it is one for an alias key.

    For a kernel that goes on to the one it replaces: get that first, then register. Raises ValueError for
    what is no operator or no key, RuntimeError for an alias key, an operator that does not exist, or one without such
    a kernel. Semantics: `torch.library.get_kernel`.
    """
    if not isinstance(op, str | Operator):
        raise ValueError(f"get_kernel({op}): expected an operator or its name, got {type(op).__name__}")
    operator = find_operator(op.removesuffix(".default")) if isinstance(op, str) else op
    key = dispatch_key if isinstance(dispatch_key, DispatchKey) else DispatchKey.parse(dispatch_key)
    if key.is_alias:
        raise RuntimeError(f"{key.name} is an alias key, which has no kernels of its own: name a runtime key")
    with registry.lock:
        entry: Entry = operator.entry(key)
    if entry.registration is None:
        raise DispatchError(f"no kernel for {key.name} for {operator.name}")
    return KernelHandle(operator, key, entry.registration)
