"""Forward mode through the wrappers of every operator: its tangents are PyTorch's, and agree with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
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
    parted,
    unexpected,
    unfiltered,
)
from differentiating_twice import size_of
from known_versions import OLDER
from sampling import COMPLEX128, Sample, make

import opwright
from opwright.autograd import forward_ad
from opwright_codegen.derivatives.derivative import Differentiability

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from differentiating_once import DIFFERENT_TANGENTS, Case, dual, tangent_of  # noqa: E402
from oracle import copied, numpy_of, to_opwright  # noqa: E402
from test_gradients import our_gradients  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

TABLES = DIFFERENT, DIFFERENT_TANGENTS
SAMPLES_OF_EACH = 4
MAX_ELEMENTS = 1000
# Operators whose tangents are not compared with PyTorch's, and why.
NONE_THERE = "PyTorch has no forward formula"
NO_TANGENTS = {
    **dict.fromkeys(["_cdist_forward", "_euclidean_dist", "index_reduce", "multi_margin_loss"], NONE_THERE),
    **dict.fromkeys(["multilabel_margin_loss_forward", "special_zeta", "special_zeta.self_scalar"], NONE_THERE),
    **dict.fromkeys(
        ["grid_sampler_2d", "grid_sampler_3d", "_pdist_forward", "_ctc_loss", "_embedding_bag"], NONE_THERE
    ),
    **dict.fromkeys(["igamma", "igammac", "ormqr"], NONE_THERE),
    "_scaled_dot_product_flash_attention_for_cpu": NONE_THERE,
    **dict.fromkeys(["huber_loss_backward", "masked_scatter_backward", "native_dropout_backward"], NONE_THERE),
    **dict.fromkeys(["soft_margin_loss_backward", "nll_loss_backward", "nll_loss2d_backward"], NONE_THERE),
    "conj_physical_": "compared as _conj_physical",
    "lift_fresh": "PyTorch fails an assertion of its own",
}
# Operators whose tangents are not compared with their gradients, and why.
NO_PRODUCT = {
    **dict.fromkeys(["native_dropout", "rrelu_with_noise_functional"], "what it draws differs from call to call"),
    **dict.fromkeys(
        [f"{kind}_norm_backward" for kind in ("native_layer", "native_batch", "batch", "native_group")],
        "gradients take the mean that is given, tangents the input's own, as PyTorch's; gradcheck has one mean",
    ),
    "conj_physical_": "compared as _conj_physical",
}
# Samples at which tangents and gradients are not each other's transpose, and why.
ONE_OF_SEVERAL = "of several values for one place any may be kept"
NOT_TRANSPOSED: list[tuple[tuple[str, ...], Callable[[Sample], bool], str]] = [
    (("embedding",), lambda one: one.args[3:4] == (True,), "the gradient is divided by the frequency, by intent"),
    (("index_copy", "scatter.src"), lambda one: repeats(one.args[2]), ONE_OF_SEVERAL),
    (("index_put",), lambda one: any(map(repeats, one.args[1])) and one.args[3:] != (True,), ONE_OF_SEVERAL),
    (("_linalg_svd",), lambda one: one.args[0].dtype == COMPLEX128, "phases are free: no function may depend on them"),
    (
        ("_linalg_eigh",),
        lambda one: one.args[2:] == (False,),
        "without eigenvectors there are no derivatives, as in PyTorch",
    ),
]


def repeats(index: Any) -> bool:
    """Whether an index may name a place twice."""
    return index is not None and (np.unique(index).size < index.size or index.min(initial=0) < 0)


def with_formula() -> list[str]:
    """The operators whose differentiable results all have a forward formula."""
    found = {name: derivatives().entries[f"aten::{name}"]["Default"] for name in case_names()}
    return [name for name, entry in found.items() if entry.forward and entry.differentiable_outputs]


def spread(samples: list[Sample]) -> list[Sample]:
    """The samples in another order: first some of all kinds."""
    step = max(1, len(samples) // SAMPLES_OF_EACH)
    return [one for start in range(step) for one in samples[start::step]]


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


def of_first(tried: Iterator[list[str | None]]) -> list[str | None]:
    """What the first samples give of which something was compared."""
    return [each for problems in islice(filter(None, tried), SAMPLES_OF_EACH) for each in problems]


def report(found: list[str | None]) -> None:
    """Fail for what differs, and where nothing was compared."""
    wrong = [problem for problem in found if problem is not None]
    if wrong:
        pytest.fail(f"{len(wrong)} differences of {len(found)}\n" + "\n".join(wrong[:6]), pytrace=False)
    if not found:
        pytest.fail("nothing was compared", pytrace=False)


@pytest.mark.parametrize("name", [name for name in with_formula() if name not in NOT_COMPARED | NO_TANGENTS])
def test_tangents_are_pytorchs(name: str) -> None:
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    found = [
        problem
        for samples in parted(chosen(name), name, *TABLES)
        for problem in of_first(unexpected(problems(name, entry, one), name, one, *TABLES) for one in spread(samples))
    ]
    report(found)


# -- beside our own gradients


def product(tangents: Any, cotangents: Any) -> float:
    """The real inner product of vectors given in parts, any of which may be None, which stands for zeros."""
    pairs = zip(tangents, cotangents, strict=True)
    return float(sum(np.vdot(left, right).real for left, right in pairs if left is not None and right is not None))


def flat_leaves(case: Case, tangents: dict[str, Any]) -> list[tuple[tuple[str, int], Any]]:
    """The tangents by leaf."""
    return [
        ((key, number), part)
        for key, value in tangents.items()
        for number, part in enumerate(value if isinstance(value, list) else [value])
        if (key, number) in case.leaves
    ]


def product_problems(name: str, entry: Differentiability, sample: Sample) -> Iterator[str | None]:
    """Where <v, J u> by the tangents is another than <J* v, u> by the gradients."""
    try:
        case = Case(name, entry, sample)
    except Exception:
        return  # a sample of an error
    given = {key: tangent_of(case.arrays[key]) for key in entry.differentiable_inputs}
    if name in ("linalg_cholesky_ex", "_linalg_eigh"):  # which take matrices for Hermitian
        given = {key: value + np.conj(np.swapaxes(value, -1, -2)) for key, value in given.items() if value is not None}
    parts = flat_leaves(case, {key: value for key, value in given.items() if value is not None})
    if not parts:
        return
    moved = our_tangents(case, {key: value for key, value in given.items() if value is not None})
    vectors = {number: make(each.shape, each.dtype, seed=3) for number, each in enumerate(moved) if each is not None}
    gradients = our_gradients(case, vectors)
    left = product([moved[number] for number in vectors], list(vectors.values()))
    right = product([part for _, part in parts], [array(gradients.get(leaf)) for leaf, _ in parts])
    close = (
        1e-5 if any(each.dtype.itemsize // (1 + (each.dtype.kind == "c")) == 4 for each in vectors.values()) else 1e-9
    )
    scale = max((np.abs(each).max(initial=1.0) for each in vectors.values()), default=1.0)
    same = np.isnan([left, right]).any() or np.isclose(left, right, rtol=close, atol=close * scale)
    yield None if same else f"{sample}: {left!r} by tangents, {right!r} by gradients"


@pytest.mark.parametrize("name", [name for name in with_formula() if name not in NO_PRODUCT])
def test_tangents_agree_with_gradients(name: str) -> None:
    """At samples as they are, whatever their strides and sizes (test_gradcheck_operators: at well-behaved ones)."""
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    samples = [one for one in spread(unfiltered(name)) if size_of(one) <= MAX_ELEMENTS]
    for names, is_different, _ in NOT_TRANSPOSED:
        samples = [one for one in samples if name not in names or not is_different(one)]
    report(of_first(list(product_problems(name, entry, sample)) for sample in samples))


@pytest.mark.parametrize("bounds", ["low", "high", "both"])
def test_tangents_of_clamp_at_ties_and_nan(bounds: str) -> None:
    """Of every combination of numbers, which of the three gives its tangent."""
    values = [-1.0, 0.0, 1.0, np.nan, np.inf, -np.inf]
    numbers = np.array(np.meshgrid(values, values, values)).reshape(3, -1)

    def tangent(library: Any) -> Any:
        ad = library.autograd.forward_ad
        with ad.dual_level():
            duals = [
                ad.make_dual(library.tensor(each.tolist()), library.full([len(each)], float(number)))
                for number, each in enumerate(numbers, 1)
            ]
            low = None if bounds == "high" else duals[1]
            high = None if bounds == "low" else duals[2]
            return ad.unpack_dual(library.clamp(duals[0], low, high)).tangent.tolist()

    assert tangent(opwright) == tangent(torch) or OLDER.covers("clamp.Tensor", "tangents")
