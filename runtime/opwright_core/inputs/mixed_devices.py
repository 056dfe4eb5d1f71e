"""Calls whose tensors are on several devices: what PyTorch lets pass is moved to one of them, the rest is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from opwright_core.arrays.devices import Device, backend_named, backend_of
from opwright_core.tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["on_one_device"]

Function = Callable[..., Any]

# Arguments that may be on another device than the rest, by the operator's base name.
_SOURCES = {"copy": "src", "fill": "value", "masked_fill": "value", "index_fill": "value", "index_put": "values"}
_INDEXING = ("index", "_unsafe_index", "index_put", "_index_put_impl", "_unsafe_index_put")


def on_one_device(operator: Operator, kernel: Function, below: Function) -> Function:
    """Return what handles calls with keys of several backends: it calls the operator with all tensors on one device, by
    `below`, which records nothing.

    Where they are on one already (a guard includes the other key), `kernel` is called. 0-dim tensors of the CPU follow
    the others, indices of the CPU what they index, and a source of `copy_` what is written. Raises RuntimeError for
    other mixtures.
    """
    base = operator.base.rstrip("_")

    def call(*args: Any) -> Any:
        if len({tensor.device.type for _, tensor in _tensors(operator, args)}) < 2:
            return kernel(*args)
        device = _common_device(operator, base, args)
        moved = [_moved(each, device) if _is_mixed(each, device) else each for each in args]
        return below(*moved)

    return call


def _tensors(operator: Operator, args: tuple[Any, ...]) -> Iterator[tuple[int, Tensor]]:
    for position in (each.position for each in operator.signature.tensors):
        value = args[position]
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, Tensor):
                yield position, each


def _common_device(operator: Operator, base: str, args: tuple[Any, ...]) -> Device:
    """Return the device that decides. Raises RuntimeError where two tensors that must agree do not."""
    signature = operator.signature
    deciding = None
    for position, tensor in _tensors(operator, args):
        if not _follows(base, signature.names[position], tensor, position in signature.written):
            if deciding is None:
                deciding = tensor.device
            elif tensor.device.type != deciding.type:
                raise _mixture(operator, position, deciding, tensor.device)
    # All may be 0-dim: those on other devices than the CPU decide.
    return deciding or next(each.device for _, each in _tensors(operator, args) if each.device.type != "cpu")


def _follows(base: str, name: str, tensor: Tensor, is_written: bool) -> bool:
    """Whether a tensor may be moved to where the others are."""
    if is_written:
        return False
    is_element = tensor.ndim == 0
    if _SOURCES.get(base) == name:
        return base == "copy" or is_element
    is_of_cpu = tensor.device.type == "cpu"
    return is_of_cpu and (is_element or (name == "indices" and base in _INDEXING))


def _mixture(operator: Operator, position: int, first: Device, second: Device) -> RuntimeError:
    name = operator.signature.names[position]
    if position in operator.signature.written and position >= operator.signature.positional:
        return RuntimeError(f"Expected out tensor to have device {first}, but got {second} instead ({operator.name})")
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}! "
        f"(argument '{name}' of {operator.name})"
    )


def _is_mixed(value: Any, device: Device) -> bool:
    if isinstance(value, list):
        return any(_is_mixed(each, device) for each in value)
    return isinstance(value, Tensor) and value.device.type != device.type


def _moved(value: Any, device: Device) -> Any:
    if isinstance(value, list):
        return [_moved(each, device) if _is_mixed(each, device) else each for each in value]
    host = backend_of(value.array).to_numpy(value.array)
    return wrap(backend_named(device).from_numpy(host, device.index))
