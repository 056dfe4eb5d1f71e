"""All overloads of an operator under one name, and which of them a call means."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright_core.arrays.devices import Device, is_array
from opwright_core.arrays.size import Size
from opwright_core.arrays.sizes import is_number
from opwright_core.core import Caller, fast
from opwright_core.dispatch.call.conversion import base_type
from opwright_core.dispatch.call.introspection import ShownDocstring, ShownSignature
from opwright_core.dispatch.call.keywords import other_names, outs_by_name, translated, unknown_name
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.signature import argument_error, element
from opwright_core.dispatch.compiled import signature_keys
from opwright_core.dispatch.registry.tables import registry, why_lost
from opwright_core.errors import ArgumentError, DispatchError
from opwright_core.names.late_imports import import_late
from opwright_core.names.missing import did_you_mean, missing_attribute
from opwright_core.tensors.tensor import Tensor

__all__ = ["Packet", "find_packet", "packet"]

_OPTIONS: Final = frozenset(("dtype", "layout", "device", "pin_memory"))
_LONGEST: Final = 6  # of lists whose element types are looked at for the cache
_LISTS: Final = frozenset((list, tuple, Size))
_SIMPLE: Final = frozenset((int, float, bool, complex, str, type(None), Tensor, np.ndarray, Device))
_SCALAR: Final = frozenset(("Scalar",))
_COUNTS: Final = frozenset(("int", "SymInt", "float", "complex", "bool", "SymBool"))
_ONE_ELEMENT: Final = _SCALAR | _COUNTS  # to which tensors convert


class Packet(Caller):
    """A packet, `aten::add`: its overloads in definition order, as attributes too (`.Tensor`, `.default`).

    Calling it takes the first overload that fits.
    """

    __slots__ = ("__weakref__", "_chosen", "_shared", "base", "name", "namespace", "operators")
    __signature__ = ShownSignature()

    def __init__(self, name: str) -> None:
        self.name = name
        self.namespace, _, self.base = name.partition("::")
        with registry.lock:
            self._shared = registry.shared_overloads(name)
            self.operators = self._shared.operators
            self._chosen = self._shared.chosen
            if fast is not None:
                self._shared.pass_calls_to = self._pass_calls_to
                self._shared.stub = self._shared.stub  # which has it handle calls

    @property
    def stub(self) -> Callable[..., Any] | None:
        """Return the generated function that does what calling the packet does, faster; None if there is none."""
        if self._shared.generated is None:
            for operator in tuple(self.operators.values()):
                operator.load()
        return self._shared.generated

    @property
    def __name__(self) -> str:
        return self.base

    def overloads(self) -> list[str]:
        """Return the names of the overloads, `default` for the one without."""
        return [name or "default" for name in self.operators]

    def __getattr__(self, name: str) -> Any:
        if name == "ufunc":
            return next(iter(self.operators.values())).ufunc
        overload = "" if name == "default" else name
        found = self.operators.get(overload)
        if found is not None:
            return found
        from opwright_core import plugins

        plugins.load()
        found = self.operators.get(overload)
        if found is None:
            listed = ", ".join(self.overloads())
            why = why_lost(f"{self.name}.{overload}" if overload else self.name)
            message = f"{self.name} has no overload '{name}'; it has {listed}{why}{plugins.failures()}"
            raise missing_attribute(message, name, () if why else self.overloads())
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def _call_uncommon(self, /, *args: Any, **kwargs: Any) -> Any:
        stub = self._shared.current_stub
        if kwargs:
            if stub is None or not other_names.isdisjoint(kwargs):
                return self.call(args, kwargs)  # which refuses other names, as PyTorch's operators do
            return stub(*args, **kwargs)
        if stub is None and fast is None:
            operator = self._chosen.get(tuple(map(type, args)))
            stub = None if operator is None else operator.straight_stub
        return self.call(args, kwargs) if stub is None else stub(*args)

    if fast is None or TYPE_CHECKING:
        __call__ = _call_uncommon

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], named: bool = False) -> Any:
        """Call the first overload that the arguments fit; where `named`, also by their other names (`keywords`).

        Raises ArgumentError with each overload's reason if none fits.
        """
        if "out" in kwargs:
            # As in PyTorch, None is the same as none given; and `out` says what the options say of a new tensor.
            names = _OPTIONS if kwargs["out"] is not None else ("out",)
            kwargs = {name: value for name, value in kwargs.items() if value is not None or name not in names}
            if isinstance(kwargs.get("out"), list | tuple):
                kwargs = outs_by_name(self.name, self.operators.values(), kwargs)
        key: Any = (
            tuple(map(type, args)) if not kwargs else (tuple(map(type, (*args, *kwargs.values()))), tuple(kwargs))
        )
        operator = self._chosen.get(key)
        if operator is None:  # a first call, or one with lists, or by other names
            if named and not other_names.isdisjoint(kwargs):
                return self.call(args, self._translated(args, kwargs))
            key = _types(args, kwargs)
            operator = self._chosen.get(key) if key is not None else None
        stub = None if operator is None else operator.straight_stub or operator.warm_stub()
        if operator is not None and stub is not None:
            if fast is not None and operator.renderer is not None and self._shared.current_stub is None:
                self._make_stub()
            return stub(*args, **kwargs)
        bound = None
        if operator is not None:
            with contextlib.suppress(ArgumentError):  # an int too big, for instance, which another overload may take
                bound = operator.signature.bind(args, kwargs)
        if operator is None or bound is None:
            if key is None and (others := _other_arrays().found_in((*args, *kwargs.values()))):
                return others.call_packet(self, args, kwargs, named)
            operator, bound = self.choose(args, kwargs, key if operator is None else None, named)
        return operator.call(*bound)

    def _make_stub(self) -> None:
        """Have the compiled core handle common calls, where no generated function does."""
        with registry.lock:
            if self._shared.generated is None:
                self._shared.stub = signature_keys.packet_stub(self)

    def _translated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by the names of the first overload that they fit."""
        for operator in tuple(self.operators.values()):
            names = operator.signature.positions
            with contextlib.suppress(ArgumentError):
                found = translated(self.base, names, kwargs)
                if names.keys() >= found.keys():
                    self.resolve(args, found)
                    return found
        return translated(self.base, self._shared.names, kwargs)

    def resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operator:
        """Return the first overload that the arguments fit. Raises ArgumentError."""
        key = _types(args, kwargs)
        operator = self._chosen.get(key) if key is not None else None
        if key is None and (others := _other_arrays().found_in((*args, *kwargs.values()))):
            operator = others.choose(self, args, kwargs, False)[0]
        return operator or self.choose(args, kwargs, key)[0]

    def choose(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any, named: bool = False
    ) -> tuple[Operator, list[Any]]:
        """Return the first overload that the arguments fit, and its arguments in order. Raises ArgumentError."""
        reasons: list[str] = []  # not the errors: their tracebacks hold this frame, which would hold them
        by_types = key is not None
        operators = tuple(self.operators.values())
        # Numbers stand for tensors only where no overload takes them as they are. For functions it is so the other way
        # round, too: `max(x, y)` is of two tensors, though `y` may have one element, as a `dim` has. (Of packets, as in
        # PyTorch, the first overload that fits is the one; but tensors are Scalars only where nothing else fits.)
        read = _ONE_ELEMENT if named else _SCALAR
        for reads_tensors, takes_scalars in ((False, False), (False, True), (True, False), (True, True)):
            for operator in operators:
                if not reads_tensors and _reads_a_tensor(operator, args, kwargs, read):
                    by_types = by_types and not _reads_a_tensor(operator, args, kwargs, _COUNTS)  # else it is `named`
                    continue
                by_types = by_types and _types_decide(operator, args, kwargs)
                try:
                    bound = operator.signature.bind(args, kwargs)
                    _check_tensors(operator, bound, takes_scalars)
                except ArgumentError as error:
                    if reads_tensors and not takes_scalars:
                        reasons.append(str(error))
                    continue
                if by_types and not takes_scalars:
                    with registry.lock:
                        if tuple(self.operators.values()) == operators:
                            self._chosen[key] = operator
                return operator, bound
        for name in kwargs:
            if name not in self._shared.names:
                hint = unknown_name(name, self._shared.names, has_others=named)
                reasons = [f"{self.name}() {hint}\nDeclarations:\n{self.__doc__}"]
        found: tuple[Operator, list[Any]]
        found = _other_arrays().choose_with_values(self, args, kwargs, _no_overload(self, reasons))
        return found

    def __reduce__(self) -> tuple[Callable[[str], Packet], tuple[str]]:
        return find_packet, (self.name,)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.base}"

    def __repr__(self) -> str:
        return f"<Packet {self.name}: {', '.join(self.overloads())}>"


