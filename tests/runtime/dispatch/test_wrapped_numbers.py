"""Python numbers where a Tensor is declared."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.errors import ArgumentError

aten = opwright.ops.aten
X = opwright.tensor([1.0, 2.0])


def test_binary_operators_with_a_scalar_overload_take_them() -> None:
    assert aten.add.Tensor(X, 2).tolist() == [3, 4]
    assert aten.sub.Tensor(5, X).tolist() == opwright.sub(5, X).tolist() == [4, 3]
    assert aten.mul.Tensor(2, 3).item() == 6
    assert aten.add.out(X, 1, out=opwright.empty((0,))).tolist() == [2, 3]
    plain = aten.add.Tensor(np.ones(2, np.float32), 2.5)
    assert isinstance(plain, np.ndarray)
    assert plain.dtype == np.float32


@pytest.mark.parametrize(
    "call",
    [
        lambda: aten.maximum(X, 2),
        lambda: aten.where.self(X > 0, X, 2),
        lambda: aten.cat([X, 2]),
        lambda: aten.sin(2),
        lambda: aten.add.out(X, X, out=2),
        lambda: aten.add_.Tensor(2, X),
        lambda: aten.add.Tensor(X, 2**64),
        lambda: aten.add.Tensor(X, "2"),
        lambda: aten.add.Tensor(X, [2]),
        lambda: aten.add.Tensor(X, None),
    ],
)
def test_others_do_not(call: Any) -> None:
    with pytest.raises(ArgumentError, match="Declaration: aten::"):
        call()


def test_the_kernel_of_the_operator_runs() -> None:
    """Not that of another overload: who registers a kernel for `add.Tensor` sees the call."""
    seen: list[Any] = []
    handle = opwright.library.Library("aten", "IMPL")

    def kernel(self: opwright.Tensor, other: opwright.Tensor) -> opwright.Tensor:
        seen.append((other.shape, other.item()))
        return self

    handle.impl("add.Tensor", kernel, "AutogradCPU")
    assert aten.add.Tensor(X, 2) is X
    handle.destroy()
    assert seen == [((), 2)]


@pytest.mark.oracle
def test_values_and_dtypes_equal_pytorchs() -> None:
    """But for half, which PyTorch rounds numbers to in some kernels and for one side of some."""
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    tensors: list[tuple[Any, str]] = [
        ([3, 2], "int8"), ([3, 2], "int64"), ([1.5, 2], "float32"), ([1.5, 2], "float64"),
        ([True, False], "bool"), (3, "int32"), (1.5, "float64"), (1.5, "float32"), ([1j], "complex64"),
    ]  # fmt: skip
    for name, (data, dtype), number, left in itertools.product(
        ("add", "mul", "div", "sub", "floor_divide"), tensors, (2, 300, 0.1, True, 1j), (False, True)
    ):
        answers = []
        for library in (opwright, torch):
            tensor = library.tensor(data, dtype=getattr(library, dtype))
            args = (number, tensor) if left else (tensor, number)
            try:
                packet = getattr(library.ops.aten, name)
                result = (packet.default if name == "floor_divide" else packet.Tensor)(*args)
                answers.append((str(result.dtype).removeprefix("torch."), result.tolist()))
            except RuntimeError:
                answers.append(("error", None))
        assert repr(answers[0]) == repr(answers[1]), (name, data, dtype, number, left)
