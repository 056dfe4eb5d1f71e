"""Values against plain NumPy and PyTorch, gradients against finite differences, what operators promise by opcheck.

`pytest --opcheck fused` adds the checks of each operator on drawn arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fused_ops import ops

import opwright
from opwright import fake
from opwright.autograd import gradcheck, gradgradcheck
from opwright.library import opcheck

DTYPES = [np.float32, np.float64]
RATES = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1}


def drawn(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng([*shape, seed]).standard_normal(shape).astype(dtype)


def close(found: Any, wanted: Any, dtype: Any) -> bool:
    return np.allclose(found, wanted, rtol=1e-4, atol=1e-5) if dtype is np.float32 else np.allclose(found, wanted)


def leaf(*shape: int, seed: int = 0) -> opwright.Tensor:
    return opwright.tensor(drawn(*shape, seed=seed), requires_grad=True)


# -- values, against NumPy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 70), (33,), (0, 4)])
@pytest.mark.parametrize("affine", [(False, False), (True, False), (False, True), (True, True)])
def test_layer_norm(dtype: Any, shape: tuple[int, ...], affine: tuple[bool, bool]) -> None:
    x = drawn(*shape, dtype=dtype) + 3
    weight, bias = (drawn(shape[-1], dtype=dtype, seed=n) if given else None for n, given in enumerate(affine, 1))
    y, mean, rstd = ops.layer_norm(x, weight, bias)
    exact = x.astype(np.float64)
    wanted = (exact - exact.mean(-1, keepdims=True)) / np.sqrt(exact.var(-1, keepdims=True) + 1e-5)
    wanted = wanted * (1 if weight is None else weight) + (0 if bias is None else bias)
    assert y.dtype == dtype and close(y, wanted, dtype)
    assert close(mean, exact.mean(-1), dtype) and close(rstd, 1 / np.sqrt(exact.var(-1) + 1e-5), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [1, 7, 32, 101])
@pytest.mark.parametrize("size", [1, 100])
def test_cross_entropy(dtype: Any, classes: int, size: float) -> None:
    logits = size * drawn(9, classes, dtype=dtype)
    target = np.random.default_rng(0).integers(0, classes, 9)
    loss, lse = ops.cross_entropy(logits, target)
    exact = logits.astype(np.float64)
    sums = np.log(np.exp(exact - exact.max(-1, keepdims=True)).sum(-1)) + exact.max(-1)
    assert close(lse, sums, dtype) and close(loss, sums - exact[np.arange(9), target], dtype)
    gradient = ops.cross_entropy_backward(np.ones(9, dtype), logits, target, lse)
    rounded = np.abs(lse).max() * np.finfo(dtype).eps  # what lse is off by moves all of its row
    assert np.allclose(gradient, np.exp(exact - sums[:, None]) - np.eye(classes)[target], atol=1e-6 + 2 * rounded)


def test_cross_entropy_of_hidden_classes_and_of_nan() -> None:
    logits = np.array([[0.0, -np.inf, 0.0], [1.0, np.nan, 2.0]])
    loss, lse = ops.cross_entropy(logits, np.array([0, 0]))
    assert np.allclose(loss, [np.log(2), np.nan], equal_nan=True)
    assert ops.cross_entropy_backward(np.ones(2), logits, np.array([0, 0]), lse)[0].tolist() == [-0.5, 0.0, 0.5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rotary_turns_pairs_and_back(dtype: Any) -> None:
    x, turns = drawn(2, 3, 5, 8, dtype=dtype), drawn(5, 4, dtype=dtype)
    cos, sin = np.cos(turns), np.sin(turns)
    turned = ops.rotary(x, cos, sin)
    points = (x[..., :4] + 1j * x[..., 4:]) * (cos + 1j * sin)
    assert close(turned, np.concatenate([points.real, points.imag], -1), dtype)
    assert close(ops.rotary(turned, cos, sin, inverse=True), x, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_adamw(dtype: Any) -> None:
    param, grad, mean, square = (abs(drawn(4, 9, dtype=dtype, seed=n)) for n in range(4))
    p, m, s = (each.astype(np.float64) for each in (param, mean, square))
    for step in (1, 2, 3):
        assert ops.adamw_step(param, grad, mean, square, **RATES, step=step) is None
        m, s = 0.9 * m + 0.1 * grad, 0.99 * s + 0.01 * grad * grad
        p = p * (1 - 0.01 * 0.1) - 0.01 * m / (1 - 0.9**step) / (np.sqrt(s / (1 - 0.99**step)) + 1e-8)
    assert close(param, p, dtype) and close(mean, m, dtype) and close(square, s, dtype)


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"target has to be of shape \(3\), but its shape is \(2\)"):
        ops.cross_entropy(drawn(3, 4), np.array([0, 1]))
    with pytest.raises(RuntimeError, match="a target is no class"):
        ops.cross_entropy(drawn(2, 4), np.array([0, 4]))
    with pytest.raises(RuntimeError, match=r"cos has to be of shape \(5, 4\)"):
        ops.rotary(drawn(5, 8), drawn(5, 8), drawn(5, 4))
    with pytest.raises(RuntimeError, match="steps count from 1"):
        ops.adamw_step(*(drawn(3) for _ in range(4)), **RATES, step=0)


# -- gradients, and what operators promise


def test_gradients() -> None:
    x, weight, bias, turns = leaf(3, 5), leaf(5, seed=1), leaf(5, seed=2), opwright.tensor(drawn(4, 3))
    target, query = opwright.tensor([1, 0, 4]), leaf(2, 4, 6)
    for function, inputs in (
        (lambda x, weight, bias: ops.layer_norm(x, weight, bias)[0], (x, weight, bias)),
        (lambda x: ops.layer_norm(x, None, None)[0], (x,)),
        (lambda x: ops.cross_entropy(x, target)[0], (x,)),
        (lambda query: ops.rotary(query, turns.cos(), turns.sin()), (query,)),
    ):
        assert gradcheck(function, inputs, check_forward_ad=True)
        assert gradgradcheck(function, inputs)


def test_contracts() -> None:
    x, logits, target = leaf(3, 5), leaf(4, 6), opwright.tensor([0, 5, 2, 3])
    turns = opwright.tensor(drawn(3, 2))
    found = opwright.ops.fused
    opcheck(found.layer_norm.default, (x, leaf(5), None))
    opcheck(found.cross_entropy.default, (logits, target))
    opcheck(found.rotary.default, (leaf(2, 3, 4), turns.cos(), turns.sin()))
    state = [opwright.tensor(abs(drawn(7, seed=n))) for n in range(4)]
    opcheck(found.adamw_step.default, tuple(state), {**RATES, "step": 2})


def test_shapes_without_data() -> None:
    with fake.FakeTensorMode():
        y, mean, _ = ops.layer_norm(opwright.ones(4, 6), opwright.ones(6), None)
        assert (y.shape, mean.shape) == ((4, 6), (4,))
        with pytest.raises(RuntimeError, match="target has to be of shape"):
            ops.cross_entropy(opwright.ones(3, 4), opwright.ones(2, dtype=opwright.int64))


# -- PyTorch


@pytest.mark.oracle
def test_against_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x, weight, bias, up = drawn(6, 9), drawn(9), drawn(9, seed=1), drawn(6, 9, seed=2)
    target = np.random.default_rng(1).integers(0, 9, 6)
    for ours, theirs in (
        (lambda x, w, b: ops.layer_norm(x, w, b)[0], lambda x, w, b: torch.nn.functional.layer_norm(x, (9,), w, b)),
        (
            lambda x, w, b: ops.cross_entropy(x * w + b, opwright.tensor(target))[0].unsqueeze(-1),
            lambda x, w, b: torch.nn.functional.cross_entropy(
                x * w + b, torch.tensor(target), reduction="none"
            ).unsqueeze(-1),
        ),
    ):
        mine = [opwright.tensor(each, requires_grad=True) for each in (x, weight, bias)]
        others = [torch.tensor(each, requires_grad=True) for each in (x, weight, bias)]
        result, wanted = ours(*mine), theirs(*others)
        (result * opwright.tensor(up)).sum().backward()
        (wanted * torch.tensor(up)).sum().backward()
        assert np.allclose(result.detach().numpy(), wanted.detach().numpy())
        assert all(np.allclose(a.grad.numpy(), b.grad.numpy()) for a, b in zip(mine, others, strict=True))


@pytest.mark.oracle
def test_adamw_against_pytorch() -> None:
    torch = pytest.importorskip("torch")
    param, grad = drawn(8), drawn(8, seed=1)
    other = torch.tensor(param.copy(), requires_grad=True)
    optimizer = torch.optim.AdamW([other], lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)
    mean, square = np.zeros(8), np.zeros(8)
    for step in (1, 2, 3):
        ops.adamw_step(param, grad * step, mean, square, **RATES, step=step)
        other.grad = torch.tensor(grad * step)
        optimizer.step()
    assert np.allclose(param, other.detach().numpy())