Packet.__doc__ = ShownDocstring(Packet.__doc__)  # type: ignore[assignment]  # what instances have too


def _types(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the choice of an overload may be remembered by: the types of the arguments, and those of what lists
    hold. None where types do not tell enough."""
    types: list[Any] = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind in _SIMPLE or isinstance(value, Tensor | np.dtype):
            types.append(kind)
        elif kind in _LISTS and len(value) <= _LONGEST:
            elements = tuple(map(type, value))
            if not _SIMPLE.issuperset(elements):
                return None
            types.append((kind, elements))
        else:
            return None
    return (tuple(types), tuple(kwargs)) if kwargs else tuple(types)


def _types_decide(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the types of the arguments alone say if the overload fits: not where a tensor may convert to a number,
    nor for names of devices and the like."""
    for base, value in _by_type(operator, args, kwargs):
        if isinstance(value, str) and base != "str":
            return base in ("Tensor", "int", "SymInt", "float", "Scalar")
    return not _reads_a_tensor(operator, args, kwargs)


def _reads_a_tensor(
    operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], read: frozenset[str] = _ONE_ELEMENT
) -> bool:
    """Whether a tensor, or one in a list, would be converted to a number of the types in `read`."""
    for base, value in _by_type(operator, args, kwargs):
        items = value if isinstance(value, list | tuple) else (value,)
        if base in read and any(isinstance(item, Tensor | np.ndarray) for item in items):
            return True
    return False


