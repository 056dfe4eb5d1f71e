"""Where a value is infinite or NaN, although no input is, its slope is not finite either, unless PyTorch's is.

A formula that clamps a denominator otherwise than the operator does gives numbers there that mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from declared import of_kind, operators
from known_corners import why_not_tried
from samples import SAMPLES
from sampling import Sample

import opwright
from opwright import func
from opwright_codegen.schema.model import SchemaKind

pytestmark = pytest.mark.filterwarnings("ignore")

NUMBERS = {"Scalar": (0, 1, 3, 7, -1.0, 2.5), "float": (0.0, 1.0, 3.0, -1.0), "int": (0, 1, 2, 3), "SymInt": (0, 1, 3)}
NEWER = ("linalg_matrix_sqrth", "linalg_polar")  # which PyTorch 2.13 has not
NAMES = [
    name
    for name in of_kind(SchemaKind.FUNCTIONAL)
    if name in SAMPLES and why_not_tried(name) is None and name not in NEWER
]
SPREADS = ("var", "std", "var_mean", "std_mean")


@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("dim", [None, 1, (0, 1)])
@pytest.mark.parametrize("excess", [0, 0.5, 1, 4])
def test_without_degrees_of_freedom(name: str, dim: Any, excess: float) -> None:
    x = opwright.tensor([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]], dtype=opwright.float64)
    count = 3 if dim == 1 else 6

    def spread(each: Any) -> Any:
        found = getattr(opwright, name)(each, dim=dim, correction=count + excess)
        return found[0] if isinstance(found, tuple) else found

    assert not opwright.isfinite(spread(x)).any()
    assert not opwright.isfinite(func.grad(lambda each: spread(each).sum())(x)).any()
    assert not opwright.isfinite(func.jvp(spread, (x,), (opwright.ones_like(x),))[1]).any()


@pytest.mark.parametrize("base", [0.0, -2.0])
def test_powers_of_a_base_without_logarithm(base: float) -> None:
    start = opwright.tensor(1.0, dtype=opwright.float64, requires_grad=True)
    (slope,) = opwright.autograd.grad(opwright.logspace(start, 2.5, 4, base=base).sum(), start)
    assert slope.isnan()


def variations(name: str, sample: Sample) -> Iterator[Sample]:
    """Yield the sample, and samples with another number for one of the arguments."""
    yield sample
    schema = operators()[name].schema
    places = [argument.name for argument in schema.positional]
    for argument in schema.arguments:
        for number in NUMBERS.get(str(argument.type).rstrip("?"), ()):
            place = places.index(argument.name) if argument.name in places else len(sample.args)
            if place < len(sample.args):
                yield Sample((*sample.args[:place], number, *sample.args[place + 1 :]), sample.kwargs)
            else:
                yield Sample(sample.args, sample.kwargs | {argument.name: number})


def finite_slopes(run: Any) -> bool | None:
    """Return whether values that are not finite have a finite gradient; None if all are finite, or nothing records."""
    from corners import array_of

    results = [each for each in run.outputs if each.requires_grad]
    odd = [~np.isfinite(array_of(each)) for each in results]
    if not run.inputs or not any(each.any() for each in odd):
        return None
    vectors = [run.convert(np.asarray(each, array_of(result).dtype)) for each, result in zip(odd, results, strict=True)]
    found = run.library.autograd.grad(results, run.inputs, vectors, allow_unused=True)
    return all(np.isfinite(array_of(each)).all() for each in found if each is not None)


def is_wrong(name: str, sample: Sample) -> bool:
    """Return whether our slope of a value that is not finite is finite, and PyTorch's is not."""
    import torch
    from corners import Run, arrays_of

    if not all(np.isfinite(each).all() for each in arrays_of(sample) if each.dtype.kind in "fc"):
        return False
    try:
        return finite_slopes(Run(opwright, name, sample)) is True and finite_slopes(Run(torch, name, sample)) is False
    except (RuntimeError, NotImplementedError):
        return False  # it has no gradient, or refuses


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_slopes(name: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    from corners import cornered, samples_of

    first = [(one, one.args[0]) for one in samples_of(name) if one.args]
    few = [one for one, each in first if not isinstance(each, np.ndarray) or each.size][:2]
    tried = [each for one in few for drawn in variations(name, one) for each in (drawn, cornered(drawn, "finite", 3))]
    with np.errstate(all="ignore"):
        wrong = [f"{name}{each}" for each in tried if is_wrong(name, each)]
    if wrong:
        pytest.fail(f"{len(wrong)} finite slopes\n" + "\n".join(wrong[:4]), pytrace=False)
