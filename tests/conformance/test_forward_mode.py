"""Forward mode through the wrappers of every operator: its tangents are PyTorch's, and agree with its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sampling import Sample

import opwright
from opwright.autograd import forward_ad
from opwright_codegen.derivative_model import Differentiability

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, numpy_of, to_opwright  # noqa: E402
from test_derivatives import (  # noqa: E402
    DIFFERENT_TANGENTS,
    NOT_COMPARED,
    Case,
    as_tuple,
    call_named,
    chosen,
    derivatives,
    dual,
    flattened,
    overload,
    tangent_of,
)

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SAMPLES_OF_EACH = 4


def with_formula() -> list[str]:
    """The operators whose differentiable results all have a forward formula."""
    return sorted(
        name.removeprefix("aten::")
        for name, by_key in derivatives().entries.items()
        if (entry := by_key["Default"]).forward and entry.differentiable_outputs
    )


def ours(value: Any, tangent: Any) -> Any:
    """An argument with its tangent."""
    if isinstance(value, list):
        tangents = tangent or [None] * len(value)
        return [ours(*each) for each in zip(value, tangents, strict=True)]
    made = to_opwright(copied(value))
    return made if tangent is None else forward_ad.make_dual(made, to_opwright(tangent))


def tangents_of(results: Any) -> list[Any]:
    return [forward_ad.unpack_dual(each).tangent for each in flattened(as_tuple(results))]


def array(tensor: Any) -> Any:
    return None if tensor is None else np.asarray(tensor.array)


def our_tangents(case: Case, tangents: dict[str, Any]) -> list[Any]:
    with forward_ad.dual_level():
        values = {key: ours(value, tangents.get(key)) for key, value in case.arrays.items()}
        return [array(each) for each in tangents_of(call_named(overload(opwright, case.name), case.schema, values))]


def their_tangents(case: Case, tangents: dict[str, Any]) -> list[Any] | None:
    unpack = torch.autograd.forward_ad.unpack_dual
    with torch.autograd.forward_ad.dual_level():
        duals = {key: dual(case.theirs[key], tangents.get(key)) for key in case.theirs}
        results = flattened(as_tuple(call_named(overload(torch, case.name), case.schema, duals)))
        for mine, theirs in zip(flattened(case.results), results, strict=True):
            if not np.allclose(mine.array, numpy_of(unpack(theirs).primal), equal_nan=True):
                return None  # another of several results
        found = [unpack(each).tangent for each in results]
    return [None if each is None else each.resolve_conj().resolve_neg().numpy(force=True) for each in found]


def choices(entry: Differentiability, tangents: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Tangents of all inputs, and of each alone."""
    given = {key: value for key, value in tangents.items() if value is not None}
    yield given
    if len(given) > 1:
        yield from ({key: value} for key, value in given.items())


def problems(name: str, entry: Differentiability, sample: Sample) -> Iterator[str | None]:
    try:
        case = Case(name, entry, sample)
    except Exception:
        return  # a sample of an error
    for tangents in choices(entry, {key: tangent_of(case.arrays[key]) for key in entry.differentiable_inputs}):
        if not tangents:
            continue
        try:
            wanted = their_tangents(case, tangents)
        except Exception:
            continue  # PyTorch has no formula
        if wanted is None:
            continue
        found = our_tangents(case, tangents)
        for place, (left, right) in enumerate(zip(found, wanted, strict=True)):
            yield difference(left, right, f"{sample}, tangents of {', '.join(tangents)}: of result {place}")


def difference(left: Any, right: Any, where: str) -> str | None:
    if right is None:
        return None if left is None or not left.any() else f"{where}: {left.tolist()!r:.200}, none in PyTorch"
    if left is None:
        return f"{where}: none, in PyTorch {right.tolist()!r:.200}" if right.any() else None
    scale = np.abs(right[np.isfinite(right)]).max(initial=1.0)
    same = left.shape == right.shape and np.allclose(left, right, rtol=1e-9, atol=1e-10 * scale, equal_nan=True)
    return None if same else f"{where}: {left.tolist()!r:.200}, not {right.tolist()!r:.200}"


def samples_of(name: str) -> list[Sample]:
    samples = chosen(name)
    for other, is_different, _ in DIFFERENT_TANGENTS:
        samples = [one for one in samples if other != name or not is_different(one)]
    return samples[:: max(1, len(samples) // SAMPLES_OF_EACH)]


@pytest.mark.parametrize("name", with_formula())
def test_tangents_are_pytorchs(name: str) -> None:
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    found = [problem for sample in samples_of(name) for problem in problems(name, entry, sample)]
    wrong = [problem for problem in found if problem is not None]
    if wrong:
        pytest.fail(f"{len(wrong)} differences\n" + "\n".join(wrong[:6]), pytrace=False)