def _by_type(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arguments with what the overload declares for them."""
    signature = operator.signature
    given = [*enumerate(args[: len(signature.types)])]
    given += [(signature.positions[name], value) for name, value in kwargs.items() if name in signature.positions]
    for position, value in given:
        yield base_type(signature.types[position]), value


def _check_tensors(operator: Operator, bound: list[Any], takes_scalars: bool) -> None:
    """Raise ArgumentError where a tensor is declared and something else is given."""
    signature = operator.signature
    for position, is_list, is_optional, has_optional_items in signature.tensors:
        value = bound[position]
        if value is None and is_optional:
            continue
        if not is_list:
            number_fits = takes_scalars and is_number(value) and _other_arrays().takes_numbers(operator, position)
            if not _is_tensor(value, takes_scalars) and not number_fits:
                raise argument_error(operator, position, value)
        elif not isinstance(value, list | tuple):
            raise argument_error(operator, position, value)
        else:
            for index, item in enumerate(value):
                if not _is_tensor(item, takes_scalars) and (item is not None or not has_optional_items):
                    raise argument_error(operator, position, value, element(index, item))


def _other_arrays() -> Any:
    return import_late("opwright_core.inputs.calls")  # for calls with something else than tensors and plain arrays


def _is_tensor(value: Any, takes_scalars: bool) -> bool:
    return isinstance(value, Tensor) or is_array(value) or (takes_scalars and isinstance(value, np.generic))


def _no_overload(packet: Packet, reasons: list[str]) -> ArgumentError:
    if not reasons:
        return ArgumentError(f"{packet.name} has no overloads left{why_lost(packet.name)}")
    if len(reasons) == 1:
        return ArgumentError(reasons[0])
    listed = "\n".join(f"{number}. {reason}" for number, reason in enumerate(reasons, 1))
    return ArgumentError(f"no overload of {packet.name} fits the call:\n{listed}")


def packet(name: str) -> Packet:
    """Return the packet of a qualified name without overload, `aten::add`; made where it does not exist yet."""
    with registry.lock:
        found = registry.packets.get(name)
        if found is None:
            found = registry.packets[name] = Packet(name)
        return found


def find_packet(name: str) -> Packet:
    """Return the packet of a qualified name, if an overload is defined. Raises DispatchError."""
    known = registry.overloads.get(name)
    if known is not None and known.operators:
        return packet(name)
    from opwright_core import plugins

    plugins.load()
    known = registry.overloads.get(name)
    if known is None or not known.operators:
        why = why_lost(name) or did_you_mean(name, registry.overloads)
        raise DispatchError(f"operator {name} does not exist{why}{plugins.failures()}")
    return packet(name)
