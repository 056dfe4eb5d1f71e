"""Saved tensors: those of the forward pass that a node needs, and the check that nobody wrote to them since."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

from opwright.autograd.modes import is_inference, no_grad
from opwright.autograd.nodes import Edge, MultipleOutputs, Node, next_sequence, node_of, number_of
from opwright.autograd.tangents import Tangent, cell_of, move_tangent, set_tangent
from opwright.autograd.views import ViewOfBase, WriteToView
from opwright.context_managers.blocks import Block
from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.arrays.devices import Array
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.arrays.storage import Extra, Storage, storage_of
from opwright_core.keys import AUTOGRAD, GRAD, TANGENT
from opwright_core.locks.registry_lock import RegistryLock
from opwright_core.tensors.tensor import Tensor, new_tensor

__all__ = [
    "Saved", "SavedResult", "SavedValue", "disable_saved_tensors_hooks", "note_detached", "note_tangent", "save",
    "save_all", "save_optional", "save_original", "save_result", "save_results", "saved_tensors_hooks", "unpack",
    "unpack_all", "unpack_optional",
]  # fmt: skip

Saved = Any  # what `save` and its like return: opaque to those who call them
_ABSENT: Final = ()  # an optional tensor that was not given; None is one that was freed

_Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]
_hooks: Final[ContextVar[tuple[_Hooks, ...]]] = ContextVar("opwright_saved_tensors_hooks", default=())
_disabled: Final[ContextVar[str]] = ContextVar("opwright_saved_tensors_hooks_disabled", default="")
_lock: Final = RegistryLock()
_bare_extra: Final = Extra.__new__
# How many blocks with hooks are open in any thread: zero is told faster than the ContextVar is read. After interrupts
# it may be too great, which costs time and nothing else.
_blocks = 0


class SavedResult:
    """A node's own result: kept without the edge back to the node, which would make a cycle. Of a write to a view the
    result is a view of what the write made of its base, so it is that write's node it leads to."""

    __slots__ = ("array", "instance", "keys", "number", "storage", "tangent", "version", "write")

    def __init__(self, result: Tensor, number: int) -> None:
        self.instance = None if type(result) is Tensor else _instance_like(result)
        self.array: Array = result.array
        self.keys = result.keys & ~TANGENT
        self.storage: Storage = storage_of(result)
        self.version = self.storage.version
        self.number = number
        self.tangent: Tangent | None = None
        self.write = None if result.edge is None else _write_of(result)

    def tensor(self, edge: Edge) -> Tensor:
        """Return the result again, with its position in the graph."""
        made = new_tensor()
        made.array = self.array
        made.keys = self.keys
        extra = made.extra = _bare_extra(Extra)
        extra.storage = self.storage
        extra.base = extra.grad = None
        if self.instance is not None:
            made = self.instance(made)
        made.keys = self.keys | GRAD if edge is not None else self.keys & ~GRAD
        made.edge = edge
        if self.tangent is not None:
            move_tangent(made, self.tangent)
        return made


def _write_of(result: Tensor) -> weakref.ref[WriteToView] | None:
    edge = result.edge
    return weakref.ref(edge.edges[0]) if isinstance(edge, ViewOfBase) else None


def _edge_of_result(saved: SavedResult | _Packed, node: Node) -> Edge:
    """Return the position in the graph of a result that its own node saved."""
    write = None if saved.write is None else saved.write()
    if write is not None:
        return ViewOfBase.after(write)
    return (node, saved.number) if isinstance(node, MultipleOutputs) else node


