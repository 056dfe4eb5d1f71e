"""The binding to JAX: operators of a generated package as functions of JAX's arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from opwright.errors import DataDependentOutputError, DynamicOutputShapeError
from opwright.fake.modes import FakeTensorMode
from opwright_bindings.fakes import check_arrays, fake
from opwright_bindings.frameworks import import_beside
from opwright_bindings.jax.runtime.native import Kernel, Library, Loop, offer
from opwright_bindings.jax.runtime.primitive import call as call_primitive
from opwright_bindings.jax.runtime.programs import Call, Slot, refuse_derivatives, tensors_of
from opwright_bindings.jax.runtime.values import is_operand, kept_dtype, operand_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet, find_packet
from opwright_core.native_kernels.libraries import SUFFIX
from opwright_core.tensors.tensor import Tensor

__all__ = ["Binding", "Function", "open_binding"]

_MOST = 1024  # calls that one function remembers
_ENABLE = 'jax.config.update("jax_enable_x64", True) has it keep 64 bits'


def open_binding(namespace: str, package: str, module: str, library: str = "", digest: str = "") -> Binding:
    """Import the generated package that stands beside `module`, and return what gives JAX its operators.

    `library` is what `opwright build` makes of its C functions, `digest` tells that from one of other schemas.
    """
    imported = import_beside(package, module)
    path = Path(imported.__path__[0], "native", f"{library}{SUFFIX}")
    return Binding(namespace, Library(path, digest) if library else None)


class Binding:
    """The operators of one namespace for JAX. `library` has the C functions, where some are; its `problem` says why
    compiled programs do not call them."""

    def __init__(self, namespace: str, library: Library | None) -> None:
        self.namespace = namespace
        self.library = library

    def function(
        self,
        name: str,
        *overloads: str,
        native: Mapping[str, Loop | Kernel] = MappingProxyType({}),
        constant: Sequence[str] = (),
    ) -> Function:
        """Return the function that calls the operator of that name, with these of its overloads. `native` has the C
        functions of some; those of `constant` have no derivatives."""
        full = f"{self.namespace}::{name}"
        for overload, each in native.items():
            assert self.library is not None
            offer(_full(full, overload), each, self.library)
        refuse_derivatives([_full(full, overload) for overload in constant])
        return Function(find_packet(full), overloads)


def _full(name: str, overload: str) -> str:
    return name if overload == "default" else f"{name}.{overload}"


class Function:
    """An operator on JAX's arrays. All arguments but arrays are known when JAX traces a function that calls it.

    Arrays of NumPy and Tensors are taken, too. Errors of shapes and dtypes are raised while tracing.
    """

    def __init__(self, packet: Packet, overloads: Sequence[str]) -> None:
        self.__name__ = packet.base
        self._packet = packet
        self.overloads = overloads
        self._known: dict[Any, tuple[Call, Callable[[list[Any]], Any]]] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return JAX's array; for an operator with several results a tuple or list of them."""
        operands: list[Any] = []
        shown = tuple([_shown(value, operands) for value in args])
        named = {name: _shown(value, operands) for name, value in kwargs.items()}
        key = (_key(shown), _key(tuple(named.items())), tuple([(each.shape, each.dtype) for each in operands]))
        found = self._known.get(key)
        if found is None:
            found = self._chosen(operands, shown, named)
            if len(self._known) < _MOST:
                self._known[key] = found
        call, rebuilt = found
        return rebuilt(call_primitive(call, operands))

    def __repr__(self) -> str:
        return f"<{self._packet.name} for JAX: {', '.join(self.overloads)}>"

    def _chosen(
        self, operands: Sequence[Any], shown: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[Call, Callable[[list[Any]], Any]]:
        """Return the call of the overload that is meant, and how its result is made of arrays."""
        with FakeTensorMode() as mode:
            fakes = [fake(each.shape, np.dtype(each.dtype), mode) for each in operands]
            args = tuple([_replaced(value, fakes) for value in shown])
            kwargs = {name: _replaced(value, fakes) for name, value in named.items()}
            operator, bound = self._bound(args, kwargs)
            positions = {id(each): Slot(position) for position, each in enumerate(fakes)}
            values = tuple([_slotted(value, positions) for value in bound])
            call = Call(operator.name, _key(values), values)
            try:
                return call, _rebuilding(call.call(fakes))
            except (DataDependentOutputError, DynamicOutputShapeError) as error:
                message = (
                    f"what {operator.name} gives depends on data, which JAX does not have while it traces: {error}"
                )
                raise TypeError(message) from None

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Operator, list[Any]]:
        try:
            operator = self._packet.resolve(args, kwargs)
            bound = operator.signature.bind(args, kwargs)
        except DataDependentOutputError:
            message = "takes a number where an array was given; numbers are known while JAX traces"
            hint = "pass Python's, and name the argument in static_argnames (by position, static_argnums) of jax.jit"
            raise TypeError(f"{self._packet.name} {message}: {hint}") from None
        check_arrays(operator, bound)
        overload = operator.name.partition("::")[2].partition(".")[2] or "default"
        if overload not in self.overloads:
            raise TypeError(f"{operator.name} is not given to JAX: the generated module says why")
        for value in bound:
            if isinstance(value, np.dtype) and kept_dtype(value) != value:
                message = f"{operator.name}: {value} was asked for, and JAX gives {kept_dtype(value)}: {_ENABLE}"
                warnings.warn(message, stacklevel=4)
        return operator, bound


def _shown(value: Any, operands: list[Any]) -> Any:
    """Return an argument with slots for its arrays, which are appended to the operands."""
    if is_operand(value):
        operands.append(operand_of(value))
        return Slot(len(operands) - 1)
    if isinstance(value, (list, tuple)):
        return [_shown(each, operands) for each in value]
    return value


def _replaced(value: Any, fakes: Sequence[Tensor]) -> Any:
    if isinstance(value, Slot):
        return fakes[value.place]
    return [_replaced(each, fakes) for each in value] if isinstance(value, list) else value


def _slotted(value: Any, positions: Mapping[int, Slot]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_slotted(each, positions) for each in value]
    return positions.get(id(value), value)


def _key(value: Any) -> Any:
    """Return what tells a value from others of equal hash: its type, and the sign of a zero."""
    if isinstance(value, (list, tuple)):
        return tuple([_key(each) for each in value])
    return (type(value), repr(value)) if isinstance(value, (float, complex)) else (type(value), value)


def _rebuilding(result: Any) -> Callable[[list[Any]], Any]:
    """Return the function that makes of arrays what the operator makes of Tensors."""
    if isinstance(result, Tensor):
        return lambda arrays: arrays[0]
    tensors_of(result)
    return list if isinstance(result, list) else tuple
