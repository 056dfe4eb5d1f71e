"""Programs, which the primitive computes: calls of operators, derivatives and batches of other programs.

Programs are data, so that JAX tells two of them apart by value. Each is run by our own transforms on our tensors, and
says what its results look like. Nothing of JAX is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from opwright.fake.modes import FakeTensorMode
from opwright.func import jvp, vjp, vmap
from opwright_bindings.fakes import fake
from opwright_core.arrays.dtypes import DType
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.errors import DispatchError
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "Batch",
    "Call",
    "Form",
    "Program",
    "Slot",
    "Tangents",
    "Transposed",
    "linear",
    "refuse_derivatives",
    "tensors_of",
]

Form = tuple[tuple[int, ...], DType]


class Program(Protocol):
    """A function of tensors, which gives a list of tensors."""

    def __hash__(self) -> int:
        """Return what equal programs share."""

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the results."""

    def forms(self, given: Sequence[Form]) -> tuple[Form, ...]:
        """Return shapes and dtypes of the results, for those of the operands."""


@dataclass(frozen=True, repr=False)
class Slot:
    """The position of an operand among the arguments of an operator."""

    place: int

    def __repr__(self) -> str:
        return f"${self.place}"


@dataclass(frozen=True, repr=False)
class Call:
    """A call of an operator. `values` are all its arguments, with slots for tensors; `key` tells them apart, types
    included: 1, 1.0 and True are three."""

    operator: str
    key: tuple[Any, ...]
    values: tuple[Any, ...] = field(compare=False)

    def __repr__(self) -> str:
        return f"{self.operator}({', '.join([repr(value) for value in self.values])})"

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the results, those of a list one by one."""
        return tensors_of(self.call(tensors))

    def call(self, tensors: Sequence[Tensor]) -> Any:
        """Return what the operator returns."""
        return find_operator(self.operator).call(*[_filled(value, tensors) for value in self.values])

    def forms(self, given: Sequence[Form]) -> tuple[Form, ...]:
        """Return what the fake kernel says. Raises what that raises."""
        return _forms_of_call(self, tuple(given))


@lru_cache(maxsize=4096)
def _forms_of_call(call: Call, given: tuple[Form, ...]) -> tuple[Form, ...]:
    with FakeTensorMode() as mode:
        results = call.run([fake(shape, dtype, mode) for shape, dtype in given])
    return tuple([(tuple(each.shape), each.dtype) for each in results])


def _filled(value: Any, tensors: Sequence[Tensor]) -> Any:
    if isinstance(value, Slot):
        return tensors[value.place]
    return [_filled(each, tensors) for each in value] if isinstance(value, (list, tuple)) else value


def tensors_of(result: Any) -> list[Tensor]:
    """Return the tensors of what an operator returns."""
    return [result] if isinstance(result, Tensor) else list(result)


@dataclass(frozen=True, repr=False)
class _Derivative:
    """A derivative of a program at its operands, the first `count` ones of this program: of the results `of` by the
    operands `by`."""

    base: Any
    count: int
    by: tuple[int, ...]
    of: tuple[int, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base!r}, of={self.of}, by={self.by})"

    def chosen(self, tensors: Sequence[Tensor]) -> tuple[Any, tuple[Tensor, ...]]:
        """Return the base as a function of the operands `by` that gives the results `of`; and these operands."""

        def function(*given: Tensor) -> tuple[Tensor, ...]:
            operands = list(tensors[: self.count])
            for position, each in zip(self.by, given, strict=True):
                operands[position] = each
            results = self.base.run(operands)
            return tuple([results[position] for position in self.of])

        return function, tuple([tensors[position] for position in self.by])


class Tangents(_Derivative):
    """The tangents of results, given those of operands: a program that is linear in its last operands."""

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return them by forward formulas; where one is missing, by the gradient of gradients, which are linear."""
        function, operands = self.chosen(tensors)
        tangents = tuple(tensors[self.count :])
        with suppress(DispatchError):
            return list(jvp(function, operands, tangents)[1])
        results, pull = vjp(function, *operands)
        zeros = [each.new_zeros(each.shape) for each in results]
        _, push = vjp(lambda *grads: pull(grads), *zeros)
        return list(push(tangents))

    def forms(self, given: Sequence[Form]) -> tuple[Form, ...]:
        """Return the forms of the results. Raises NotImplementedError for an operator without derivatives."""
        _check_derivative(self.base, tuple(given[: self.count]), self.by, self.of)
        found = self.base.forms(given[: self.count])
        return tuple([found[position] for position in self.of])

    def transposed(self, by: Sequence[int], of: Sequence[int]) -> Transposed:
        """Return the transposed map between fewer operands and results."""
        return Transposed(self.base, self.count, tuple(by), tuple(of))

    def narrowed(self, positions: Sequence[int]) -> Tangents:
        """Return the map where only these linear operands are not zero."""
        return Tangents(self.base, self.count, tuple([self.by[position] for position in positions]), self.of)


