"""Second derivatives of every operator with a formula, against PyTorch's, on a few of its samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from differentiating import (
    DIFFERENT,
    NOT_COMPARED,
    case_names,
    chosen,
    composites,
    inputs_of,
    parted,
    unexpected,
)
from differentiating_twice import Twice, numpy_dtype, size_of
from excuses import Table
from samples import SAMPLES
from sampling import Sample

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, numpy_of, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Samples whose second derivatives differ on purpose, and why.
DIFFERENT_TWICE = Table.of(
    "test_second_derivatives.DIFFERENT_TWICE",
    by_frequency=lambda one: one.args[3:4] == (True,),
    negative_eps=lambda one: len(one.args) > 1 and (one.args[1] or 0) < 0,
    at_0=lambda one: bool((one.args[0] == 0).any()),
)
TABLES = DIFFERENT, DIFFERENT_TWICE
# Operators that have no second derivative to compare, and why.
CONSTANT = "its gradient is constant"
NOT_COMPARED_TWICE = {
    "_scaled_dot_product_flash_attention_for_cpu": "PyTorch has none",
    **dict.fromkeys(["_cdist_forward", "multi_margin_loss", "multilabel_margin_loss_forward"], "PyTorch has none"),
    **dict.fromkeys(["_ctc_loss", "_embedding_bag", "_pdist_forward"], "PyTorch has none"),
    **dict.fromkeys(["cholesky_inverse", "cholesky_solve"], "PyTorch's first has another triangle"),
    "as_strided_scatter": "PyTorch's first differs",
    **dict.fromkeys(["ceil", "floor", "round", "round.decimals", "sign", "trunc", "zero", "fill.Scalar"], CONSTANT),
    **dict.fromkeys(["cauchy", "exponential", "log_normal", "random", "random.to", "uniform"], CONSTANT),
}

MAX_ELEMENTS = 200
SAMPLES_OF_EACH = 4


def ordered(found: list[Sample]) -> list[Sample]:
    """The samples of an operator: some of each kind first, large ones last."""
    step = max(1, len(found) // SAMPLES_OF_EACH)
    spread = [*found[::step], *(one for number, one in enumerate(found) if number % step)]
    return sorted(spread, key=lambda one: size_of(one) > MAX_ELEMENTS or not size_of(one))


def array_of(tensor: Any) -> np.ndarray:
    return numpy_of(tensor) if isinstance(tensor, torch.Tensor) else np.asarray(tensor.array)


def problems(name: str, sample: Sample) -> Iterator[str | None]:
    """What differs in each second derivative; None where nothing does."""
    try:
        theirs = Twice(torch, lambda value: to_torch(copied(value)), name, sample)
        their_first = theirs.gradients(3)
        their_second = theirs.second(their_first, 5)
    except Exception:
        return  # an error, or PyTorch has no second derivative
    ours = Twice(opwright, lambda value: to_opwright(copied(value)), name, sample)
    for mine, yours in zip(ours.results, theirs.results, strict=True):
        if not np.allclose(mine.array, numpy_of(yours.detach()), equal_nan=True):
            return  # another of several results, such as eigenvectors of another sign
    our_first = ours.gradients(3)
    our_second = ours.second(our_first, 5)
    sources = theirs.leaves | theirs.cotangents
    for order, wanted, found in (("first", their_first, our_first), ("second", their_second, our_second)):
        for key, right in wanted.items():
            yield difference(f"{sample}: the {order} by {key}", found.get(key), right, sources[key])


def difference(what: str, ours: Any, theirs: Any, source: Any) -> str | None:
    """What makes a derivative another than PyTorch's; none is one of zeros."""
    like = np.zeros(tuple(source.shape), numpy_dtype(source))
    right = like if theirs is None else theirs.resolve_conj().resolve_neg().numpy(force=True)
    left = like if ours is None else ours.detach().array
    scale = np.abs(right[np.isfinite(right)]).max(initial=1.0)
    right = np.where(np.isnan(right), left, right)  # where PyTorch has no number, ours may be one
    same = left.shape == right.shape and np.allclose(left, right, rtol=1e-7, atol=2e-9 * scale, equal_nan=True)
    return None if same else f"{what} is {left.tolist()!r:.200}, not {right.tolist()!r:.200}"


def cases() -> list[str]:
    """Operators with a gradient that is to be differentiated."""
    return [name for name in case_names() if name not in NOT_COMPARED | NOT_COMPARED_TWICE and inputs_of(name)]


def problems_of(name: str, samples: list[Sample]) -> Iterator[list[str | None]]:
    """What differs in each sample, but for what tables excuse; an empty list where nothing was compared."""
    return (unexpected(problems(name, one), name, one, *TABLES) for one in samples)


def compare(name: str) -> int:
    """Fail if one of the operator's samples has other derivatives; how many were compared."""
    tried = [
        problem
        for samples in parted(chosen(name), name, *TABLES)
        for found in islice(filter(None, problems_of(name, ordered(samples))), SAMPLES_OF_EACH)
        for problem in found
    ]
    found = [problem for problem in tried if problem is not None]
    if found:
        pytest.fail(f"{len(found)} differences of {len(tried)}\n" + "\n".join(found[:4]), pytrace=False)
    return len(tried)


@pytest.mark.parametrize("name", cases())
def test_second_derivatives(name: str) -> None:
    if not compare(name):
        pytest.fail("no sample has a second derivative to compare", pytrace=False)


@pytest.mark.parametrize("name", [name for name in composites() if name in SAMPLES])
def test_composites(name: str) -> None:
    """Also those of them that have no gradient must not have one here."""
    compare(name)
