"""Saved tensors that may be written to: a copy is made before the first write, and backward reads that."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from opwright.autograd.saved import saved_tensors_hooks
from opwright.context_managers.blocks import Block
from opwright.python_dispatch import TorchDispatchMode
from opwright.pytree import tensors_of
from opwright_core.arrays.storage import storage_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["Originals", "allow_mutation"]

_active: Final[ContextVar[Originals | None]] = ContextVar("opwright_originals", default=None)


class _Handle:
    """A node's stand-in for a tensor: it holds the tensor, or its copy, for as long as a node holds it."""

    __slots__ = ("__weakref__",)


class Originals:
    """The tensors that nodes saved in a block: as they still are (`original`), and copies of those written to since
    (`cloned`)."""

    def __init__(self) -> None:
        self.original: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        # Of memory, by the id of the array that it began with: its tensors, by their ids. Tensors that count their
        # writes by themselves (`x.data`) have that array in common, too. A handle keeps both ids valid.
        self._in_memory: dict[int, WeakValueDictionary[int, _Handle]] = {}

    def clear(self) -> None:
        """Forget all tensors and copies: backward of what saved them raises AssertionError."""
        self.original.clear()
        self.cloned.clear()
        self._in_memory.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        """Return what the node keeps: one handle for all that save a tensor between two writes."""
        handles = self._in_memory.setdefault(id(storage_of(tensor).array), WeakValueDictionary())
        handle = handles.get(id(tensor))
        if handle is None:
            handle = handles[id(tensor)] = _Handle()
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """Return the tensor as it was saved. Raises AssertionError beyond the block, and after `clear`."""
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None or _active.get() is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded, or after its clear()."
            )
        return found

    def before_write(self, tensor: Tensor) -> None:
        """Return copy what was saved of the tensor's memory."""
        for handle in self._in_memory.pop(id(storage_of(tensor).array), {}).values():
            self.cloned[handle] = self.original.pop(handle).clone()


class _CopyBeforeWrite(TorchDispatchMode):
    def __init__(self, originals: Originals) -> None:
        self._originals = originals

    def __torch_dispatch__(
        self, func: Operator, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        signature = func.signature
        for position in signature.written:
            written = args[position] if position < len(args) else given.get(signature.names[position])
            for tensor in tensors_of((written,)):
                self._originals.before_write(tensor)
        return func(*args, **given)


class allow_mutation(Block):
    """A block of `opwright.autograd.graph.allow_mutation_on_saved_tensors`."""

    __slots__ = ("_hooks", "_originals")
    _variables = (_active, *saved_tensors_hooks._variables, *TorchDispatchMode._variables)

    def _switch_on(self) -> Originals:
        if _active.get() is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._originals = Originals()
        self._hooks = saved_tensors_hooks(self._originals.pack, self._originals.unpack)
        self._hooks._switch_on()
        _CopyBeforeWrite(self._originals)._switch_on()
        _active.set(self._originals)
        return self._originals

    def _switched_off(self) -> None:
        self._hooks._switched_off()
        self._originals.clear()
