"""Operands of several dtypes, for operators of one to three results."""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.testing import samples
from opwright_codegen.cli import main
from opwright_core.plans.plan_cache import PlanCache

OPERANDS = "xyz"
FIRST = [("x",), ("x", "y"), ("y", "z"), ("x", "y", "z")]  # operands of the first result
LATER = [("x", "y"), ("z",), ("x", "y", "z")]  # operands of the others
CASES = [(first, later, count) for first in FIRST for later in LATER for count in (1, 2, 3)]
DTYPES = (np.float64, np.float32, np.int64)


def schema(number: int) -> str:
    first, later, count = CASES[number]
    plans = [first, *[later] * (count - 1)]
    results = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
    rules = [f"pointwise({', '.join(each)})" for each in plans]
    return (
        f"- func: mixed::f{number}(Tensor x, Tensor y, Tensor z, Scalar n=2) -> {results}\n"
        f"  meta: {', '.join(rules)}\n"
        f"  dispatch: {{CPU: {', '.join('1 * ' + ' + '.join(each) for each in plans)!r}}}\n"
        f"  autogen: f{number}.out\n"
    )


NUMBER = """
- func: mixed::number(Tensor x, Scalar n) -> (Tensor, Tensor)
  meta: pointwise(x, n), pointwise(x, n)
  dispatch: {CPU: "x + n, x - n"}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "ops.yaml").write_text("".join(map(schema, range(len(CASES)))) + NUMBER)
    assert main(["generate", str(folder / "ops.yaml"), "-o", str(folder / "mixed_ops")]) == 0
    sys.path.insert(0, str(folder))
    try:
        from mixed_ops import ops  # type: ignore[import-not-found]

        yield ops
    finally:
        sys.path.remove(str(folder))


def arrays(dtypes: tuple[Any, ...]) -> dict[str, Any]:
    return {name: np.arange(1, 4).astype(dtype) for name, dtype in zip(OPERANDS, dtypes, strict=True)}


def is_of_one_category(dtypes: tuple[Any, ...], first: tuple[str, ...], later: tuple[str, ...]) -> bool:
    """Return whether no operand is a float to the first plan and an integer to a later one."""
    found = dict(zip(OPERANDS, [np.dtype(each).kind for each in dtypes], strict=True))
    is_float = "f" in {found[name] for name in first}
    return not is_float or "f" in {found[name] for name in later} or not {*first} & {*later}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_operands_of_several_dtypes(ops: Any, number: int) -> None:
    first, later, count = CASES[number]
    function, plans = getattr(ops, f"f{number}"), [first, *[later] * (count - 1)]
    for dtypes in itertools.product(DTYPES, repeat=3):
        if count > 1 and not is_of_one_category(dtypes, first, later):
            continue
        given = arrays(dtypes)
        for _ in range(2):  # planned, and by the plan that was kept
            found = function(**given)
            for result, names in zip((found,) if count == 1 else found, plans, strict=True):
                tensors = [opwright.from_numpy(given[name]) for name in names]
                assert result.dtype == opwright.Tensor.numpy(sum(tensors[1:], tensors[0])).dtype
                np.testing.assert_array_equal(result, sum(given[name] for name in names))
        outs = [opwright.empty(0, dtype=opwright.float64) for _ in plans]
        written = function(**{name: opwright.from_numpy(each) for name, each in given.items()}, **into(outs))
        for result, names in zip((written,) if count == 1 else written, plans, strict=True):
            np.testing.assert_array_equal(result.numpy(), sum(given[name] for name in names))


def into(outs: list[Any]) -> dict[str, Any]:
    return {"out": outs[0] if len(outs) == 1 else tuple(outs)}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_arrays_that_were_pickled(ops: Any, number: int) -> None:
    """NumPy gives such an array a new dtype object, which is equal to the known one and not identical: the rule
    says that it is cast. So arrays come to Dask's worker processes."""
    function, given = getattr(ops, f"f{number}"), arrays((np.float64,) * 3)
    expected = function(**given)
    for names in [("x",), ("y",), ("y", "z"), ("x", "z")]:
        sent = {name: pickle.loads(pickle.dumps(each)) if name in names else each for name, each in given.items()}
        np.testing.assert_array_equal(function(**sent), expected)


@pytest.mark.parametrize("n", [2, 2.5, 0.0, True])
def test_a_number_and_several_results(ops: Any, n: Any) -> None:
    x = np.arange(3.0)
    for _ in range(2):
        np.testing.assert_array_equal(ops.number(x, n), (x + n, x - n))


def test_what_is_drawn_mixes_dtypes(ops: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a call whose operands would be right in one dtype is a finding: such a call is drawn."""
    plain = PlanCache.fill

    def fill(cache: PlanCache, key: Any, plan: Any, *operands: Any, **options: Any) -> Any:
        if len({each.dtype for each in operands}) > 1:
            raise ValueError("zip() argument 2 is longer than argument 1")
        return plain(cache, key, plan, *operands, **options)

    monkeypatch.setattr(PlanCache, "fill", fill)
    drawn = list(samples(f"mixed::f{CASES.index((('x', 'y', 'z'), ('x', 'y', 'z'), 2))}", dtypes=[opwright.float64]))
    assert any(len({each.dtype for each in sample.args[:3]}) > 1 for sample in drawn)
