"""Dimension rules of programs: of a call, of its derivatives and of batches, for operands of these forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opwright.dimensions.derivatives import batched_rule, gradient_rule, tangent_rule
from opwright.dimensions.deriving import rule_of
from opwright.dimensions.rule import DimensionRule
from opwright.fake.modes import FakeTensorMode
from opwright_bindings.fakes import fake
from opwright_bindings.jax.runtime.programs import Batch, Call, Form, Program, Slot, Tangents, Transposed
from opwright_core.dispatch.call.operator import find_operator

__all__ = ["resized", "rule_of_program"]


@lru_cache(maxsize=4096)
def rule_of_program(program: Program, forms: tuple[Form, ...]) -> DimensionRule:
    """Return the rule of a program; its operands are in the order in which the program has them."""
    match program:
        case Batch(base, dims, _):
            samples = [
                (shape if dim is None else (*shape[:dim], *shape[dim + 1 :]), dtype)
                for (shape, dtype), dim in zip(forms, dims, strict=True)
            ]
            return batched_rule(rule_of_program(base, tuple(samples)), dims)
        case Tangents(base, count, by, of):
            own = _chosen(rule_of_program(base, forms[:count]), of)
            return tangent_rule(own, by)
        case Transposed(base, count, by, of):
            own = _chosen(rule_of_program(base, forms[:count]), of)
            found = gradient_rule(own, by)
            return replace(found, operands=(*found.operands[len(of) :], *found.operands[: len(of)]))
    assert isinstance(program, Call)
    with FakeTensorMode() as mode:
        fakes = [fake(shape, dtype, mode) for shape, dtype in forms]
        places: list[int] = []
        values = [_filled(value, fakes, places) for value in program.values]
        found = rule_of(find_operator(program.operator), values)
    ordered = sorted(zip(places, found.operands, strict=True))
    return replace(found, operands=tuple([own for _, own in ordered]), linear=())


def _chosen(rule: DimensionRule, of: Sequence[int]) -> DimensionRule:
    return replace(rule, results=tuple([rule.results[position] for position in of]))


def _filled(value: Any, fakes: Sequence[Any], places: list[int]) -> Any:
    if isinstance(value, Slot):
        places.append(value.place)
        return fakes[value.place]
    return [_filled(each, fakes, places) for each in value] if isinstance(value, (list, tuple)) else value


def resized(program: Program, shapes: Sequence[tuple[int, ...]]) -> Program:
    """Return the program for blocks of these shapes: a batch has the size of its block."""
    match program:
        case Batch(base, dims, _):
            pairs = list(zip(shapes, dims, strict=True))
            size = next(shape[dim] for shape, dim in pairs if dim is not None)
            inner = [shape if dim is None else (*shape[:dim], *shape[dim + 1 :]) for shape, dim in pairs]
            return Batch(resized(base, inner), dims, size)
        case Tangents(base, count, by, of):
            return Tangents(resized(base, shapes[:count]), count, by, of)
        case Transposed(base, count, by, of):
            return Transposed(resized(base, shapes[:count]), count, by, of)
    return program
