"""A backend registered from outside: its own array class over Python lists, its own device, a PrivateUse key; no
runtime code knows it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opwright


class Lists:
    """A dense array of float32 in nested order, with nothing of NumPy in it."""

    def __init__(self, shape: tuple[int, ...], values: list[float]) -> None:
        self.shape = shape
        self.values = values
        self.dtype = "float32"


def from_numpy(array: np.ndarray) -> Lists:
    return Lists(array.shape, array.reshape(-1).tolist())


def to_numpy(lists: Lists) -> np.ndarray:
    return np.array(lists.values, np.float32).reshape(lists.shape)


def pointwise(function: Callable[[float, float], float]) -> Callable[..., Lists]:
    def kernel(self: Lists, other: Lists, *rest: Any) -> Lists:
        a, b = np.broadcast_arrays(to_numpy(self), to_numpy(other))
        pairs = zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
        return Lists(a.shape, [function(x, y) for x, y in pairs])

    return kernel


def mm(self: Lists, other: Lists) -> Lists:
    (rows, inner), columns = self.shape, other.shape[1]
    cells = ((i, j) for i in range(rows) for j in range(columns))
    product = [sum(self.values[i * inner + k] * other.values[k * columns + j] for k in range(inner)) for i, j in cells]
    return Lists((rows, columns), product)


def softmax(self: Lists, dim: int, half_to_float: bool) -> Lists:
    last = self.shape[-1]
    rows = [self.values[i : i + last] for i in range(0, len(self.values), last)]
    exps = [[math.exp(x - max(row)) for x in row] for row in rows]
    return Lists(self.shape, [e / sum(row) for row in exps for e in row])


def empty(size: list[int], dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Lists:
    return Lists(tuple(size), [0.0] * math.prod(size))


def fill(self: Lists, value: float) -> Lists:
    self.values[:] = [value] * len(self.values)
    return self


def add_in_place(self: Lists, other: Lists, alpha: float) -> Lists:
    self.values[:] = [a + alpha * b for a, b in zip(self.values, other.values, strict=True)]
    return self


def zero(self: Lists) -> Lists:
    return fill(self, 0.0)


KERNELS: dict[str, Callable[..., Any]] = {
    "aten::add.Tensor": pointwise(operator.add),
    "aten::mul.Tensor": pointwise(operator.mul),
    "aten::maximum": pointwise(max),
    "aten::add_.Tensor": add_in_place,
    "aten::mm": mm,
    "aten::_softmax": softmax,
    "aten::empty.memory_format": empty,
    "aten::fill_.Scalar": fill,
    "aten::zero_": zero,
}


@pytest.fixture
def lists() -> Iterator[Any]:
    backend = opwright.register_backend(
        "lists", "PrivateUse1", array_type=Lists, from_numpy=from_numpy, to_numpy=to_numpy
    )
    handles = [backend.impl(name, kernel) for name, kernel in KERNELS.items()]
    yield backend
    for handle in handles:
        handle.remove()
    backend.remove()


def tensor(*shape: int) -> Any:
    values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) / 2
    return opwright.from_numpy(values), opwright.tensor(values.tolist(), device="lists")


def values(result: Any) -> np.ndarray:
    return to_numpy(result.array) if isinstance(result.array, Lists) else result.array


def test_tensors_say_where_they_are(lists: Any) -> None:
    _, mine = tensor(2, 3)
    assert type(mine.array) is Lists
    assert str(mine.device) == "lists"
    assert (mine.shape, mine.stride(), mine.dtype) == ((2, 3), (3, 1), opwright.float32)


@pytest.mark.parametrize("name", ["add", "mul", "maximum"])
def test_pointwise_kernels_of_the_backend_serve_operators(lists: Any, name: str) -> None:
    reference, mine = tensor(2, 3)
    result = getattr(opwright, name)(mine, mine)
    assert type(result.array) is Lists
    np.testing.assert_allclose(values(result), values(getattr(opwright, name)(reference, reference)))


def test_in_place_kernels_keep_the_tensor(lists: Any) -> None:
    _, mine = tensor(3)
    array = mine.array
    assert mine.add_(mine, alpha=2) is mine
    assert mine.array is array
    assert array.values == [0.0, 1.5, 3.0]


def test_composites_run_over_the_backends_kernels(lists: Any) -> None:
    reference, mine = tensor(2, 3)
    _, square = tensor(3, 3)
    product = opwright.matmul(mine, square)
    assert type(product.array) is Lists
    np.testing.assert_allclose(values(product), values(reference) @ to_numpy(square.array))
    soft = opwright.softmax(mine, -1)
    assert type(soft.array) is Lists
    np.testing.assert_allclose(values(soft), values(opwright.softmax(reference, -1)), rtol=1e-6)


@pytest.mark.parametrize(("name", "value"), [("zeros", 0.0), ("ones", 1.0)])
def test_factories_reach_the_backend_by_its_device(lists: Any, name: str, value: float) -> None:
    made = getattr(opwright, name)([2, 2], device="lists")
    assert type(made.array) is Lists
    assert made.array.values == [value] * 4
    assert opwright.full([3], 2.5, device="lists").array.values == [2.5] * 3


def test_an_operator_without_a_kernel_says_what_there_is(lists: Any) -> None:
    _, mine = tensor(3)
    with pytest.raises(opwright.DispatchError, match=r"sin.*PrivateUse1") as caught:
        opwright.sin(mine)
    assert "CPU" in str(caught.value)


def test_removed_kernels_are_gone(lists: Any) -> None:
    _, mine = tensor(3)
    handle = lists.impl("aten::neg", lambda self: Lists(self.shape, [-x for x in self.values]))
    assert opwright.neg(mine).array.values == [-0.0, -0.5, -1.0]
    handle.remove()
    with pytest.raises(opwright.DispatchError):
        opwright.neg(mine)


def test_calls_on_the_backend_are_recorded(lists: Any) -> None:
    _, mine = tensor(2, 3)
    _, gradient = tensor(2, 3)
    mine.requires_grad_()
    (found,) = opwright.autograd.grad(mine * mine, mine, gradient)
    assert type(found.array) is Lists
    np.testing.assert_allclose(values(found), 2 * values(mine) * values(gradient))


def test_gradients(lists: Any) -> None:
    """Formulas are over operators, so that a backend has gradients where it has the operators."""
    (x, mine), (y, other) = tensor(2, 3), tensor(3)
    x, mine = x.requires_grad_(), mine.requires_grad_()
    wanted = opwright.autograd.grad((x * y + x) * x, [x], opwright.ones(2, 3))
    result = (mine * other + mine) * mine
    found = opwright.autograd.grad(result, [mine], opwright.tensor([[1.0] * 3] * 2, device="lists"))
    assert found[0].device.type == "lists"
    assert np.array_equal(values(found[0]), values(wanted[0]))
    assert result.grad_fn.name() == "MulBackward0"
