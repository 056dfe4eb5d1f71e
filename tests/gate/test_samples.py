"""Calls that the gate draws: repaired by what errors demand, derived from examples, with gradients as declared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import opwright
from opwright.library import Library
from opwright_core.arrays.dtypes import float32, float64
from opwright_gate import example
from opwright_gate.cases import Array, Case
from opwright_gate.repairing import repaired
from opwright_gate.samples import Samples
from opwright_gate.subjects import subjects_of


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("sampled", "DEF")
    yield library
    library._destroy()


def samples_of(lib: Library, schema: str, kernel: object) -> Samples:
    name = lib.define(schema)
    lib.impl(name, kernel, "CompositeExplicitAutograd")
    return Samples(next(subjects_of(f"sampled::{name}")))


def test_errors_that_say_what_would_be_right_are_heeded(lib: Library) -> None:
    def kernel(x: opwright.Tensor, weight: opwright.Tensor, mean: opwright.Tensor) -> opwright.Tensor:
        if x.dim() != 5:
            raise ValueError(f"x must have 5 dimensions, got {x.dim()}")
        if weight.shape != x.shape[-2:]:
            raise ValueError(f"weight has to be of shape {tuple(x.shape[-2:])}, but its shape is {weight.shape}")
        if mean.shape != x.shape[:1]:
            raise ValueError(f"mean must have shape {[*x.shape[:1]]}, got {[*mean.shape]}")
        return x * 2

    found = samples_of(lib, "f(Tensor x, Tensor weight, Tensor mean) -> Tensor", kernel)
    assert found.first is not None
    shapes = [each.values.shape for each in found.first.arrays]
    assert len(shapes[0]) == 5 and shapes[1] == shapes[0][-2:] and shapes[2] == shapes[0][:1]


def test_what_is_no_demand_repairs_nothing() -> None:
    case = Case((Array(np.ones((2, 3))), 2))
    for said in ("x is wrong", "y must be of shape (3)", "by must have shape (2)", "x must have shape [2, 3]"):
        assert repaired(case, ValueError(said), ["x", "by"], 0) is None
    better = repaired(case, ValueError("x must be of shape (4, 1)"), ["x", "by"], 0)
    assert better is not None and better.arrays[0].values.shape == (4, 1) and better.values[1] == 2
    assert case.arrays[0].values.shape == (2, 3)


def test_calls_are_derived_from_examples(lib: Library) -> None:
    def kernel(x: opwright.Tensor, table: opwright.Tensor, key: str) -> opwright.Tensor:
        if x.shape != (4, 6) or table.dtype != opwright.int64 or key != "spam":
            raise ValueError("no")
        return x * 2

    schema = "g(Tensor x, Tensor table, str key) -> Tensor"
    assert not samples_of(lib, schema, kernel).bases
    example("sampled::g", np.ones((4, 6)), np.arange(3), key="spam")
    found = Samples(next(subjects_of("sampled::g"))).bases
    assert {float32, float64} <= set(found) and found[float32].values[2] == "spam"
    assert found[float32].arrays[0].values.dtype == float32 and found[float32].arrays[1].values.dtype == np.int64
