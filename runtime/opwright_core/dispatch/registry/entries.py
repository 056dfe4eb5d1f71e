"""The dispatch table of one operator: what handles its keys, found from registrations when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright_core.core import OperatorBase
from opwright_core.dispatch.call.signature import Signature
from opwright_core.dispatch.registry.fallbacks import COUNTING
from opwright_core.dispatch.registry.kernel_kinds import BackendSelect, Key, Registration
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import BACKENDS, PYTHON_DISPATCHER, RUNTIME, RUNTIME_KEYS, DispatchKey
from opwright_core.source_locations import Where, place_text

if TYPE_CHECKING:
    from opwright_core.dispatch.registry.precedence import Entry

__all__ = ["Entries", "QualifiedName"]


class QualifiedName(str):
    """The name of an operator, `aten::add.Tensor`: text that may also be called for itself, as PyTorch's is a method
    (`op.name()`)."""

    __slots__ = ()

    def __call__(self) -> str:
        """Return the name as a plain str."""
        return str(self)


class Entries(OperatorBase):
    """An operator's name, and the entries of its dispatch table, one for each runtime key."""

    __slots__ = (
        "_entries", "_where", "base", "changes", "name", "namespace", "overload", "py_kernels", "registrations",
    )  # fmt: skip
    registrations: dict[Key, list[Registration]]

    def __init__(self, name: str, where: Where) -> None:
        self.name: str = QualifiedName(name)
        self.namespace, _, rest = name.partition("::")
        self.base, _, self.overload = rest.partition(".")
        self._where = where
        self.py_kernels: dict[Key, Registration] = {}
        self.changes = 0  # how often registrations did
        self._entries: dict[DispatchKey, Entry] = {}

    @property
    def where(self) -> str:
        """Return the file and line that declare it; "" where nobody knows."""
        return place_text(self._where)

    @property
    def packet_name(self) -> str:
        """Return the qualified name without the overload's, `aten::add`."""
        return f"{self.namespace}::{self.base}"

    @property
    def __name__(self) -> str:
        return f"{self.base}.{self.overload or 'default'}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    @property
    def signature(self) -> Signature:
        """Return the operator's arguments as calls need them."""
        raise NotImplementedError

    def entry(self, key: DispatchKey, keys: int = 0) -> Entry:
        """Return the entry of a runtime key in a call with these keys, which say if the Python dispatcher is on."""
        registry.check_held()
        if keys & PYTHON_DISPATCHER and self.py_kernels:
            return self._compute_entry(key, self.registrations | {k: [kernel] for k, kernel in self.py_kernels.items()})
        found = self._entries.get(key)
        if found is None:
            changes = self.changes
            found = self._compute_entry(key, self.registrations)
            if changes == self.changes:
                self._entries[key] = found
        return found

    def _compute_entry(self, key: DispatchKey, registered: dict[Key, list[Registration]]) -> Entry:
        from opwright_core.dispatch.registry.precedence import Entry, compute_entry  # when something is dispatched

        if key is DispatchKey.BackendSelect and not registered.get(key) and self._is_factory:
            position = self.signature.device
            assert position is not None  # _is_factory says so
            return Entry(Registration(key, BackendSelect(position), self._where), "kernel")
        found = compute_entry(key, registered, registry.fallbacks)
        if (
            key is DispatchKey.ADInplaceOrView
            and found.registration is registry.fallbacks[key][0]
            and self._counts_writes
        ):
            return Entry(COUNTING, found.rule)
        return found

    @property
    def _counts_writes(self) -> bool:
        """Whether the operator writes itself: what composites call does."""
        return bool(self.signature.written) and not self.registrations.get(DispatchKey.CompositeImplicitAutograd)

    @property
    def _is_factory(self) -> bool:
        """Whether calls are dispatched by a device argument: no tensors to go by, and kernels of several backends."""
        return self.signature.device is not None and any(
            isinstance(key, DispatchKey) and key.bit & BACKENDS and found for key, found in self.registrations.items()
        )

    def first_entry(self, keys: int) -> tuple[DispatchKey, Entry]:
        """Return the first key of a keyset that dispatch does not skip, and what handles it."""
        bits = keys & RUNTIME
        while bits:
            bit = 1 << (bits.bit_length() - 1)
            key = _KEY_OF[bit]
            entry = self.entry(key, keys)
            if not entry.is_fallthrough:
                return key, entry
            bits ^= bit
        return DispatchKey.Undefined, self.entry(DispatchKey.Undefined, keys)

    def without_fallthrough(self, keys: int) -> int:
        """Return the keyset that kernels are handed: without the keys that this operator skips."""
        for key in RUNTIME_KEYS:
            if keys & key.bit and self.entry(key, keys).is_fallthrough:
                keys &= ~key.bit
        return keys

    def forget_entries(self) -> None:
        """Drop what was found: registrations changed."""
        registry.check_held()
        self.changes += 1
        self._entries.clear()


_KEY_OF: Final = {key.bit: key for key in DispatchKey if key.bit}
