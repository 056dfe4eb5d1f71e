"""Dimension rules by the gate: wrong ones are found, of each kind, and what is missing is proposed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from seeds import numpy_generator

from opwright.dimensions.declared import declared_of
from opwright.dimensions.rule import parse
from opwright.library import custom_op
from opwright_gate.cases import Array, Case
from opwright_gate.properties.sharded import missing_kinds, problem_of
from opwright_gate.sharding_table import main, rows_of
from opwright_gate.subjects import Subject, subjects_of

RANDOM = numpy_generator("sharded")


def subject(name: str) -> Subject:
    (found,) = subjects_of(name)
    return found


def case(*values: Any) -> Case:
    given = [RANDOM.uniform(-3, 3, each) if isinstance(each, tuple) else each for each in values]
    return Case(tuple([Array(each) if isinstance(each, np.ndarray) else each for each in given]))


def judged(name: str, text: str, *values: Any) -> str:
    """The cause that is found for a rule, "" for a right one."""
    found = problem_of(subject(f"aten::{name}"), case(*values), parse(text))
    return "" if found is None else found.cause.removeprefix("sharding-wrong-")


SUM = ("sum.dim_IntList", [(7, 5), [1], False, None])
WINDOWS = ("conv1d", [(2, 3, 9), (4, 3, 3), None, [1], [1]])
PLANTED: list[tuple[str, str, str, Sequence[Any]]] = [
    # right, and wrong, of each kind
    ("a b -> a b", "", "relu", [(7, 5)]),
    ("a b -> a b", "parallel", "cumsum", [(7, 5), 1, None]),
    ("a b, a b -> a b", "", "add.Tensor", [(7, 5), (7, 5), 2]),
    ("a b -> b a", "parallel", "relu", [(5, 5)]),
    ("a b -> a; b sum", "", *SUM),
    ("a b -> a; b sum", "sum", "amax", [(7, 5), [1], False]),
    ("a b -> a; b max", "", "amax", [(7, 5), [1], False]),
    ("a b -> a; b max", "max", *SUM),
    ("a b -> a; b min", "", "amin", [(7, 5), [1], False]),
    ("a b -> a; b min", "min", "amax", [(7, 5), [1], False]),
    ("a b -> a; b again", "", *SUM),
    ("a b -> a; b again", "again", "mean.dim", [(7, 5), [1], False, None]),
    ("a b -> a; b again", "again", "norm.ScalarOpt_dim", [(7, 5), 0.0, [1], False]),
    ("n c s, o c a -> n o s; c sum, s window(1, 1), a whole", "", "conv1d", [(2, 3, 9), (4, 3, 3), None, [1], [1]]),
    (
        "n c s, o c a -> n o s; c sum, s window(0, 1), a whole",
        "window",
        "conv1d",
        [(2, 3, 9), (4, 3, 3), None, [1], [1]],
    ),
    ("m k, k n -> m n; k max", "max", "mm", [(5, 6), (6, 7)]),
    ("m k, k n -> n m; k sum", "parallel", "mm", [(6, 6), (6, 6)]),
]


def filled(name: str, values: Sequence[Any]) -> Sequence[Any]:
    operator = subject(f"aten::{name}").operator
    return [*values, *operator.signature.defaults[len(values) :]]


def test_wrong_rules_of_each_kind_are_found() -> None:
    found = [judged(name, text, *filled(name, values)) for text, _, name, values in PLANTED]
    assert found == [cause for _, cause, _, _ in PLANTED]


@custom_op("sharded::apart", mutates_args=(), meta='gufunc("(n,d),(m,d)->(n,m)", a, b)')
def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return ((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)


@custom_op("sharded::peak", mutates_args=(), meta="reduce(x, dim, combines=True)")
def peak(x: np.ndarray, dim: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.abs(x).max(dim)


@custom_op("sharded::lagged", mutates_args=(), meta="pointwise(x)")
def lagged(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return x + np.roll(x, 1)


@custom_op("held::whole", mutates_args=(), dims="... n -> ... n; n whole")
def whole(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return np.abs(x)


def test_what_is_whole_without_need_is_proposed() -> None:
    """What is gathered for nothing gives right values, and advice."""
    whole.register_fake(lambda x: x.new_empty(x.shape))
    calls = [case((5, 4)), case((3, 7))]
    assert missing_kinds(subject("held::whole"), calls) == ["n parallel, dimension 1 of the result"]


def test_what_is_missing_is_proposed() -> None:
    """A sum over a dimension that two operands have, although nothing names any."""
    calls = [case((5, 4), (7, 4)), case((9, 6), (8, 6))]
    found = missing_kinds(subject("sharded::apart"), calls)
    assert "b sum with d" in found
    assert {"a parallel, dimension 0 of the result", "c parallel, dimension 1 of the result"} <= {*found}
    assert not any("max" in text or "min" in text for text in found)


def test_the_table() -> None:
    out = io.StringIO()
    assert main(["sharded"], out) == 1
    lines = out.getvalue().splitlines()
    wrong = [line for line in lines if "[sharding-wrong]" in line]
    assert len(wrong) == 1 and "cut at" in wrong[0] and "the parts are not the whole" in wrong[0]
    assert wrong[0] == lines[lines.index(next(line for line in lines if "sharded::lagged" in line)) + 1]
    assert "3 operators:" in lines[-1] and "1 wrong" in lines[-1]
    assert main(["nowhere_at_all"], out) == 2


def test_nearly_all_operators_of_aten_have_a_rule_or_a_reason() -> None:
    functional = [each.operator for each in subjects_of("aten") if not each.operator.signature.written]
    said = [declared_of(each) for each in functional]
    unanswered = [
        one.name
        for one, found in zip(functional, said, strict=True)
        if not (found.sharding or found.reason or found.family is not None)
    ]
    print(f"{len(functional)} operators, {len(unanswered)} without: {unanswered}")
    assert len(functional) > 1000 and len(unanswered) <= 0.01 * len(functional)
    names = ("aten::add.Tensor", "aten::median", "aten::native_layer_norm")
    rows = [row for name in names for row in rows_of([*subjects_of(name)], checks=False)]
    assert [row.is_answered for row in rows] == [True] * 3
    assert [row.counts for row in rows[:2]] == [(2, 0, 0, 0), (0, 0, 0, 2)]