def _instance_like(result: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function that makes a plain tensor an instance of the result's class, with its attributes."""
    handlers = late_bound.handlers()
    return functools.partial(handlers.instance_like, type(result), handlers.attributes_of(result))


class SavedValue(tuple[Tensor]):
    """A tensor that replaced one that a node saved: `unpack` returns it as it is."""

    __slots__ = ()


class _Packed:
    """A saved tensor as the hooks of a user packed it. Only where that is the tensor itself does a later write spoil
    it."""

    __slots__ = ("edge", "is_followed_outside", "number", "storage", "tangent", "unpack", "value", "version", "write")

    def __init__(self, tensor: Tensor, functions: _Hooks, edge: Edge) -> None:
        pack, self.unpack = functions
        self.is_followed_outside = late_bound.levels().is_followed_outside(tensor)
        self.number = -1  # of the node's own result
        self.write: weakref.ref[WriteToView] | None = None
        self.tangent = cell_of(tensor)
        storage = storage_of(tensor)
        self.version = storage.version
        self.edge = edge
        with no_grad():
            self.value = pack(tensor)
            self.storage = storage if self.value is tensor else None
            if storage.version != self.version:
                raise RuntimeError(
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                    "can not be modified by in-place operations as this can lead to unexpected side-effects."
                )


def save(tensor: Tensor) -> Saved:
    """Return the saved value of a tensor. Raises RuntimeError for an inference tensor."""
    if _blocks or not tensor.keys & AUTOGRAD:
        return _save_uncommon(tensor)
    extra = tensor.extra
    return tensor if extra is None or (storage := extra.storage) is None else (tensor, storage.version)


def save_original(tensor: Tensor) -> Saved:
    """Return the saved value of a tensor that is about to be written: a copy, with a copy of its tangent."""
    copy: Tensor = aten["clone.default"](tensor)
    cell = cell_of(tensor)
    if cell is not None and cell.value is not None and cell_of(copy) is None:
        set_tangent(copy, aten["clone.default"](cell.value), cell.level)
    return save(copy)


def save_result(result: Tensor, number: int = 0) -> Saved:
    """Return a result, the `number`th, as its own node keeps it. `unpack` gives it its position in the graph back."""
    if _blocks and (hooks := _hooks.get()):
        packed = _Packed(SavedResult(result, number).tensor(None), hooks[-1], None)
        packed.number, packed.write = number, _write_of(result)
        return packed
    return SavedResult(result, number)


def save_results(results: Iterable[Tensor]) -> Saved:
    """Return the node's results, where they are one list, as the node keeps them."""
    return [save_result(result, number) for number, result in enumerate(results)]


def save_optional(tensor: Tensor | None) -> Saved:
    """Return the saved value of a tensor or None."""
    return _ABSENT if tensor is None else save(tensor)


def save_all(tensors: Iterable[Tensor | None] | None) -> Saved:
    """Return the saved values of a list of tensors; some of them, or the list, may be None."""
    return _ABSENT if tensors is None else [save_optional(tensor) for tensor in tensors]


def note_tangent(result: Tensor, node: Node, number: int) -> None:
    """Let the node that made a result, and saved it before it had its tangent, give it back with the tangent."""
    for name in node.saved:
        value = getattr(node, name, None)
        for saved in value if isinstance(value, list | tuple) else (value,):
            if isinstance(saved, SavedResult | _Packed) and saved.number == number:
                saved.tangent = cell_of(result)


def _save_uncommon(tensor: Tensor) -> Saved:
    if is_inference(tensor.keys):
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
            "it in autograd, or use `no_grad()` instead of `inference_mode()`."
        )
    hooks = _hooks.get()
    if hooks:
        return _Packed(tensor, hooks[-1], tensor.edge)
    return tensor, storage_of(tensor).version


def unpack(saved: Saved, node: Node) -> Tensor:
    """Return the tensor a node saved. Raises RuntimeError where it was freed, or written to since."""
    if type(saved) is SavedResult and saved.write is None and saved.storage.version == saved.version:
        return saved.tensor((node, saved.number) if isinstance(node, MultipleOutputs) else node)
    if isinstance(saved, Tensor):
        if (extra := saved.extra) is None or extra.storage is None:
            return saved
        saved = saved, 0  # as it was saved: nobody had counted writes
    if type(saved) is tuple:
        tensor: Tensor = saved[0]
        extra = tensor.extra
        if extra is None or (storage := extra.storage) is None:
            return tensor
        if storage.version == saved[1] and not storage.has_detached:
            return tensor
    if type(saved) is SavedValue:
        return saved[0]
    return _unpack_uncommon(saved, node)


def unpack_optional(saved: Saved, node: Node) -> Tensor | None:
    """Return the tensor, or None, that a node saved. Raises RuntimeError as `unpack` does."""
    return None if saved is _ABSENT else unpack(saved, node)


def unpack_all(saved: Saved, node: Node) -> Any:
    """Return the list of tensors that a node saved. Raises RuntimeError as `unpack` does."""
    if saved is None:
        raise _freed(node)
    return None if saved is _ABSENT else [unpack_optional(each, node) for each in saved]


def look_up(node: Node, slot: str) -> Any:
    """Return what a node saved in a slot, tensors unpacked. Raises RuntimeError where it was freed."""
    value = getattr(node, slot)
    if slot not in node.saved:
        return value
    return unpack_all(value, node) if isinstance(value, list) else unpack_optional(value, node)


