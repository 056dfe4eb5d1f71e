"""What formulas of gradients, and the engine, do on arrays at once: it gives what operators give, and is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opwright
from opwright.autograd.gradients import fit
from opwright.autograd.quick import adjoint_of, conjugate_of, expanded, reshaped, swapped, turned, zeros_for
from opwright.autograd.recording import make_leaf

aten = opwright.ops.aten


def _tensor(dtype: str, *shape: int) -> Any:
    values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return opwright.from_numpy((values * (1 + 2j) if dtype == "complex64" else values).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_they_give_what_methods_give(dtype: str) -> None:
    value = _tensor(dtype, 2, 3)
    for got, want in [
        (conjugate_of(value), value.conj()),
        (adjoint_of(value), value.mH),
        (expanded(value, (4, 2, 3)), value.expand(4, 2, 3)),
        (reshaped(turned(value), (6,)), value.t().reshape(6)),
        (swapped(value, 0, -1), value.transpose(0, -1)),
        (turned(value), value.t()),
        (turned(value[0]), value[0]),
        (zeros_for(value, (4,)), value.new_zeros([4])),
    ]:
        assert (got.dtype, got.stride()) == (want.dtype, want.stride())
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_the_conjugate_of_a_real_tensor_is_itself() -> None:
    value = _tensor("float32", 3)
    assert conjugate_of(value) is value


@pytest.mark.parametrize("size", [3, 5000])
def test_they_are_recorded(size: int) -> None:
    value = _tensor("float32", 1, size).requires_grad_(True)
    results = [
        adjoint_of(value),
        expanded(value, (2, size)),
        turned(value),
        swapped(value, 0, 1),
        reshaped(value, (size,)),
    ]
    opwright.stack([result.sum() for result in results]).sum().backward()
    np.testing.assert_array_equal(value.grad.numpy(), np.full((1, size), 6, np.float32))


def test_no_vector_has_an_adjoint() -> None:
    with pytest.raises(RuntimeError):
        adjoint_of(_tensor("float32", 3))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("own", "shape"),
    [((), ()), ((), (2, 1)), ((), (3, 0)), ((3, 1), (3, 0)), ((3,), (3,)), ((1, 3), (2, 3)), ((2, 1, 3), (2, 4, 3))],
)
def test_what_is_repeated_has_no_strides(dtype: str, own: tuple[int, ...], shape: tuple[int, ...]) -> None:
    value = _tensor(dtype, *own)
    got, want = expanded(value, shape), value.expand(shape)
    assert (got.shape, got.stride(), got.tolist()) == (want.shape, want.stride(), want.tolist())


def test_the_gradient_of_a_sum_has_no_strides() -> None:
    value = _tensor("float32", 2, 3).requires_grad_(True)
    for result, strides in [(value.sum(), (0, 0)), (value.sum(1).sum(), (0, 0)), (value.mean(0)[0], (3, 1))]:
        (grad,) = opwright.autograd.grad(result, value)
        assert grad.stride() == strides


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (1, 1), (2, 1, 1), (1, 3, 1)])
def test_a_gradient_is_summed_over_what_was_repeated(dtype: str, shape: tuple[int, ...]) -> None:
    leaf = opwright.zeros(list(shape), dtype=dtype)
    make_leaf(leaf)
    for grad in (_tensor(dtype, 2, 3, 4), _tensor(dtype, 2, 4, 3).mT):
        got, want = fit(grad, leaf.edge, None, 0), aten.sum_to_size(grad, list(shape))
        assert (got.shape, got.dtype, got.stride()) == (want.shape, want.dtype, want.stride())
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_a_gradient_that_does_not_fit_is_refused() -> None:
    leaf = opwright.zeros([5])
    make_leaf(leaf)
    with pytest.raises(RuntimeError, match=r"got \[2, 4\] but expected shape compatible with \[5\]"):
        fit(_tensor("float32", 2, 4), leaf.edge, None, 0)
