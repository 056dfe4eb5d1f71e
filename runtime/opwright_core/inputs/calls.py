"""Calls with arguments that are neither tensors nor plain arrays where tensors are declared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from opwright_core.arrays.devices import is_array
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.errors import ArgumentError
from opwright_core.inputs.kinds import Kind, kind_of
from opwright_core.inputs.plain_values import PLAIN_NUMBERS, takes_values, with_tensors
from opwright_core.inputs.wrapped_numbers import takes_numbers
from opwright_core.late_bound import late_bound
from opwright_core.tensors.tensor import Tensor
from opwright_core.texts.other_libraries import full_name

__all__ = ["OtherArrays", "call_operator", "choose_with_values", "found_in", "give", "takes_numbers", "with_tensors"]


def call_operator(operator: Operator, args: tuple[Any, ...]) -> Any:
    """Call an operator with all of its arguments in order, converted but for tensors. Raises ArgumentError."""
    others = found_in(args)
    if others is None:
        return operator.call(*with_tensors(operator, args))
    if others.are_recorded():
        given, named = operator.signature.split(args)
        return late_bound.tools().function_of(others.kind, operator)(*given, **named)
    names = operator.signature.names
    return others.call(operator, [others.taken(operator.name, value, at, names) for at, value in enumerate(args)])


def choose_with_values(
    packet: Packet, args: tuple[Any, ...], kwargs: dict[str, Any], problem: ArgumentError
) -> tuple[Operator, list[Any]]:
    """Return the first overload that the arguments fit, with numbers and lists of them for tensors. Raises `problem`
    where there is none."""
    for operator in filter(takes_values, tuple(packet.operators.values())):
        with suppress(ArgumentError):
            return operator, [*with_tensors(operator, operator.signature.bind(args, kwargs))]
    raise problem


def found_in(values: Iterable[Any]) -> OtherArrays | None:
    """Return the arrays of another library among arguments, and in lists of them; None where there are none."""
    found: OtherArrays | None = None
    for value in values:
        is_list = isinstance(value, list | tuple)
        if is_list and PLAIN_NUMBERS.issuperset(map(type, value)):
            continue
        for each in value if is_list else (value,):
            kind = kind_of(each)
            if kind is not None:
                if found is None:
                    found = OtherArrays(kind)
                found.add(kind, each)
    return found


def give(like: Any, result: Any) -> Any:
    """Return a result of NumPy as an array of the library that another array is of."""
    kind = kind_of(like)
    return result if kind is None else kind.give(np.asarray(result), [like])


class OtherArrays:
    """The arrays of another library in one call, and the way there and back."""

    __slots__ = ("kind", "mixed", "originals", "problem", "refused", "values")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.values: list[Any] = []
        self.mixed: Any = None
        self.problem, self.refused = "", None  # what is wrong with one of them, and which it is
        self.originals: dict[int, tuple[Any, Any]] = {}  # by id of the array that stands for each, which is kept

    def add(self, kind: Kind, value: Any) -> None:
        """Add one that was found."""
        if kind is not self.kind and self.mixed is None:
            self.mixed = value
        self.values.append(value)

    def are_recorded(self) -> bool:
        """Whether the library itself has to see the call."""
        return any(map(self.kind.is_recorded, self.values)) if self.mixed is None else False

    def call_packet(self, packet: Packet, args: tuple[Any, ...], kwargs: dict[str, Any], named: bool) -> Any:
        """Call the overload that the arguments fit. Raises ArgumentError."""
        if self.are_recorded():
            return late_bound.tools().function_of(self.kind, packet)(*args, **kwargs)
        return self.call(*self.choose(packet, args, kwargs, named))

    def choose(
        self, packet: Packet, args: tuple[Any, ...], kwargs: dict[str, Any], named: bool
    ) -> tuple[Operator, list[Any]]:
        """Return the overload that the arguments fit, and these in order, with arrays that are taken."""
        taken = tuple([self.taken(packet.name, value, at) for at, value in enumerate(args)])
        by_name = {name: self.taken(packet.name, value, name) for name, value in kwargs.items()}
        return packet.choose(taken, by_name, None, named)

    def taken(self, name: str, value: Any, at: int | str, names: Sequence[str] = ()) -> Any:
        """Return an argument with arrays of NumPy, or of a backend, for those of the library.

        `at` is its position, or its name. Raises ArgumentError for what cannot be taken, and for what the library says.
        """
        if not self.originals:
            self._check(name)
        if isinstance(value, list | tuple):
            return [self.taken(name, each, at, names) for each in value]
        if kind_of(value) is None:
            if isinstance(value, Tensor):
                self._refuse_mixture(name, value)
            return value
        if value is self.refused:
            raise self._refusal(name, at, names, self.problem)
        try:
            array = self.kind.take(value)
        except (ArgumentError, MemoryError):
            raise
        except Exception as error:
            raise self._refusal(name, at, names, f"{type(error).__name__}: {error}") from error
        self.originals[id(array)] = array, value
        return array

    def _check(self, name: str) -> None:
        """Raise ArgumentError for arrays that are not of one library; find the first that cannot be taken."""
        if self.mixed is not None:
            self._refuse_mixture(name, self.mixed)
        self.problem = self.kind.problem(self.values)
        if self.problem:
            until = range(1, len(self.values) + 1)
            self.refused = next(self.values[end - 1] for end in until if self.kind.problem(self.values[:end]))

    def _refusal(self, name: str, at: int | str, names: Sequence[str], problem: str) -> ArgumentError:
        where = f"argument {at!r}" if isinstance(at, str) else f"position {at}"
        if isinstance(at, int) and names:
            where = f"argument {names[at]!r} ({where})"
        return ArgumentError(f"{name}() cannot take an array of {self.kind.name} for {where}: {problem}")

    def _refuse_mixture(self, name: str, other: Any) -> None:
        first, second = full_name(type(self.values[0])), full_name(type(other))
        message = "arrays of one library make a call; numpy.from_dlpack(...) makes an array of one, without a copy"
        raise ArgumentError(f"{name}() got a {first} and a {second}: {message}")

    def call(self, operator: Operator, args: list[Any]) -> Any:
        """Call the operator on the arrays that were taken, and return its results as the library's."""
        written = [self._written(operator, position, args[position]) for position in operator.signature.written]
        result = self._given(operator.call(*args))
        for array, original in (each for arrays in written for each in arrays):
            self.kind.mark(original, array)
        return result

    def _written(self, operator: Operator, position: int, value: Any) -> list[tuple[Any, Any]]:
        """Return the arrays that stand for those of the library in a written argument, with these. Raises ArgumentError
        for a read-only one."""
        found = []
        for each in value if isinstance(value, list) else (value,):
            if id(each) in self.originals:
                original = self.originals[id(each)][1]
                if isinstance(each, np.ndarray) and not each.flags.writeable:
                    name = operator.signature.names[position]
                    what = f"writes argument '{name}' (position {position}), and this {full_name(type(original))}"
                    raise ArgumentError(f"{operator.name}() {what} is read-only: pass a copy that may be written")
                found.append((each, original))
        return found

    def _given(self, result: Any) -> Any:
        if isinstance(result, list | tuple):
            items = map(self._given, result)
            return type(result)(items) if type(result) in (list, tuple) else type(result)(*items)  # (one with names)
        if id(result) in self.originals:
            return self.originals[id(result)][1]
        if isinstance(result, np.generic):
            result = np.asarray(result)
        return self.kind.give(result, self.values) if is_array(result) and not isinstance(result, Tensor) else result
