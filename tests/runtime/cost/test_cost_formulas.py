"""Costs of ATen's operators: formulas by hand, and loops over numbers that count what is done with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import opwright
from opwright.utils.flop_counter import cost

pytestmark = pytest.mark.once

N, C, H, W, K, M = 2, 3, 5, 7, 4, 6


def f(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


LONGS = np.zeros((N, C), np.int64)
X = f(N, C, H)  # of 30 elements
n = N * C * H
FORMULAS: list[tuple[str, tuple[Any, ...], int, int]] = [
    ("mm", (f(M, K), f(K, W)), 2 * M * K * W, 0),
    ("bmm", (f(N, M, K), f(N, K, W)), 2 * N * M * K * W, 0),
    ("addmm", (f(W), f(M, K), f(K, W)), 2 * M * K * W, 0),
    ("baddbmm", (f(N, M, W), f(N, M, K), f(N, K, W)), 2 * N * M * K * W, 0),
    ("matmul", (f(N, M, K), f(K, W)), 2 * N * M * K * W, 0),
    ("mv", (f(M, K), f(K)), 2 * M * K, 0),
    ("dot", (f(K), f(K)), 2 * K, 0),
    ("linear", (f(N, M, K), f(W, K), f(W)), 2 * N * M * K * W + N * M * W, 0),  # what is added to
    ("outer", (f(M), f(K)), M * K, 0),
    ("addr", (f(M, K), f(M), f(K)), 2 * M * K, 0),
    ("einsum", ("nik,nkj->nij", [f(N, M, K), f(N, K, W)]), 2 * N * M * K * W, 0),
    ("conv1d", (f(N, C, 9), f(M, C, 3)), 2 * N * M * 7 * C * 3, 0),
    ("conv2d", (f(N, C, 9, 8), f(M, C, 3, 2), f(M), [2, 1]), 2 * N * M * 4 * 7 * C * 3 * 2, 0),
    ("conv3d", (f(N, C, 3, 4, 5), f(M, C, 2, 2, 2)), 2 * N * M * 2 * 3 * 4 * C * 8, 0),
    ("conv_transpose2d.input", (f(N, C, 4, 5), f(C, M, 3, 2)), 2 * N * C * 4 * 5 * M * 3 * 2, 0),
    ("scaled_dot_product_attention", (f(N, C, M, K), f(N, C, W, K), f(N, C, W, K)),
     # two products, the scale on both sides, a softmax that looks for rows of -inf and chooses
     4 * N * C * M * W * K + N * C * K * (M + W) + N * C * M * W * 7, N * C * M * W),
    ("add.Tensor", (X, X), n, 0),
    ("add.Tensor", (X, X[:1]), n, 0),
    ("mul.Scalar", (X, 2), n, 0),
    ("exp", (X,), 0, n),
    ("pow.Tensor_Scalar", (X, 3), 0, n),
    ("sigmoid", (X,), 3 * n, n),
    ("silu", (X,), 4 * n, n),
    ("gelu", (X,), 4 * n, n),
    ("relu", (X,), n, 0),
    ("hardtanh", (X,), 2 * n, 0),
    ("softplus", (X,), 4 * n, 2 * n),
    ("clamp", (X, 0, 1), 2 * n, 0),
    ("clamp", (X, 0), n, 0),
    ("where.self", (X > 0, X, X), n, 0),
    ("lerp.Scalar", (X, X, 0.5), 3 * n, 0),
    ("addcmul", (X, X, X), 3 * n, 0),
    ("sum", (X,), n, 0),
    ("sum.dim_IntList", (X, [1]), n, 0),
    ("mean.dim", (X, [1]), n + N * H, 0),
    ("var.correction", (X, [1]), 4 * n + 2 * N * H, 0),
    ("amax", (X, [0]), n, 0),
    ("argmax", (X, 1), n, 0),
    ("linalg_vector_norm", (X,), 2 * n, 1),
    ("cumsum", (X, 1), n, 0),
    ("softmax.int", (X, 1), 4 * n, n),
    ("log_softmax.int", (X, 1), 4 * n, n + N * H),
    ("logsumexp", (X, [1]), 3 * n + N * H, n + N * H),
    ("native_layer_norm", (X, [H], f(H), f(H), 1e-5), 7 * n + 4 * N * C, N * C),
    ("layer_norm", (X, [H]), 5 * n + 4 * N * C, N * C),
    ("group_norm", (f(N, 4, H), 2, f(4), f(4)), 7 * N * 4 * H + 4 * N * 2, N * 2),
    ("mse_loss", (X, X), 3 * n + 1, 0),
    ("avg_pool2d", (f(N, C, 4, 6), [2, 2]), N * C * 2 * 3 * 5, 0),
    ("max_pool2d", (f(N, C, 4, 6), [2, 2]), N * C * 2 * 3 * 4, 0),
    ("fft_fft", (np.ones(16, np.complex64),), 5 * 16 * 4, 0),
    ("sort", (f(8),), 8 * 3, 0),
    ("linalg_cholesky_ex", (f(N, 6, 6),), N * 72, 0),
    ("linalg_inv_ex", (f(N, 6, 6),), N * 432, 0),
    ("embedding", (f(9, K), LONGS), 0, 0),
    ("cat", ([X, X], 1), 0, 0),
    ("transpose.int", (X, 0, 1), 0, 0),
]  # fmt: skip


def call(name: str, args: tuple[Any, ...]) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default").cost(*args)


def test_formulas_by_hand() -> None:
    assert len({name for name, *_ in FORMULAS}) >= 40
    wrong = []
    for name, args, flops, transcendentals in FORMULAS:
        found = call(name, args)
        if (found.flops, found.transcendentals) != (flops, transcendentals):
            wrong.append(f"{name}: {found} instead of {flops}, {transcendentals}")
    assert not wrong, "\n".join(wrong)


def test_bytes() -> None:
    found = call("embedding", (f(1000, K), LONGS))
    assert (found.read, found.written) == (4 * N * C * K + 8 * N * C, 4 * N * C * K)
    assert call("transpose.int", (X, 0, 1)).bytes == 0
    out = opwright.ops.aten.add.out.cost(X, X, out=opwright.empty(N, C, H))
    assert (out.read, out.written, out.flops) == (4 * n, 4 * n, n)  # what is given twice is read once


class Counted:
    """A number that counts what is done with it: additions, multiplications, comparisons; and functions apart."""

    flops: ClassVar[int] = 0
    transcendentals: ClassVar[int] = 0

    def __init__(self, value: Any) -> None:
        self.value = float(value)


def _counts(name: str) -> Callable[..., Counted]:
    def method(self: Counted, *others: Any) -> Counted:
        Counted.flops += 1
        values = [each.value if isinstance(each, Counted) else each for each in others]
        return Counted(getattr(self.value, name)(*values))

    return method


for _name in ("add", "sub", "mul", "truediv", "gt", "neg", "radd", "rsub", "rmul", "rtruediv", "ge", "lt"):
    setattr(Counted, f"__{_name}__", _counts(f"__{_name}__"))
Counted.__bool__ = lambda self: bool(self.value)  # type: ignore[attr-defined]


def function(self: Counted) -> Counted:
    Counted.transcendentals += 1
    return Counted(math.exp(min(self.value, 1)))


def larger(a: Counted, b: Counted) -> Counted:
    return a if a > b else b


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    found = np.empty(shape, object)
    for index in np.ndindex(*shape):
        found[index] = Counted(1)
    return found


def total(values: Any) -> Counted:
    """A sum from zero, as multiply-adds are counted."""
    found = Counted(0)
    for each in values:
        found = found + each
    return found


def loop_mm(a: Any, b: Any) -> None:
    for i, j in itertools.product(range(a.shape[0]), range(b.shape[1])):
        total(a[i, k] * b[k, j] for k in range(a.shape[1]))


def loop_bmm(a: Any, b: Any) -> None:
    for one, other in zip(a, b, strict=True):
        loop_mm(one, other)


def loop_conv1d(x: Any, w: Any) -> None:
    for image, out, at in itertools.product(x, w, range(x.shape[2] - w.shape[2] + 1)):
        total(image[c, at + t] * out[c, t] for c, t in np.ndindex(*out.shape))


def rows(x: Any) -> Iterator[Any]:
    return iter(np.moveaxis(x, 1, -1).reshape(-1, x.shape[1]))


def loop_softmax(x: Any) -> None:
    for row in rows(x):
        most = Counted(-math.inf)
        for each in row:
            most = larger(most, each)
        made = [function(each - most) for each in row]
        whole = total(made)
        [each / whole for each in made]


def loop_mean(x: Any) -> None:
    for row in rows(x):
        total(row) / len(row)


def loop_var(x: Any) -> None:
    for row in rows(x):
        mean = total(row) / len(row)
        total((d := each - mean) * d for each in row) / (len(row) - 1)


def loop_layer_norm(x: Any, w: Any, b: Any) -> None:
    for row in x.reshape(-1, x.shape[-1]):
        mean = total(row) / len(row)
        moved = [each - mean for each in row]
        scale = 1 / function(total(each * each for each in moved) / len(row) + 1e-5)
        [each * scale * w[i] + b[i] for i, each in enumerate(moved)]


def loop_avg_pool(x: Any) -> None:
    for image in x.reshape(-1, *x.shape[2:]):
        for i, j in np.ndindex(image.shape[0] // 2, image.shape[1] // 2):
            total(image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].ravel()) / 4


def loop_each(element: Callable[[Any], Any]) -> Callable[..., None]:
    def loop(*arrays: Any) -> None:
        for each in zip(*[array.ravel() for array in arrays], strict=True):
            element(*each)

    return loop


LOOPS: list[tuple[str, tuple[Any, ...], Callable[..., None]]] = [
    ("mm", (f(M, K), f(K, W)), loop_mm),
    ("bmm", (f(N, M, K), f(N, K, W)), loop_bmm),
    ("conv1d", (f(N, C, 9), f(M, C, 3)), loop_conv1d),
    ("sum", (X,), lambda x: total(x.ravel())),
    ("sum.dim_IntList", (X, [1]), lambda x: [total(row) for row in rows(x)]),
    ("mean.dim", (X, [1]), loop_mean),
    ("var.correction", (X, [1]), loop_var),
    ("softmax.int", (X, 1), loop_softmax),
    ("native_layer_norm", (X, [H], f(H), f(H), 1e-5), loop_layer_norm),
    ("avg_pool2d", (f(N, C, 4, 6), [2, 2]), loop_avg_pool),
    ("add.Tensor", (X, X), loop_each(lambda a, b: a + b)),
    ("exp", (X,), loop_each(function)),
    ("sigmoid", (X,), loop_each(lambda x: 1 / (1 + function(-x)))),
    ("relu", (X,), loop_each(lambda x: larger(x, Counted(0)))),
    ("mse_loss", (X, X, 0), loop_each(lambda a, b: (d := a - b) * d)),
    ("lerp.Scalar", (X, X, 0.5), loop_each(lambda a, b: a + 0.5 * (b - a))),
    ("tanh_backward", (X, X), loop_each(lambda g, r: g * (1 - r * r))),
]


def test_loops_do_what_the_model_counts() -> None:
    for name, args, loop in LOOPS:
        Counted.flops = Counted.transcendentals = 0
        loop(*[numbers(*each.shape) for each in args if isinstance(each, np.ndarray)])
        found = call(name, args)
        assert (found.flops, found.transcendentals) == (Counted.flops, Counted.transcendentals), name


def test_functions_cost_what_they_call() -> None:
    found = cost(lambda x, w: opwright.softmax(x @ w, -1), f(M, K), f(K, W))
    assert (found.flops, found.transcendentals) == (2 * M * K * W + 4 * M * W, M * W)
