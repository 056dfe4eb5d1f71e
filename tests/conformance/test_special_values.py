"""Every pointwise operator and reduction at each combination of special values (NaN, both infinities and zeros, ties,
numbers without a leading bit, huge ones): each gradient and tangent beside PyTorch's, element by element.

A formula is taken from a release of PyTorch only if it passes. docs/differences.yaml lists the differences that stay,
known_versions.py those of other versions; both are asked for each element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from declared import of_kind, operators
from samples import SAMPLES
from sampling import FLOAT64, Sample

import opwright
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from corners import Run, array_of, is_expected, tensors_among  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

NAN, INF = np.nan, np.inf
POINTS = (NAN, INF, -INF, 0.0, -0.0, 5e-324, -1e-310, 0.5, 1.0, -1.0, 2.0, -3.0, 1e300)
FEW_POINTS = (NAN, INF, -INF, 0.0, -0.0, 1.0, -2.0)  # of three operands
ROWS = np.array(list(itertools.product((NAN, INF, -INF, 0.0, -0.0, 5e-324, 1.0, -2.0, 1e200), repeat=3)))
POINTWISE = [
    name for name in of_kind(SchemaKind.FUNCTIONAL) if "pointwise" in operators()[name].tags and name in SAMPLES
]
ORDERS = (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1)
DEVIATIONS = [Sample((ROWS,), {"dim": [1], "correction": correction}) for correction in (0, 1, 3, 4)]
REDUCTIONS: dict[str, list[Sample]] = {
    **{
        name: [Sample((ROWS, dim), {})]
        for names, dim in (
            ("amax amin max.dim min.dim prod.dim_int median.dim nanmedian.dim mode sort", 1),
            ("cumsum cumprod cummax cummin logcumsumexp softmax.int log_softmax.int", 1),
            ("sum.dim_IntList nansum mean.dim nanmean logsumexp", [1]),
        )
        for name in names.split()
    },
    **{name: [Sample((ROWS, p, [1]), {}) for p in ORDERS] for name in ("linalg_vector_norm", "norm.ScalarOpt_dim")},
    **{f"{name}.correction": DEVIATIONS for name in ("var", "std", "var_mean", "std_mean")},
    "aminmax": [Sample((ROWS,), {"dim": 1})],
    "kthvalue": [Sample((ROWS, 2, 1), {})],
    "topk": [Sample((ROWS, 2, 1), {})],
    "renorm": [Sample((ROWS, p, 0, 1.0), {}) for p in (1, 2, INF)],
    "native_layer_norm": [Sample((ROWS, [3], None, None, eps), {}) for eps in (1e-5, 0.0)],
}


def calls(name: str) -> list[Sample]:
    """Return samples that differ in other arguments than tensors, with all combinations of special values."""
    found: dict[str, Sample] = {}
    for one in SAMPLES[name]():
        arrays = [each for each in one.args if isinstance(each, np.ndarray)]
        if all(each.dtype.kind == "f" for each in arrays) and not _holds_arrays([*one.kwargs.values()]):
            numbers = [each for each in one.args if not isinstance(each, np.ndarray)]
            if not _holds_arrays(numbers):
                found.setdefault(f"{len(arrays)} {numbers} {one.kwargs}", one)
    return [special(one) for one in [*found.values()][:3]]


def _holds_arrays(values: list[Any]) -> bool:
    return any(isinstance(each, np.ndarray | list | tuple) for each in values)


def special(sample: Sample) -> Sample:
    """The sample with a vector of special values for each operand, which together have all combinations."""
    count = sum(isinstance(each, np.ndarray) for each in sample.args)
    combinations = itertools.product(POINTS if count < 3 else FEW_POINTS, repeat=count)
    columns = iter(np.array(list(combinations), FLOAT64).T.copy())
    return Sample(tuple(next(columns) if isinstance(each, np.ndarray) else each for each in sample.args), sample.kwargs)


def element(sample: Sample, position: int) -> Sample:
    """The sample of one combination."""
    place = slice(position, position + 1)
    return Sample(tuple(each[place] if isinstance(each, np.ndarray) else each for each in sample.args), sample.kwargs)


def slopes(run: Run, wanted: list[bool]) -> Iterator[tuple[str, np.ndarray | None]]:
    """Yield the gradient of each result that records in PyTorch for each input, and the tangents along each input."""
    for place, result in enumerate(run.outputs):
        if wanted[place]:
            one = run.convert(np.ones(tuple(result.shape)))
            found = run.library.autograd.grad(result, run.inputs, one, retain_graph=True, allow_unused=True)
            for number, each in enumerate(found):
                yield f"gradient {number} of {place}", None if each is None else array_of(each)
    ad = run.library.autograd.forward_ad
    for chosen in range(len(run.inputs)):
        numbers = itertools.count()
        with ad.dual_level():

            def leaf(value: Any, chosen: int = chosen, numbers: Iterator[int] = numbers) -> Any:
                found = run.convert(value)
                if not isinstance(value, np.ndarray) or next(numbers) != chosen:
                    return found
                return ad.make_dual(found, run.convert(np.ones_like(value)))

            results = run.called(leaf)
            if isinstance(results, Exception):
                return
            for place, each in enumerate(tensors_among(results)):
                tangent = ad.unpack_dual(each).tangent if wanted[place] else None
                yield f"tangent {place} of {chosen}", None if tangent is None else array_of(tangent)


def problems(name: str, sample: Sample, tolerance: float) -> Iterator[str]:
    """Yield each difference of a single combination that no table lists."""
    ours, theirs = Run(opwright, name, sample), Run(torch, name, sample)
    if isinstance(theirs.results, Exception) or isinstance(ours.results, Exception):
        return
    wanted = [each.requires_grad for each in theirs.outputs]
    try:
        expected = dict(slopes(theirs, wanted))
    except (RuntimeError, NotImplementedError):
        return  # PyTorch has none
    for what, mine in slopes(ours, wanted) if any(wanted) else ():
        right = expected.get(what)
        if mine is None and right is None:
            continue
        mine, right = (
            np.zeros_like(right if mine is None else mine) if each is None else each for each in (mine, right)
        )
        close = np.isclose(mine, right, rtol=1e-9, atol=tolerance, equal_nan=True)
        for position in np.flatnonzero(~close.reshape(len(close), -1).all(axis=1)):
            told = f"{what.rpartition(' of ')[0]}: values {mine[position]} not {right[position]}"
            one = element(sample, position)
            if not is_expected(name, one, told):
                yield f"{name}{[each.tolist() if isinstance(each, np.ndarray) else each for each in one.args]}: {told}"


def fail_for(found: list[str]) -> None:
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:8]), pytrace=False)


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name: str) -> None:
    with np.errstate(all="ignore"):
        fail_for([each for one in calls(name) for each in problems(name, one, 1e-300)])


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    with np.errstate(all="ignore"):
        fail_for([each for one in REDUCTIONS[name] for each in problems(name, one, 1e-12)])