def _unpack_uncommon(saved: Saved, node: Node) -> Tensor:
    if saved is None:
        raise _freed(node)
    if type(saved) is tuple:
        tensor: Tensor = saved[0]
        version = saved[1]
        if storage_of(tensor).version != version:
            raise _modified(tensor, tensor.edge, version, storage_of(tensor).version)
        if getattr(tensor.extra, "detached", -1) > node.sequence:
            raise _detached(tensor, node)
        return tensor
    if isinstance(saved, SavedResult):
        edge = _edge_of_result(saved, node)
        made = saved.tensor(edge)
        if saved.storage.version != saved.version:
            raise _modified(made, edge, saved.version, saved.storage.version)
        return made
    return _unpack_hooked(saved, saved.edge if saved.number < 0 else _edge_of_result(saved, node))


def _freed(node: Node) -> RuntimeError:
    return RuntimeError(
        f"Trying to backward through the graph a second time (or directly access saved tensors after they have "
        f"already been freed), at {node.name()}. Saved intermediate values of the graph are freed when you call "
        ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
        "second time or if you need to access saved tensors after calling backward."
    )


def _unpack_hooked(saved: _Packed, edge: Edge) -> Tensor:
    if saved.storage is not None and saved.storage.version != saved.version:
        raise _modified(None, edge, saved.version, saved.storage.version)
    with no_grad():
        found = saved.unpack(saved.value)
    if not isinstance(found, Tensor):
        raise TypeError(
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}"
        )
    if saved.is_followed_outside and not late_bound.levels().is_followed_outside(found):
        raise RuntimeError(
            "the hooks of saved_tensors_hooks replaced a saved tensor inside nested transforms (func.grad, vjp, jvp): "
            "the outer transform would take the new tensor for a constant. Return the tensor itself, or call the "
            "transforms inside the block instead of opening it in the function"
        )
    if saved.tangent is None and (edge is None or found.edge is edge):
        return found
    # `detach` cuts a tensor off from outer transforms, too.
    made = SavedResult(found if saved.is_followed_outside else found.detach(), -1).tensor(edge)
    move_tangent(made, saved.tangent)
    return made


def note_detached(tensor: Tensor) -> None:
    """Note that a tensor leaves its graph: nodes that saved it before must not take it for a constant."""
    storage_of(tensor).has_detached = True
    assert tensor.extra is not None  # it has the storage
    tensor.extra.detached = next_sequence()


def _detached(tensor: Tensor, node: Node) -> RuntimeError:
    return RuntimeError(
        f"a Tensor of {dtype_name(tensor.dtype)}, shape {list(tensor.shape)}, that {node.name()} saved has been "
        "detached in place since: its gradient would be lost. Use detach() instead of detach_(), or detach_() before "
        "the call"
    )


def _modified(tensor: Tensor | None, edge: Edge, version: int, current: int) -> RuntimeError:
    what = "a saved tensor"
    if tensor is not None:
        what = f"a Tensor of {dtype_name(tensor.dtype)}, shape {list(tensor.shape)}"
    producer = "" if edge is None else f", which is output {number_of(edge)} of {node_of(edge).name()}"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what}{producer}, is at version {current}; expected version {version} instead. Hint: "
        "autograd.set_detect_anomaly(True) shows the operator that saved it."
    )


class saved_tensors_hooks(Block):
    """A block in which `pack(tensor)` makes what a node saves instead of a tensor, and `unpack` gives it back."""

    __slots__ = ("_hooks",)
    _variables = (_hooks,)

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        super().__init__()
        self._hooks = (pack_hook, unpack_hook)

    def _switch_on(self) -> None:
        global _blocks
        if reason := _disabled.get():
            raise RuntimeError(reason)
        with _lock:
            _blocks += 1
        _hooks.set((*_hooks.get(), self._hooks))

    def _switched_off(self) -> None:
        global _blocks
        with _lock:
            _blocks -= 1


class disable_saved_tensors_hooks(Block):
    """A block in which `saved_tensors_hooks` raises RuntimeError with this message; so does a block within hooks."""

    __slots__ = ("_message",)
    _variables = (_disabled,)

    def __init__(self, error_message: str) -> None:
        super().__init__()
        self._message = error_message

    def _switch_on(self) -> None:
        if _hooks.get():
            raise RuntimeError(self._message)
        _disabled.set(self._message)
