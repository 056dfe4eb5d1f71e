"""Gradients of every differentiable operator through the wrappers that record it, against PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from differentiating import (
    NOT_COMPARED,
    as_tuple,
    call_named,
    case_names,
    chosen,
    derivatives,
    flattened,
    overload,
    tensors_of,
)
from sampling import Sample, make

import opwright
from opwright_codegen.derivative_model import Differentiability

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, numpy_of, to_opwright  # noqa: E402
from test_derivatives import Case  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def our_gradients(case: Case, cotangents: dict[int, np.ndarray]) -> dict[tuple[str, int], Any]:
    values = {key: to_opwright(copied(value)) for key, value in case.arrays.items()}
    leaves = {(key, number): tensors_of(values[key])[number].requires_grad_() for key, number in case.leaves}
    results = flattened(as_tuple(call_named(overload(opwright, case.name), case.schema, values)))
    chosen = [(number, results[number]) for number in cotangents if results[number].requires_grad]
    if not chosen:
        return {}
    given = [opwright.from_numpy(cotangents[number].copy()) for number, _ in chosen]
    found = opwright.autograd.grad([r for _, r in chosen], list(leaves.values()), given, allow_unused=True)
    return dict(zip(leaves, found, strict=True))


def problems(name: str, entry: Differentiability, sample: Sample) -> Iterator[str | None]:
    try:
        case = Case(name, entry, sample)
    except Exception:
        return  # a sample of an error
    flat = flattened(case.results)
    places = [place for place, result in enumerate(case.results) for _ in flattened((result,))]
    cotangents = {
        number: make(tuple(part.shape), part.array.dtype, seed=3)
        for number, (place, part) in enumerate(zip(places, flat, strict=True))
        if place in entry.differentiable_outputs and part.array.dtype.kind in "fc"
    }
    try:
        expected = case.their_gradients(cotangents)
    except Exception:
        return
    ours = our_gradients(case, cotangents)
    for key, leaf in case.leaves.items():
        like = numpy_of(leaf)
        theirs = expected.get(key)
        wanted = np.zeros_like(like) if theirs is None else theirs.resolve_conj().numpy(force=True)
        gradient = ours.get(key)
        got = np.zeros_like(like) if gradient is None else gradient.array
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
        is_same = got.shape == wanted.shape and got.dtype == wanted.dtype
        is_same = is_same and np.allclose(got, wanted, rtol=1e-9, atol=1e-10 * scale, equal_nan=True)
        yield None if is_same else f"{sample}: gradient of {key} {got.tolist()!r:.200}, not {wanted.tolist()!r:.200}"


@pytest.mark.parametrize("name", case_names())
def test_gradients(name: str) -> None:
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    found = [each for sample in chosen(name) for each in problems(name, entry, sample) if each is not None]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:6]), pytrace=False)
