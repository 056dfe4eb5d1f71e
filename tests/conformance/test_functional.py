"""`opwright.unique`, `unique_consecutive` and `norm`, whose signatures are no operator's, against PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sampling import FLOAT32, INT64, Sample, describe, make, sample

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, difference, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

ELEMENTS = np.array([[3, 1, 3, 3], [2, 1, 1, 0]])
ROWS = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [1.0, 2.0]])


def uniques() -> Iterator[Sample]:
    for inverse in (False, True):
        for counts in (False, True):
            yield sample(ELEMENTS, return_inverse=inverse, return_counts=counts)
            yield sample(ROWS, return_inverse=inverse, return_counts=counts, dim=0)
    yield sample(ELEMENTS, dim=2)


def norms() -> Iterator[Sample]:
    array = make((2, 3, 4), FLOAT32)
    yield sample(array)
    for p in ("fro", 1, 2, 3.5, float("inf")):
        yield sample(array, p)
        yield sample(array, p, 1)
        yield sample(array, p, [0, 2], True)
        yield sample(array, p=p, dim=-1, dtype=np.dtype("float64"))
    yield sample(array, None, 1)
    yield sample(array, "fro", [0, 1, 2])
    yield sample(array, "other")
    yield sample(make((3,), INT64))


CASES = [
    *(("unique", each) for each in uniques()),
    *(("unique_consecutive", each) for each in uniques()),
    *(("norm", each) for each in norms()),
]


@pytest.mark.parametrize(("name", "one"), CASES, ids=[f"{name}{describe(one.args)}" for name, one in CASES])
def test_function_and_method(name: str, one: Sample) -> None:
    theirs = call(getattr(torch, name), one, to_torch)
    assert difference(call(getattr(opwright, name), one, to_opwright), theirs) is None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    assert difference(call(method, one, to_opwright), theirs) is None


def test_norm_writes_into_out() -> None:
    array, out = make((2, 3), FLOAT32), opwright.empty([3])
    assert opwright.norm(opwright.from_numpy(array), 2, 0, out=out) is out
    assert np.allclose(out.numpy(), np.linalg.norm(array, axis=0))


def test_plain_arrays_in_and_out() -> None:
    elements, inverse = opwright.unique(ELEMENTS, return_inverse=True)
    assert type(elements) is np.ndarray
    assert np.array_equal(elements[inverse], ELEMENTS)
