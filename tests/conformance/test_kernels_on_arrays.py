"""Kernels that go a faster way where they may: the same values as the way that serves everything."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright_kernels.elementwise import division
from opwright_kernels.linalg import elimination, lapack
from opwright_kernels.special_functions import special

FLOATS = ("float32", "float64")


def _matrices(dtype: str, *shape: int) -> Any:
    rng = seeds.numpy_generator(7)
    parts = rng.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype) if dtype.startswith("complex") else parts[0].astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 4), (2, 30, 30), (6, 3), (3, 6)])
def test_lapack_factors_as_elimination_does(dtype: str, shape: tuple[int, ...]) -> None:
    matrices = _matrices(dtype, *shape)
    if not lapack.serves(matrices):
        pytest.skip("NumPy's LAPACK has no routine by a name that is known")
    factors, pivots = lapack.factor(matrices)
    expected, swaps, _ = elimination.factor(np, matrices)
    assert (pivots == swaps).all()
    np.testing.assert_allclose(factors, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("transposed", [False, True])
def test_lapack_solves_systems(dtype: str, transposed: bool) -> None:
    matrices, right = _matrices(dtype, 3, 6, 6) + 6 * np.eye(6, dtype=dtype), _matrices(dtype, 3, 6, 2)
    if not lapack.serves(matrices):
        pytest.skip("NumPy's LAPACK has no routine by a name that is known")
    found = lapack.solve(*lapack.factor(matrices), right, transposed)
    used = matrices.swapaxes(-1, -2) if transposed else matrices
    np.testing.assert_allclose(used @ found, right, atol=1e-4)
    for upper in (False, True):
        triangle = np.triu(matrices) if upper else np.tril(matrices)
        np.testing.assert_allclose(triangle @ lapack.solve_triangle(matrices, right, upper, False), right, atol=1e-4)


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_division_of_float32_is_numpys(name: str) -> None:
    ufunc, rng = getattr(np, name), seeds.numpy_generator(3)
    with np.errstate(all="ignore"):
        for power in range(-8, 9):
            dividend = (rng.standard_normal(3000) * 10.0**power).astype("float32")
            divisor = rng.standard_normal(3000).astype("float32")
            dividend[:40:4], dividend[1:40:4] = -0.0, divisor[1:40:4] * 3
            _assert_same(division.divided(ufunc, dividend, divisor, None), ufunc(dividend, divisor))
            for special_value in (0.0, math.inf, math.nan):
                divisor[0] = special_value
                _assert_same(division.divided(ufunc, dividend, divisor, None), ufunc(dividend, divisor))


def _assert_same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize(("name", "units"), [("erf", 4), ("erfc", 2), ("erfinv", 2)])
def test_error_functions_of_float32(name: str, units: int) -> None:
    """They are so many units in the last place from the true value, compiled and in Python: erf by NumPy's exponential,
    whose last digits differ from CPU to CPU."""
    rng = seeds.numpy_generator(5)
    if name == "erfinv":
        x = np.concatenate([rng.uniform(-1, 1, 20000), 1 - np.exp2(rng.uniform(-23, -3, 4000))]).astype("float32")
        expected = np.array([NormalDist().inv_cdf(0.5 + 0.5 * each) * 0.5**0.5 for each in x.tolist()])
    else:
        x = np.concatenate([rng.standard_normal(8000) * scale for scale in (1e-4, 0.3, 1.0, 4.0)]).astype("float32")
        expected = np.array([getattr(math, name)(each) for each in x.tolist()])
    kernel = getattr(special, name)
    for function in (kernel, getattr(kernel, "python", kernel)):
        found = function(np, x)
        normal = np.abs(expected) > 1.2e-38
        distance = np.abs(found - expected)[normal] / np.spacing(np.abs(expected[normal]).astype("float32"))
        assert distance.max() < units
        strided = np.repeat(x, 2)[::2]
        np.testing.assert_array_equal(function(np, strided), found)
        if name != "erfc":
            assert np.signbit(function(np, np.full(99, -0.0, "float32"))).all()


def _gradients(call: Callable[..., Any], operands: list[Any], is_watched: bool) -> list[Any]:
    tensors = [opwright.from_numpy(each.copy()).requires_grad_() for each in operands]
    result = call(*tensors)
    grad = opwright.from_numpy(seeds.numpy_generator(1).standard_normal(tuple(result.shape)).astype(operands[0].dtype))
    found = opwright.autograd.grad(result, tensors, grad, create_graph=is_watched)
    return [each.detach().numpy() for each in found]


F = opwright.nn.functional
RECORDED: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "gelu": (F.gelu, [(50, 7)]),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), [(50, 7)]),
    "silu": (F.silu, [(50, 7)]),
    "elu": (lambda x: F.elu(x, 0.7), [(50, 7)]),
    "selu": (F.selu, [(50, 7)]),
    "softmax": (lambda x: F.softmax(x, -1), [(50, 7)]),
    "log_softmax": (lambda x: F.log_softmax(x, 1), [(50, 7)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (3, 7), w, b), [(50, 3, 7), (3, 7), (3, 7)]),
    "layer_norm of many": (lambda x, w: F.layer_norm(x, (300,), w), [(400, 300), (300,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(3, 4, 5, 5), (4,), (4,)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [(3, 4, 5, 5), (4,), (4,)]),
    "nll_loss": (lambda x: F.nll_loss(x, opwright.tensor([1, 0, 2, -100, 1])), [(5, 3)]),
    "embedding": (lambda w: F.embedding(opwright.tensor([[1, 0, 2], [1, 1, 3]]), w, padding_idx=0), [(4, 300)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 3, 9, 8)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), [(2, 3, 9, 8)]),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=3), [(2, 3, 4, 5)]),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1, dilation=(1, 2)), [(2, 3, 9, 8), (4, 3, 3, 3)]),
    "conv2d of groups": (lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=2, groups=2), [(2, 4, 9, 8), (6, 2, 3, 3)]),
    "depthwise": (lambda x, w: F.conv2d(x, w, padding=1, groups=3), [(2, 3, 9, 60), (3, 1, 3, 3)]),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", RECORDED)
def test_gradients_on_arrays_are_those_of_operators(name: str, dtype: str) -> None:
    """A gradient that is recorded in turn is made of operators, any other may be computed on arrays."""
    call, shapes = RECORDED[name]
    rng = seeds.numpy_generator(2)
    operands = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    tolerance = 3e-4 if dtype == "float32" else 1e-10
    for found, expected in zip(_gradients(call, operands, False), _gradients(call, operands, True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (2, 1, 400, 8)])
def test_attention_on_arrays_is_that_of_operators(shape: tuple[int, ...], is_causal: bool) -> None:
    rng = seeds.numpy_generator(4)
    operands = [opwright.from_numpy(rng.standard_normal(shape)) for _ in range(3)]
    found = F.scaled_dot_product_attention(*operands, is_causal=is_causal)
    recorded = F.scaled_dot_product_attention(operands[0].requires_grad_(), *operands[1:], is_causal=is_causal)
    np.testing.assert_allclose(found.numpy(), recorded.detach().numpy(), atol=1e-12)


EQUATIONS = ["ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ik", "ij,jk->ki", "bij,bjk->bik", "bij,bkj->bik"]


@pytest.mark.parametrize(
    "equation", [*EQUATIONS, "ij,ij->ij", "ij,jk->ij", "ii,ij->ij", "ij,ik->jk", "ij,jj->ij", "ij,jk->jk"]
)
def test_einsum_in_one_step_is_that_of_numpy(equation: str) -> None:
    rng = seeds.numpy_generator(6)
    shape = (2, 3, 3) if "b" in equation else (3, 3)
    operands = [rng.standard_normal(shape) for _ in range(2)]
    found = opwright.einsum(equation, *map(opwright.from_numpy, operands))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *operands), atol=1e-12)


def test_many_values_for_one_slice_are_added_in_order() -> None:
    rng = seeds.numpy_generator(8)
    for width in (3, 40, 300):
        target, values = rng.standard_normal((20, width)), rng.standard_normal((500, width))
        index = rng.integers(0, 20, 500)
        expected = target.copy()
        np.add.at(expected, index, values)
        tensors = [opwright.from_numpy(each) for each in (target, index, values)]
        np.testing.assert_array_equal(tensors[0].index_add(0, tensors[1], tensors[2]).numpy(), expected)
        turned = opwright.from_numpy(np.asfortranarray(target))
        np.testing.assert_array_equal(turned.index_add(0, tensors[1], tensors[2]).numpy(), expected)
        put = tensors[0].index_put((tensors[1] - 20,), tensors[2], accumulate=True)
        np.testing.assert_array_equal(put.numpy(), expected)
