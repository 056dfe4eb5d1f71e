"""Gradients of every differentiable operator through the wrappers that record it, against PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from declared import functional_of, of_kind, operators
from differentiating import (
    DIFFERENT,
    NOT_COMPARED,
    as_tuple,
    call_named,
    case_names,
    chosen,
    derivatives,
    flattened,
    overload,
    tensors_of,
    unexpected,
)
from sampling import Sample, make

import opwright
from opwright_codegen.derivatives.derivative import Differentiability
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from differentiating_once import Case  # noqa: E402
from oracle import copied, numpy_of, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# In-place variants that are not compared, and why.
NOT_WRITTEN = {
    **dict.fromkeys(["gcd_", "lcm_", "bitwise_not_"], "of integers alone"),
    **dict.fromkeys(
        [f"bitwise_{word}_.{kind}" for word in ("and", "or", "xor") for kind in ("Tensor", "Scalar")],
        "of integers alone",
    ),
    **dict.fromkeys(
        [f"bitwise_{side}_shift_.{kind}" for side in ("left", "right") for kind in ("Tensor", "Tensor_Scalar")],
        "of integers alone",
    ),
    **dict.fromkeys(
        [f"__i{side}shift__.{kind}" for side in "lr" for kind in ("Tensor", "Scalar")], "of integers alone"
    ),
    **dict.fromkeys(
        ["logical_not_", "logical_and_", "logical_or_", "logical_xor_"], "PyTorch lets the gradient of self through"
    ),
    **dict.fromkeys(["floor_divide_.Tensor", "floor_divide_.Scalar"], "PyTorch has no gradient for it"),
    **dict.fromkeys(["heaviside_", "asinh_", "acosh_", "atanh_"], "PyTorch has no gradient for it"),
    "detach_": "it has no history",
    "rrelu_with_noise_": "its noise is drawn",
    "silu_": "PyTorch refuses to differentiate complex numbers, and in place forgets to conjugate",
}


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
        yield difference(f"{sample}: gradient of {key}", ours.get(key), expected.get(key), numpy_of(leaf.detach()))


def recorded_as(name: str) -> str:
    """The functional operator whose samples serve an in-place variant, and whose entry says what is differentiable."""
    return "_conj_physical" if name == "conj_physical_" else functional_of(name)


def is_compared(name: str) -> bool:
    """Whether an in-place operator's gradients are compared: those of drawn numbers are, they are zero."""
    return recorded_as(name) not in NOT_COMPARED or "nondeterministic_seeded" in operators()[name].tags


def inplace_names() -> list[str]:
    """In-place variants of operators with an entry, or with one themselves."""
    entries = derivatives().entries
    names = [name for name in of_kind(SchemaKind.INPLACE) if name not in NOT_WRITTEN and is_compared(name)]
    return [name for name in names if {f"aten::{name}", f"aten::{recorded_as(name)}"} & entries.keys()]


def gradients_of_write(
    root: Any, name: str, values: dict[str, Any], leaves: dict[tuple[str, int], Any], is_view: bool
) -> list[Any]:
    """What a tensor made of the argument `self` holds after a write to it, or to a view of it, and what leaves get."""
    schema = operators()[name].schema
    own = schema.self_argument.name
    if is_view:
        base = root.stack([values[own], values[own]])
        target = base.transpose(0, -1).select(-1, 1) if values[own].ndim < 2 else base.select(0, 1)
    else:
        base = target = values[own].clone()
    call_named(overload(root, name), schema, values | {own: target})
    cotangent = make(tuple(base.shape), numpy_of(base.detach()).dtype, seed=3)
    given = to_torch(cotangent) if root is torch else to_opwright(cotangent)
    found = root.autograd.grad(base, list(leaves.values()), given, allow_unused=True)
    return [base.detach(), *found]


def inplace_problems(name: str, entry: Differentiability, sample: Sample, is_view: bool) -> Iterator[str | None]:
    own = operators()[name].schema.self_argument.name
    try:
        case = Case(recorded_as(name), entry, sample)
        if case.theirs[own].is_floating_point() or case.theirs[own].is_complex():
            case.leaves[own, 0] = case.theirs[own].requires_grad_()
        call_named(overload(opwright, name), operators()[name].schema, case.mine)  # written without being recorded
        wanted = gradients_of_write(torch, name, case.theirs, case.leaves, is_view)
    except Exception:
        return
    values = {key: to_opwright(copied(value)) for key, value in case.arrays.items()}
    leaves = {(key, number): tensors_of(values[key])[number].requires_grad_() for key, number in case.leaves}
    found = gradients_of_write(opwright, name, values, leaves, is_view)
    is_drawn = "nondeterministic_seeded" in operators()[name].tags
    for key, ours, theirs in zip(["the value", *leaves], found, wanted, strict=True):
        if is_drawn and key == "the value":
            continue
        like = theirs if key == "the value" else case.leaves[key].detach()
        yield difference(f"{sample}: {key}", ours, theirs, numpy_of(like))


def difference(where: str, ours: Any, theirs: Any, like: np.ndarray) -> str | None:
    """How a gradient differs from PyTorch's, or None. Where PyTorch's is not finite ours need only be that, too."""
    wanted = np.zeros_like(like) if theirs is None else theirs.resolve_conj().resolve_neg().numpy(force=True)
    got = np.zeros_like(like) if ours is None else ours.array
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{where} {got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    is_finite = np.isfinite(wanted)
    scale = np.abs(wanted[is_finite]).max(initial=1.0)
    close = np.isclose(got, wanted, rtol=1e-9, atol=1e-10 * scale, equal_nan=True)
    if (close | ~(is_finite | np.isfinite(got))).all():
        return None
    return f"{where} {got.tolist()!r:.200}, not {wanted.tolist()!r:.200}"


@pytest.mark.parametrize("is_view", [False, True], ids=["whole", "view"])
@pytest.mark.parametrize("name", inplace_names())
def test_inplace_gradients(name: str, is_view: bool) -> None:
    functional = recorded_as(name)
    entry = derivatives().find(f"aten::{functional}")
    assert entry is not None
    tried = [
        each
        for sample in chosen(functional)
        for each in unexpected(inplace_problems(name, entry, sample, is_view), functional, sample, DIFFERENT)
    ]
    found = [each for each in tried if each is not None]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:6]), pytrace=False)
    # What is written to has to have a gradient.
    if not tried and any(each.reason is None and "self" in each.inputs for each in entry.derivatives):
        pytest.fail("nothing compared", pytrace=False)


@pytest.mark.parametrize("name", [name for name in case_names() if name not in NOT_COMPARED])
def test_gradients(name: str) -> None:
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    tried = [
        each for sample in chosen(name) for each in unexpected(problems(name, entry, sample), name, sample, DIFFERENT)
    ]
    found = [each for each in tried if each is not None]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:6]), pytrace=False)
    if not tried and any(derivative.reason is None for derivative in entry.derivatives):
        pytest.fail("nothing compared", pytrace=False)
