"""The fallback of a backend by way of NumPy: it handles what the backend has no kernel for, as PyTorch's
`at::native::cpu_fallback` does.

Arrays are copied to NumPy, the kernel of the CPU runs, results are copied back, and what it wrote is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opwright.context_managers.keys import below_adinplaceorview
from opwright.registering.kernels import Handle, registered
from opwright.user_kernels.registering import register_fallback
from opwright_core.arrays.devices import Array, Backend, Device, element_strides
from opwright_core.arrays.storage import Extra, new_array, set_array, storage_of
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.compose import on_one_device
from opwright_core.dispatch.registry.kernel_kinds import Registration, Taking
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import VIEW, DispatchKey
from opwright_core.random_state.generator import Generator, generator_of
from opwright_core.source_locations import caller, frames_of_ours
from opwright_core.tensors.tensor import Tensor, wrap, wrap_view
from opwright_core.texts.dispatch_errors import missing
from opwright_core.user_kernels.copies import CopyOfView, check_memory

__all__ = ["NumpyFallback", "fall_back_to_numpy"]

Function = Callable[..., Any]
# Composites for NumPy's and CuPy's arrays alone.
_OVER_MEMORY = ("aten::as_strided", "aten::as_strided_scatter")
_VIEW = (
    "{name} makes a view of its argument, and backend {backend!r} can make none{instead}. Register a kernel of "
    "aten::as_strided, or of the operator"
)
_COPY = ": the result is a copy, which later writes to the argument do not reach, and which cannot be written to"
_WRITE = (
    "{name} cannot write to '{argument}' on device {backend}: a view or the caller shares its memory, to_numpy copies, "
    "and the backend has no kernel of aten::copy_. Register one that takes (self, src, non_blocking): two arrays of "
    "the same shape and dtype, and a bool"
)


def fall_back_to_numpy(backend: Backend, *, warn: bool = False, error_on_views: bool = False) -> NumpyFallback:
    """Handle what the backend has no kernel for by way of NumPy; `.remove()` ends it.

    With `warn` the first call of each operator warns. Views share memory where the arrays of the backend can: it has a
    kernel of `aten::as_strided`, or `to_numpy` and `from_numpy` share memory. Elsewhere they are copies, with a warning
    for each operator, or a RuntimeError with `error_on_views`.
    """
    fallback = NumpyFallback(backend, warn, error_on_views)
    fallback.install(fallback.kernel_of)
    return fallback


@dataclass(slots=True)
class NumpyFallback:
    """The fallback of one backend, what it registered, and the operators that it warned of."""

    backend: Backend
    warns: bool = False
    error_on_views: bool = False
    handles: list[Handle] = field(default_factory=list)
    warned: set[str] = field(default_factory=set)

    def install(self, kernel_of: Callable[[Operator], Function]) -> None:
        """Register what makes the kernels: as the key's fallback, and for operators that are otherwise written over the
        memory of arrays, before any kernel that the backend has."""
        key, where = DispatchKey(self.backend.key), caller()
        self.handles.append(register_fallback(key, Taking(kernel_of), where=where))
        with registry.lock:
            for name in _OVER_MEMORY:
                registration = Registration(key, Taking(kernel_of), where)
                registered(name, key).insert(0, registration)
                registry.forget_tables(name)
                self.handles.append(Handle(name, registration))

    def remove(self) -> None:
        """Remove the fallback. Doing so again has no effect."""
        for handle in self.handles:
            handle.remove()

    def kernel_of(self, operator: Operator) -> Function:
        """Return what handles an operator. Raises DispatchError where the CPU has no kernel of it."""
        key = DispatchKey(self.backend.key)
        if operator.entry(DispatchKey.CPU).registration is None:
            raise missing(operator, key, key.bit)
        return on_one_device(operator, lambda *args: self._call(operator, args))

    def _call(self, operator: Operator, args: tuple[Any, ...]) -> Any:
        if self.warns:
            self._warn_once(operator, f"{operator.name} runs on the CPU: backend {self.backend.name!r} has no kernel")
        call = _Call(self.backend, operator, args)
        if operator.name == "aten::as_strided":
            call.look_at_the_storage()
        with below_adinplaceorview():
            result = operator.call(*call.on_host)
            call.write_back()
            is_single = len(operator.signature.returns) == 1
            found = (result,) if is_single else result
            results = [self._result(call, index, each) for index, each in enumerate(found or ())]
        return (results[0] if is_single else tuple(results)) if results else None

    def _result(self, call: _Call, index: int, result: Any) -> Any:
        """Return one result on the device: the argument it is, a view of the one that it aliases, or a new tensor."""
        if isinstance(result, list | tuple):
            return [self._result(call, index, each) for each in result]
        if not isinstance(result, Tensor):
            return result
        alias = call.operator.signature.aliases[index]
        if alias is None or not isinstance(call.args[alias], Tensor):
            return call.to_device(result.array)
        source: Tensor = call.args[alias]
        if alias in call.operator.signature.written or result is call.on_host[alias]:
            return source
        view = call.view(source, call.on_host[alias], result)
        return self._copy(call, result) if view is None else view

    def _copy(self, call: _Call, result: Tensor) -> Tensor:
        """Return a copy instead of a view. Raises RuntimeError with `error_on_views`."""
        name, backend = call.operator.name, self.backend.name
        if self.error_on_views:
            raise RuntimeError(_VIEW.format(name=name, backend=backend, instead=""))
        self._warn_once(call.operator, _VIEW.format(name=name, backend=backend, instead=_COPY))
        made = call.to_device(result.array)
        made.extra = Extra(CopyOfView(made.array))
        made.keys |= VIEW
        return made

    def _warn_once(self, operator: Operator, text: str) -> None:
        if operator.name not in self.warned:
            self.warned.add(operator.name)
            warnings.warn(text, UserWarning, stacklevel=frames_of_ours() + 1)


class _Call:
    """One call: its arguments on the device, and on the host as the CPU's kernel takes them."""

    def __init__(self, backend: Backend, operator: Operator, args: tuple[Any, ...]) -> None:
        self.backend = backend
        self.operator = operator
        self.args = args
        self.index: int | None = None  # of the device
        self.generators: list[tuple[Generator, Generator]] = []  # the device's, and what draws instead
        self._known: dict[int, Tensor] = {}
        self.on_host = [self._to_host(value) for value in args]
        if "Generator?" in operator.signature.types:
            self._draw_from_the_devices(operator.signature.types.index("Generator?"))

    def _to_host(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._to_host(each) for each in value]
        if isinstance(value, Device) and value.type == self.backend.name:
            self.index = value.index
            return Device("cpu")
        if not isinstance(value, Tensor) or type(value.array) is np.ndarray:
            return value
        self.index = self.backend.index(value.array)
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = wrap(_host_array(self.backend, value.array))
        return known

    def _draw_from_the_devices(self, position: int) -> None:
        """Have the kernel draw from a generator of the CPU that stands where the device's does."""
        own = self.args[position]
        if own is None:
            own = generator_of(Device(self.backend.name, self.index))
        if own.device.type != self.backend.name:
            raise RuntimeError(
                f"Expected a '{self.backend.name}' device type for generator but found '{own.device.type}'"
            )
        drawing = self.on_host[position] = Generator().set_state(own.get_state())
        self.generators.append((own, drawing))

    def look_at_the_storage(self) -> None:
        """Have `as_strided` see all of the storage of its argument."""
        tensor, offset = self.args[0], self.args[3]
        self.on_host[0] = wrap(_host_array(self.backend, storage_of(tensor).array))
        self.on_host[3] = tensor.storage_offset() if offset is None else offset

    def to_device(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Return a new tensor of the device. Raises RuntimeError where the backend cannot hold the array."""
        made = wrap(self.backend.from_numpy(array, self.index))
        if (made.dtype, made.shape) != (array.dtype, array.shape):
            raise RuntimeError(
                f"{self.operator.name}: backend {self.backend.name!r} cannot hold an array of {array.dtype} and shape "
                f"{array.shape}: its from_numpy made one of {made.dtype} and shape {tuple(made.shape)}"
            )
        return made

    def write_back(self) -> None:
        """Write what the kernel wrote to where it belongs. Raises RuntimeError where nothing can write there."""
        for own, drawing in self.generators:
            own.set_state(drawing.get_state())
        for position in sorted(self.operator.signature.written):
            for target, written in _pairs(self.args[position], self.on_host[position]):
                self._write(target, written, position)

    def _write(self, target: Tensor, written: Tensor, position: int) -> None:
        check_memory(target)
        if target.shape != written.shape:
            self._replace(target, written)
        elif not target.numel() or self._copy_on_device(target, written) or self._shares_memory(target, written):
            return
        elif not _shares_array(target):
            self._replace(target, written)
        else:
            name = self.operator.signature.names[position]
            raise RuntimeError(_WRITE.format(name=self.operator.name, argument=name, backend=self.backend.name))

    def _replace(self, target: Tensor, written: Tensor) -> None:
        """Give a tensor a new array."""
        made = self.to_device(written.array).array
        if target.extra is not None and target.extra.storage is not None:
            target.extra.storage.replace(made)
        set_array(target, made)

    def _copy_on_device(self, target: Tensor, written: Tensor) -> bool:
        """Write by the backend's own kernel of `copy_`; return whether it has one."""
        if self._kernel("aten::copy_") is None:
            return False
        find_operator("aten::copy_").call(target, self.to_device(written.array), False)
        return True

    def _shares_memory(self, target: Tensor, written: Tensor) -> bool:
        return np.may_share_memory(self.backend.to_numpy(target.array), written.array)

    def _kernel(self, name: str) -> Operator | None:
        """Return the operator of that name if the backend has a kernel of its own for it."""
        found = find_operator(name)
        with registry.lock:
            known = found.registrations.get(DispatchKey(self.backend.key))
            return found if known and not isinstance(known[-1].kernel, Taking) else None

    def view(self, source: Tensor, host: Tensor, result: Tensor) -> Tensor | None:
        """Return the view of `source` that `result` is of `host`; None where the backend can make none."""
        if result.is_set_to(host) and result.dtype == host.dtype:  # `detach`, and views that change nothing
            return wrap_view(source, source.array)
        as_strided = self._kernel("aten::as_strided")
        if as_strided is not None and result.dtype == source.dtype:
            first = (result.data_ptr() - host.data_ptr()) // host.itemsize if result.numel() else 0
            offset = source.storage_offset() + first
            seen: Tensor = as_strided.call(source, list(result.shape), list(result.stride()), offset)
            return seen
        made = self.backend.from_numpy(result.array, self.index)
        if result.numel() and not np.may_share_memory(self.backend.to_numpy(made), host.array):
            return None
        return wrap_view(source, made)


def _pairs(targets: Any, written: Any) -> list[tuple[Tensor, Tensor]]:
    """Return the tensors of an argument, with those on the host."""
    if isinstance(targets, list):
        return [pair for each in zip(targets, written, strict=True) for pair in _pairs(*each)]
    return [] if targets is None or targets is written else [(targets, written)]


def _shares_array(tensor: Tensor) -> bool:
    """Return whether a view, or the caller who gave the array, would miss a write if another array replaced it."""
    storage = None if tensor.extra is None else tensor.extra.storage
    return storage is not None and (storage.has_views or not storage.resizable)


def _host_array(backend: Backend, array: Array) -> np.ndarray[Any, Any]:
    """Return an array's elements for NumPy, under the same strides: layouts of results follow from them."""
    host: np.ndarray[Any, Any] = backend.to_numpy(array)
    strides = backend.strides(array)
    if element_strides(host) == strides or host.size < 2:
        return host
    laid: np.ndarray[Any, Any] = new_array(host.shape, strides, host.dtype, host)
    laid[...] = host
    return laid
