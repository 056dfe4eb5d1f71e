"""gradcheck and gradgradcheck of every operator that has derivatives, also of those that are made of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from differentiating import (
    as_tuple,
    call_named,
    case_names,
    composites,
    flattened,
    inputs_of,
    leaves,
    named_arguments,
    one_by_one,
    overload,
    schema_of,
    tensors_of,
    unfiltered,
)
from differentiating_twice import size_of
from sampling import COMPLEX128, FLOAT64, Sample, make, sample

import opwright
from opwright.autograd import forward_ad, gradcheck, gradgradcheck

pytestmark = pytest.mark.filterwarnings("ignore")

aten = opwright.ops.aten
MAX_ELEMENTS = 64
MAX_NUMBER = 100.0
# Real ones, and complex ones, of different options where there are some.
SAMPLES_OF_EACH = sweeps.count(1, 4)

# Operators that are not checked, and why.
NOT_CHECKED = {
    **dict.fromkeys(
        ["normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor"],
        "numbers that were drawn count as constants, as in PyTorch",
    ),
    **dict.fromkeys(
        ["special_zeta", "igamma", "igammac", "special_gammainc", "special_gammaincc"],
        "its first argument has no gradient; test_finite_differences has the second",
    ),
    **dict.fromkeys(
        ["_ctc_loss", "_ctc_loss.Tensor", "ctc_loss.IntList", "ctc_loss.Tensor"],
        "the gradient is that of what log_softmax takes, as in PyTorch; test_gradients compares it",
    ),
    **dict.fromkeys(
        ["histogramdd", "histogramdd.int_bins", "histogramdd.TensorList_bins", "linalg_ldl_factor"],
        "its parts have no gradient, as in PyTorch",
    ),
}
# Samples at which there is no derivative, or another than the formula's, and why.
Excuse = Callable[[dict[str, Any]], bool]
NOT_SMOOTH: list[tuple[tuple[str, ...], Excuse, str]] = [
    (
        ("scatter.src", "index_copy", "index_put", "_index_put_impl"),
        lambda given: not given.get("accumulate") and repeats(given.get("index", given.get("indices"))),
        "of several values for one place any may be kept",
    ),
    (
        ("linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float"),
        lambda given: given["atol"] is not None or given["rtol"] is not None,
        "a tolerance cuts singular values, of which the formula is told nothing",
    ),
    (
        ("poisson_nll_loss",),
        lambda given: given["full"],
        "log of negative numbers, which `where` does not take, has a gradient of NaN, as in PyTorch",
    ),
    (
        ("embedding",),
        lambda given: given["padding_idx"] != -1 or given["scale_grad_by_freq"],
        "gradients are to be other than derivatives",
    ),
    (("rrelu_with_noise_functional",), lambda given: given["noise"].dtype.kind != "f", "its noise is cut to integers"),
    (("_linalg_eigh",), lambda given: not given["compute_v"], "it has no gradient without eigenvectors"),
    (("_linalg_svd",), lambda given: not given["compute_uv"], "it has no gradient without singular vectors"),
    (
        ("linalg_qr",),
        lambda given: given["mode"] == "r" or (given["mode"] == "complete" and is_tall(given["A"])),
        "it has no gradient",
    ),
    (("qr",), lambda given: not given["some"] and is_tall(given["self"]), "it has no gradient"),
]


def is_tall(matrix: np.ndarray) -> bool:
    return matrix.shape[-2] > matrix.shape[-1]


def repeats(indices: Any) -> bool:
    """Whether an index may occur twice."""
    arrays = [each for each in leaves([indices]) if isinstance(each, np.ndarray)]
    return any(np.unique(each).size < each.size or each.min(initial=0) < 0 for each in arrays)


def hermitian(matrix: Any) -> Any:
    """Of which both triangles are used, where the operator reads one."""
    return matrix + matrix.mH


def positive(matrix: Any) -> Any:
    return matrix @ matrix.mH + opwright.eye(matrix.shape[-1], dtype=matrix.dtype)


def well_conditioned(matrix: Any) -> Any:
    return matrix + 3 * opwright.eye(matrix.shape[-1], dtype=matrix.dtype)


def hermitian_if_square(matrix: Any) -> Any:
    return hermitian(matrix) if matrix.shape[-1] == matrix.shape[-2] else matrix


# What is done to an argument so that the operator is a smooth function of all of its elements.
PREPARED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "_linalg_eigh": {"A": hermitian},
    **{key: {"self": hermitian} for key in ["linalg_eigh", "linalg_eigvalsh"]},
    **{key: {"self": positive} for key in ["linalg_cholesky_ex", "linalg_cholesky", "cholesky", "linalg_matrix_sqrth"]},
    **{key: {"self": hermitian_if_square} for key in ["linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float"]},
    "cholesky_inverse": {"self": well_conditioned},
    "cholesky_solve": {"input2": well_conditioned},
}


def statistics(x: Any, dims: list[int], eps: float = 1e-3) -> tuple[Any, Any]:
    mean = x.mean(dims, True)
    return mean.detach(), ((x - mean).square().mean(dims, True) + eps).rsqrt().detach()


def of_layers(given: dict[str, Any]) -> dict[str, Any]:
    mean, rstd = statistics(given["input"], list(range(-len(given["normalized_shape"]), 0)))
    return {"mean": mean, "rstd": rstd}


def of_groups(given: dict[str, Any]) -> dict[str, Any]:
    images, group = given["N"], given["group"]
    mean, rstd = statistics(given["input"].reshape(images, group, -1), [2])
    return {"mean": mean.reshape(images, group), "rstd": rstd.reshape(images, group)}


def of_batches(given: dict[str, Any]) -> dict[str, Any]:
    x = given["input"]
    mean, rstd = (each.reshape(-1) for each in statistics(x, [axis for axis in range(x.ndim) if axis != 1]))
    return {"save_mean": mean, "save_invstd" if "save_invstd" in given else "save_var": rstd}


# What backward operators were given that follows another argument: their derivatives are those of both together.
FOLLOWING: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "native_layer_norm_backward": of_layers,
    "native_group_norm_backward": of_groups,
    "native_batch_norm_backward": of_batches,
    "batch_norm_backward": of_batches,
    "log_sigmoid_backward": lambda given: {"buffer": (-given["self"].abs()).exp().detach()},
}


def phaseless(*results: Any) -> tuple[Any, ...]:
    """What does not change with the phases of eigenvectors and singular vectors."""
    return tuple(each.abs() if each.ndim > 1 and each.is_complex() else each for each in results)


def reduced(U: Any, S: Any, Vh: Any) -> tuple[Any, ...]:
    """Of full matrices of singular vectors, those that belong to singular values."""
    return phaseless(U[..., : S.shape[-1]], S, Vh[..., : S.shape[-1], :])


# Results of which only a part, or a function, is determined by the arguments.
DETERMINED: dict[str, Callable[..., tuple[Any, ...]]] = {
    **dict.fromkeys(["_linalg_eigh", "linalg_eigh", "linalg_eig"], phaseless),
    **dict.fromkeys(["_linalg_svd", "linalg_svd"], reduced),
    "svd": lambda U, S, V: reduced(U, S, V.mT),
}
# Operators whose samples are outside of where they have derivatives.
INSIDE = make((2, 3), FLOAT64, low=0, high=1) * 0.8 + 0.1
MORE: dict[str, list[Sample]] = {
    **{key: [sample(INSIDE)] for key in ["erfinv", "special_erfinv", "special_ndtri"]},
    "linalg_pinv": [sample(make((3, 2), FLOAT64), 1e-12), sample(make((3, 3), COMPLEX128), 1e-12)],
    "linalg_pinv.rcond_tensor": [sample(make((3, 2), FLOAT64), np.array(1e-12))],
    "index_put": [sample(make((3, 4), FLOAT64), [np.array([2, 0])], make((2, 4), FLOAT64, seed=1))],
}


def stirred(value: Any, seed: int) -> Any:
    """The argument with its floats moved a little: off kinks and ties, and in memory of their own."""
    if isinstance(value, list):
        return [stirred(each, seed + place) for place, each in enumerate(value)]
    if not isinstance(value, np.ndarray) or value.dtype not in (FLOAT64, COMPLEX128):
        return value
    return np.asarray(value + make(value.shape, value.dtype, seed=seed) * 0.01)


def to_tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [to_tensors(each) for each in value]
    return opwright.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


class Call:
    """An operator as a function of the differentiable arguments of a sample."""

    def __init__(self, name: str, sample: Sample) -> None:
        self.name, self.sample, self.schema = name, sample, schema_of(name)
        self.__qualname__ = f"{name}{sample}"
        self.arguments = named_arguments(self.schema, sample)
        self.values = {
            key: to_tensors(stirred(value, seed)) for seed, (key, value) in enumerate(self.arguments.items())
        }
        found = [tensor for key in inputs_of(name) for tensor in tensors_of(self.values[key])]
        self.inputs = [each.requires_grad_() for each in found if each.is_floating_point() or each.is_complex()]
        self.is_complex = any(each.is_complex() for each in self.inputs)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        replaced = {id(old): new for old, new in zip(self.inputs, inputs, strict=True)}
        prepared = PREPARED.get(self.name, {})

        def current(value: Any) -> Any:
            return [current(each) for each in value] if isinstance(value, list) else replaced.get(id(value), value)

        opwright.manual_seed(0)
        values = {key: prepared.get(key, lambda same: same)(current(value)) for key, value in self.values.items()}
        values |= FOLLOWING.get(self.name, lambda same: {})(values)
        results = flattened(as_tuple(call_named(overload(opwright, self.name), self.schema, values)))
        return DETERMINED.get(self.name, lambda *same: same)(*results)

    def is_suitable(self) -> bool:
        """Whether there is something to differentiate, of ordinary size."""
        if any(self.name in names and is_excused(self.arguments) for names, is_excused, _ in NOT_SMOOTH):
            return False
        numbers = [each.detach().array for each in self.inputs]
        if not any(each.size for each in numbers) or any((np.abs(each) > MAX_NUMBER).any() for each in numbers):
            return False
        try:
            results = [each for each in self(*self.inputs) if each.requires_grad]
        except Exception:
            return False  # a sample of an error
        return bool(results) and all(np.isfinite(each.detach().array).all() for each in results)


def options_of(one: Sample) -> str:
    """What is not an array."""
    values = [*one.args, *one.kwargs.items()]
    return repr([value for value in leaves(values) if not isinstance(value, np.ndarray)])


def ordered(samples: list[Sample]) -> list[Sample]:
    """Small ones first, and the first of each combination of options before others."""
    seen: Counter[str] = Counter()
    ranks = []
    for one in samples:
        seen[options_of(one)] += 1
        ranks.append((size_of(one) > MAX_ELEMENTS, seen[options_of(one)]))
    return [one for _, one in sorted(zip(ranks, samples, strict=True), key=lambda pair: pair[0])]


def calls(name: str) -> Iterator[Call]:
    """A few small calls, real and complex."""
    left = {False: SAMPLES_OF_EACH, True: SAMPLES_OF_EACH}
    for call in (Call(name, one) for one in MORE.get(name) or ordered(unfiltered(name))):
        if left[call.is_complex] and call.is_suitable():
            left[call.is_complex] -= 1
            yield call
        if not any(left.values()):
            return


def is_differentiable(name: str) -> bool:
    """Whether a call has a result of a kind that has derivatives."""
    for one in one_by_one(name):
        try:
            call = Call(name, one)
            results = call(*call.inputs)
        except Exception:
            continue
        if any(each.is_floating_point() or each.is_complex() for each in results if each is not None):
            return True
    return False


def names() -> list[str]:
    return [name for name in (*case_names(), *composites()) if inputs_of(name) and name not in NOT_CHECKED]


@pytest.fixture(autouse=True, scope="module")
def double_precision() -> Iterator[None]:
    """Factories make what finite differences need."""
    before = opwright.get_default_dtype()
    opwright.set_default_dtype(opwright.float64)
    yield
    opwright.set_default_dtype(before)


MADE_OF_OTHERS = frozenset(composites())  # whose second derivatives are those of operators that are checked themselves


@sweeps.over(names())
def test_gradcheck(name: str) -> None:
    checked = 0
    for call in calls(name):
        checked += 1
        gradcheck(call, call.inputs, fast_mode=True, check_batched_grad=True, check_forward_ad=True)
        if sweeps.is_exhaustive or name not in MADE_OF_OTHERS:
            gradgradcheck(call, call.inputs, fast_mode=True, check_batched_grad=True, check_fwd_over_rev=True)
        check_forward_is_reverse(call)
    if not checked and is_differentiable(name):
        pytest.fail("no sample was checked", pytrace=False)


def inner(first: list[Any], second: list[Any]) -> float:
    """Re(conj(a)·b), which gradients of complex numbers are for. None stands for zeros."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return sum(float(np.vdot(a.detach().numpy(), b.detach().numpy()).real) for a, b in pairs)


def check_forward_is_reverse(call: Call) -> None:
    """<v, J u> of both, to the last digits."""
    directions = [to_tensors(make(tuple(each.shape), each.detach().array.dtype, seed=7)) for each in call.inputs]
    results = call(*call.inputs)
    with forward_ad.dual_level():
        duals = call(*[forward_ad.make_dual(x.detach(), u) for x, u in zip(call.inputs, directions, strict=True)])
        tangents = [forward_ad.unpack_dual(each).tangent for each in duals]
    places = [place for place, each in enumerate(results) if each.requires_grad]
    outputs = [results[place] for place in places]
    along = [to_tensors(make(tuple(each.shape), each.detach().array.dtype, seed=5)) for each in outputs]
    gradients = opwright.autograd.grad(outputs, call.inputs, along, allow_unused=True)
    forward, reverse = inner(along, [tangents[place] for place in places]), inner(directions, list(gradients))
    assert forward == pytest.approx(reverse, rel=1e-8, abs=1e-8), call.sample