class Transposed(_Derivative):
    """The gradients of operands, given those of results: a program that is linear in its last operands.

    JAX transposes complex maps without conjugating them, our gradients are conjugated.
    """

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return them, by the formulas for gradients."""
        function, operands = self.chosen(tensors)
        _, pull = vjp(function, *operands)
        return [each.conj() for each in pull(tuple([each.conj() for each in tensors[self.count :]]))]

    def forms(self, given: Sequence[Form]) -> tuple[Form, ...]:
        """Return the forms of the operands."""
        return tuple([given[position] for position in self.by])

    def transposed(self, by: Sequence[int], of: Sequence[int]) -> Tangents:
        """Return the transposed map between fewer operands and results."""
        return Tangents(self.base, self.count, tuple(by), tuple(of))

    def narrowed(self, positions: Sequence[int]) -> Transposed:
        """Return the map where only these linear operands are not zero."""
        return Transposed(self.base, self.count, self.by, tuple([self.of[position] for position in positions]))


@dataclass(frozen=True)
class Batch:
    """A program for each sample of a batch, by our rules; `dims` are the dimensions of the batch, None for operands
    that have none. Results have it first."""

    base: Any
    dims: tuple[int | None, ...]
    size: int

    def run(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the results."""
        return list(vmap(lambda *given: tuple(self.base.run(given)), in_dims=self.dims)(*tensors))

    def forms(self, given: Sequence[Form]) -> tuple[Form, ...]:
        """Return the forms of one sample, with the batch before its sizes."""
        samples = [(_without(shape, dim), dtype) for (shape, dtype), dim in zip(given, self.dims, strict=True)]
        return tuple([((self.size, *shape), dtype) for shape, dtype in self.base.forms(samples)])


def _without(shape: tuple[int, ...], dim: int | None) -> tuple[int, ...]:
    return shape if dim is None else (*shape[:dim], *shape[dim + 1 :])


def linear(program: Any, count: int, positions: Sequence[int], of: Sequence[int]) -> tuple[Any, list[int]]:
    """Return the program of the tangents of the results `of` of `program`, which has `count` operands, where those at
    `positions` have some; and the operands of `program` that it is given before them."""
    if isinstance(program, (Tangents, Transposed)) and min(positions) >= program.count:
        return program.narrowed([position - program.count for position in positions]), list(range(program.count))
    return Tangents(program, count, tuple(positions), tuple(of)), list(range(count))


_constant: set[str] = set()


def refuse_derivatives(operators: Sequence[str]) -> None:
    """Have derivatives of these operators refused: nothing says what they are."""
    _constant.update(operators)


@lru_cache(maxsize=4096)
def _check_derivative(program: Any, given: tuple[Form, ...], by: tuple[int, ...], of: tuple[int, ...]) -> None:
    """Raise NotImplementedError for an operator without derivatives: while JAX traces, and not when kernels run.

    Both derivatives are tried on tensors without data, since one of them is enough. What needs data is not tried.
    """
    if not isinstance(program, Call):
        return
    if program.operator in _constant:
        raise NotImplementedError(f"{program.operator} has no derivative: derivatives.yaml has no entry for it")
    results = program.forms(given)
    refused = None
    for each, linear_ones in (
        (Transposed(program, len(given), by, of), [results[position] for position in of]),
        (Tangents(program, len(given), by, of), [given[position] for position in by]),
    ):
        try:
            with FakeTensorMode() as mode:
                each.run([fake(shape, dtype, mode) for shape, dtype in (*given, *linear_ones)])
        except NotImplementedError as error:
            refused = error
        except (RuntimeError, ValueError, TypeError, IndexError):
            return
        else:
            return
    if refused is not None:
        raise refused
