"""The nodes of tensors: a tensor is known by itself, by its array, and by its position in memory."""

from __future__ import annotations

from typing import Any, Final

from opwright.fake.arrays import MetaArray
from opwright.fx.node import Node
from opwright_core.arrays.devices import backend_of
from opwright_core.arrays.storage import Storage
from opwright_core.tensors.tensor import Tensor

__all__ = ["KnownTensors"]


class KnownTensors:
    """The tensors of a trace, with their nodes.

    Autograd hands other objects to formulas than those it saved, so a tensor is known by its array too, and by where
    the array lies: memory, shape, strides, offset and dtype. All are kept alive, so that no position is used twice.
    """

    def __init__(self) -> None:
        self._by_tensor: dict[int, tuple[Tensor, Any, Node]] = {}
        self._by_array: dict[int, tuple[Any, Node]] = {}
        self._by_place: dict[Any, Node] = {}
        self._unplaced: list[tuple[Any, Node]] = []
        self._by_storage: dict[int, tuple[Storage, Node]] = {}

    def note(self, tensor: Tensor, node: Node) -> None:
        """Take a tensor to be the result of a node, as it is now."""
        array = tensor.array
        self._by_tensor[id(tensor)] = tensor, array, node
        self._by_array[id(array)] = array, node
        self._unplaced.append((array, node))

    def node_of(self, tensor: Tensor) -> Node | None:
        """Return the node that made a tensor, None where none did."""
        array = tensor.array
        found = self._by_tensor.get(id(tensor))
        if found is not None and found[1] is array:
            return found[2]
        known = self._by_array.get(id(array))
        if known is not None:
            return known[1]
        for each, node in self._unplaced:
            self._by_place[_place(each)] = node
        self._unplaced.clear()
        return self._by_place.get(_place(array))

    def is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor is itself the result of a node, whatever its array is."""
        return id(tensor) in self._by_tensor

    def own_node_of(self, tensor: Tensor) -> Node | None:
        """Return the node that made a tensor which has another array by now; None where it has not."""
        found = self._by_tensor.get(id(tensor))
        return found[2] if found is not None and found[1] is not tensor.array else None

    def base_of(self, tensor: Tensor) -> tuple[Tensor, Node] | None:
        """Return a known tensor over the memory of one that is not known itself, with its node."""
        extra = tensor.extra
        if extra is None or extra.storage is None:
            return None
        for other, array, node in reversed(self._by_tensor.values()):
            if other.array is array and other.extra is not None and other.extra.storage is extra.storage:
                return other, node
        return None

    def nodes(self) -> list[Node]:
        """Return the nodes of all tensors."""
        return [node for _, _, node in self._by_tensor.values()]


def _place(array: Any) -> Any:
    """Return what two arrays have in common that are the same view of the same memory. Symbolic sizes are objects."""
    if type(array) is MetaArray:
        parts = (array.offset, *array.shape, *array.strides)
        known = tuple([part if type(part) is int else (_SYMBOLIC, id(part)) for part in parts])
        return id(array.root), len(array.shape), array.dtype, known
    backend = backend_of(array)
    if 0 in array.shape:
        return id(array)
    return backend.name, backend.data_ptr(array), tuple(array.shape), tuple(array.strides), array.dtype


_SYMBOLIC: Final = "symbolic"
