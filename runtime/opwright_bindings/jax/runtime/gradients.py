"""Derivatives of expressions within JAX's compiled programs: calls of C for `Tangents` and `Transposed` of a call, and
of batches of one. What is elementwise is called once for all batches, and XLA sums what is broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from opwright_bindings.jax.runtime.batches import aligned, restored, split
from opwright_bindings.jax.runtime.programs import Batch, Form, Tangents, Transposed

__all__ = ["Gradients"]

# Calls C: a handler's name, operands, the shape of results, how many there are. None where no loop takes the operands.
_Run = Callable[[str, Sequence[Any], tuple[int, ...], int], list[Any] | None]


class Gradients:
    """The loops of an expression's derivatives. `by` are the positions of the arguments that have a gradient; `numbers`
    gives what the loops compute of other arguments. Without `has_tangent` another formula says what tangents are."""

    def __init__(
        self,
        name: str,
        by: Sequence[int],
        numbers: Callable[[Sequence[Any]], tuple[Any, ...]] = lambda given: (),
        *,
        has_tangent: bool = True,
    ) -> None:
        self._name = name
        self._by = by
        self.numbers = numbers
        self._has_tangent = has_tangent

    @property
    def symbols(self) -> list[str]:
        """Return the names that its handlers may have."""
        kinds = ["vjp", "jvp", *[f"vjp{number}" for number in range(len(self._by))]]
        return [f"opwright_{kind}_{self._name}" for kind in kinds]

    def emitted(
        self,
        run: _Run,
        program: Tangents | Transposed,
        outer: Sequence[Batch],
        tensors: Sequence[int],
        operands: Sequence[Any],
        results: Sequence[Form],
    ) -> list[Any] | None:
        """Return JAX's arrays of the results of a program, which stands in the batches `outer`; None where C has none.
        `tensors` are the positions of the expression's operands among the arguments of the call."""
        inner, call = split(program.base)
        places = [call.values[position].place for position in self._by]
        if program.of != (0,) or not set(program.by) <= set(places):
            return None
        which = [places.index(place) for place in program.by]
        levels = [*outer, *inner]
        # Of each operand, its dimensions in all batches: a tangent has those of its primal, a gradient comes first.
        is_tangent = isinstance(program, Tangents)
        own = [*range(program.count), *(program.by if is_tangent else (None,))]
        dims = [
            [*[each.dims[n] for each in outer], *[0 if place is None else each.dims[place] for each in inner]]
            for n, place in enumerate(own)
        ]
        if is_tangent:
            shape = results[0][0]
        else:
            grad = operands[program.count]
            there = sum(dim is not None for dim in dims[-1])
            shape = (*[each.size for each in levels], *grad.shape[there:])
        rank = len(shape) - len(levels)
        given = [aligned(each, its, rank) for each, its in zip(operands, dims, strict=True)]
        primals = [given[call.values[position].place] for position in tensors]
        linear = given[program.count :]
        if is_tangent:
            return self._pushed(run, primals, linear, which, shape)
        found = self._pulled(run, primals, linear[0], which, shape)
        if found is None:
            return None
        return [
            restored(each, len(outer), [level.dims[place] for level in inner], form[0])
            for each, place, form in zip(found, program.by, results, strict=True)
        ]

    def _pulled(
        self, run: _Run, primals: Sequence[Any], grad: Any, which: Sequence[int], shape: tuple[int, ...]
    ) -> list[Any] | None:
        """Return the gradients of these numbers, an element for each of the result."""
        if len(which) == len(self._by):
            found = run(f"opwright_vjp_{self._name}", [grad, *primals], shape, len(which))
            return None if found is None else [found[number] for number in which]
        each = [run(f"opwright_vjp{number}_{self._name}", [grad, *primals], shape, 1) for number in which]
        return None if None in each else [found[0] for found in each if found is not None]

    def _pushed(
        self, run: _Run, primals: Sequence[Any], tangents: Sequence[Any], which: Sequence[int], shape: tuple[int, ...]
    ) -> list[Any] | None:
        """Return the tangent of the result, where the operands of these numbers have one."""
        if not self._has_tangent:
            return None
        if len(which) == len(self._by) > 1:
            ordered = [tangents[which.index(number)] for number in range(len(which))]
            return run(f"opwright_jvp_{self._name}", [*primals, *ordered], shape, 1)
        each = [
            self._pulled(run, primals, tangent, [number], shape)
            for number, tangent in zip(which, tangents, strict=True)
        ]
        return None if None in each else [reduce(add, [found[0] for found in each if found is not None])]
