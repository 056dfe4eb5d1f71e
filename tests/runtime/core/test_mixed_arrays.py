"""Tensors beside plain arrays, and lists of arrays: the second call, which the compiled core takes, is as the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from python_calls import calls_of

import opwright
from opwright import Tensor
from opwright.errors import ArgumentError
from opwright.library import custom_op
from opwright_core.core import fast

X = np.arange(1.0, 7).reshape(2, 3)
OTHERS = (
    X, X.astype(np.float32), X.astype(int), X[::-1], X.T.copy().T, X[:, :1], X[:0], X.astype(opwright.bfloat16),
    np.ones(()),
)  # fmt: skip


def both(call: Callable[[Any], Any], array: np.ndarray) -> None:
    """Compare calls with an array, again and again, with the call with a Tensor on it."""
    expected = call(opwright.as_tensor(array))
    for _ in range(3):
        found = call(array)
        assert type(found) is Tensor
        assert found.dtype == expected.dtype and found.stride() == expected.stride()
        assert np.array_equal(found.detach().numpy(), expected.detach().numpy())


def test_a_tensor_with_an_array() -> None:
    tensor = opwright.as_tensor(X[:1].copy())
    for array in OTHERS:
        both(lambda other: opwright.add(tensor, other), array)
        both(lambda other: opwright.mul(other, tensor), array)
    both(lambda other: opwright.ops.aten.expand_as(tensor, other), X)
    both(lambda other: opwright.where(other > 2, tensor, other), X)


def test_gradients_are_recorded_and_modes_are_seen() -> None:
    leaf = opwright.ones(3, dtype=opwright.float64, requires_grad=True)
    for _ in range(3):
        leaf.grad = None
        opwright.mul(leaf, X[0]).sum().backward()
        assert leaf.grad.tolist() == X[0].tolist()
        with opwright.no_grad():
            assert not opwright.mul(leaf, X[0]).requires_grad
        batched = opwright.vmap(lambda row: opwright.mul(row, X[0]))(opwright.ones(2, 3))
        assert batched.tolist() == [X[0].tolist()] * 2
        _, tangent = opwright.func.jvp(lambda x: opwright.mul(x, X[0]), (leaf.detach(),), (leaf.detach(),))
        assert tangent.tolist() == X[0].tolist()


def test_arrays_are_written_as_before() -> None:
    for _ in range(3):
        tensor = opwright.ones(3, dtype=opwright.float64)
        out = np.zeros(3)
        assert opwright.add(tensor, X[0], out=out) is out and out.tolist() == [2, 3, 4]
        assert tensor.add_(X[0]) is tensor and tensor.tolist() == [2, 3, 4]


def test_what_is_written_to_a_view_of_an_array_is_seen() -> None:
    array = np.zeros(3)
    for number in range(1, 4):
        opwright.ops.aten.expand_as(array, opwright.ones(3)).add_(1)
        assert array.tolist() == [number] * 3


def test_lists_of_arrays() -> None:
    for _ in range(3):
        for array in (X, X.T, X.astype(int)):
            for function in (opwright.cat, opwright.stack):
                found = function([array, array])
                assert type(found) is np.ndarray
                assert np.array_equal(found, function([opwright.as_tensor(array)] * 2).numpy())
        assert np.array_equal(opwright.cat([X, X], 1), np.concatenate([X, X], 1))
        assert type(opwright.cat([X, opwright.as_tensor(X)])) is Tensor
        with pytest.raises(ArgumentError, match="element 1"):
            opwright.cat([X, np.array(["a"])])


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_calls_that_python_takes_leave_others_to_the_core() -> None:
    """A stub asks for the signature of a call a few times at most; calls of one kind do not use up those of others."""

    @custom_op("mixed_arrays::halved", mutates_args=())
    def halved(x: np.ndarray) -> np.ndarray:
        return x / 2

    for _ in range(100):
        assert np.array_equal(halved([1.0, 3.0]), [0.5, 1.5])  # a list has no signature
    x = np.ones(3)
    assert "find1" not in calls_of(lambda: halved(x))
