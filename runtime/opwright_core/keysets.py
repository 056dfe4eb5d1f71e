"""KeySet: an immutable set of dispatch keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opwright_core.keys import PRIVATE, RUNTIME, RUNTIME_KEYS, DispatchKey, key_bits

__all__ = ["KeySet"]


class KeySet:
    """An immutable set of runtime keys. Alias keys add nothing to it, as in PyTorch.

    `bits` is the int that tensors carry. Private bits travel along in it and do not count in comparison.
    """

    __slots__ = ("bits",)
    bits: int

    def __init__(self, keys: int | DispatchKey | str | Iterable[DispatchKey | str] = 0) -> None:
        object.__setattr__(self, "bits", key_bits(keys))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a KeySet is immutable: {name} cannot be set")

    @classmethod
    def full(cls) -> KeySet:
        """Return every runtime key, and the private bits."""
        return cls(RUNTIME | PRIVATE)

    @classmethod
    def after(cls, key: DispatchKey | str) -> KeySet:
        """Return the keys dispatched to after `key`, and the private bits: a kernel at `key` masks with them."""
        return cls(key_bits(key) - 1 & RUNTIME | PRIVATE)

    def add(self, key: DispatchKey | str) -> KeySet:
        """Return the set with `key`."""
        return KeySet(self.bits | key_bits(key))

    def remove(self, key: DispatchKey | str) -> KeySet:
        """Return the set without `key`."""
        return KeySet(self.bits & ~key_bits(key))

    def has(self, key: DispatchKey | str) -> bool:
        """Whether `key` is in the set."""
        return self.bits & key_bits(key) != 0

    __contains__ = has

    def highest(self) -> DispatchKey:
        """Return the key that is dispatched to first; Undefined for the empty set."""
        return next(iter(self), DispatchKey.Undefined)

    def __or__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits | other.bits) if isinstance(other, KeySet) else NotImplemented

    def __and__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits & other.bits) if isinstance(other, KeySet) else NotImplemented

    def __sub__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits & ~(other.bits & RUNTIME)) if isinstance(other, KeySet) else NotImplemented

    def __iter__(self) -> Iterator[DispatchKey]:
        bits = self.bits
        return (key for key in RUNTIME_KEYS if bits & key.value)

    def __len__(self) -> int:
        return (self.bits & RUNTIME).bit_count()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeySet) and (self.bits ^ other.bits) & RUNTIME == 0

    def __hash__(self) -> int:
        return hash(self.bits & RUNTIME)

    def __reduce__(self) -> tuple[type[KeySet], tuple[tuple[DispatchKey, ...]]]:
        return KeySet, (tuple(self),)

    def __repr__(self) -> str:
        return f"KeySet({', '.join(key.name for key in self)})"
