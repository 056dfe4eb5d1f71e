"""Products that BLAS adds to a gradient that waits: values are those of a product and a sum, and nobody sees a part."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright.autograd import compiled
from opwright.autograd.graph import saved_tensors_hooks
from opwright_core.core import fast

Tensor = Any
linear = opwright.nn.functional.linear

pytestmark = pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)

# Products of 80 and more rows and columns: small ones are added as ever.
ROWS, WIDTH, MADE = 70, 80, 90

FORMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a layer": lambda x, w: linear(x, w),
    "used again": lambda x, w: linear(x, w) + linear(x * 2, w) + linear(x, w).tanh(),
    "tied": lambda x, w: linear(linear(x, w), w.t()) @ w.T,
    "views": lambda x, w: (x @ w.mT).sin() + (x @ w.transpose(0, 1)) + x @ w.transpose(1, -2) + x @ w.T,
    "the same dims": lambda x, w: w.transpose(1, -1) @ x.transpose(-2, -2).T + w.T.T @ x.t(),
    "more dimensions": lambda x, w: linear(x.view(2, 35, -1), w) * 3 + linear(x.view(7, 10, -1), w).view(2, 35, -1),
    "from the left": lambda x, w: w @ x.t() + w @ x.t() * 2,
    "turned, then viewed": lambda x, w: x @ w.t().reshape(WIDTH, MADE) + x @ w.reshape(-1).view(MADE, WIDTH).t(),
    "viewed, then turned": lambda x, w: x @ w.reshape(MADE // 2, 2 * WIDTH).t().reshape(WIDTH, MADE) + x @ w.T,
    "parts": lambda x, w: x[:, :40] @ w[:, :40].t() + x[:, 40:] @ w[:, 40:].t() + x @ w.t(),
    "with something added": lambda x, w: opwright.addmm(x @ w.t(), x, w.t(), beta=0.5, alpha=2) + x @ w.t(),
    "its square": lambda x, w: (w @ w.t()) @ (w @ w.t()),
    "batches": lambda x, w: batches(x, w.view(10, 9, -1).mT) + batches(x, w.view(10, 9, -1).transpose(1, -1)).tanh(),
    "from the left of batches": lambda x, w: batches(w, x.view(10, 7, -1).transpose(2, 1)) + batches(w, each(x, 7).mT),
    "batches, added": lambda x, w: opwright.baddbmm(*three(x, w)) + opwright.baddbmm(*three(x, w), alpha=2),
    "across batches": lambda x, w: opwright.bmm(each(w, 9).transpose(0, 1), x[:63].reshape(9, WIDTH, 7)),
    "a dimension of one": lambda x, w: x @ w.view(MADE, 1, WIDTH).transpose(0, 2).view(WIDTH, MADE),
}  # fmt: skip


def each(rows: Tensor, count: int) -> Tensor:
    """Return ten matrices of some rows each."""
    return rows.view(10, count, WIDTH)


def batches(rows: Tensor, others: Tensor) -> Tensor:
    """Return ten products of some rows each."""
    return opwright.bmm(rows.view(10, -1, WIDTH), others)


def three(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the arguments of ten products with something added."""
    return each(x, 7)[:, :, :9], each(x, 7), w.reshape(10, WIDTH, 9)


def leaves(dtype: Any = np.float32) -> tuple[Tensor, Tensor]:
    made = seeds.numpy_generator(0)
    shapes = ((ROWS, WIDTH), (MADE, WIDTH))
    return tuple(opwright.from_numpy(made.standard_normal(shape).astype(dtype)).requires_grad_() for shape in shapes)


def add_gradients(result: Tensor) -> None:
    """Run a pass whose gradient is an array of its own: BLAS reads none of one element that is broadcast."""
    result.backward(opwright.ones(*result.shape))


def gradients(form: Callable[[Tensor, Tensor], Tensor], dtype: Any, turned: bool) -> list[np.ndarray]:
    """Return the gradients after each of three passes, the last of which goes through one graph twice."""
    x, w = leaves(dtype)
    if turned:
        w = opwright.from_numpy(np.asfortranarray(w.detach().numpy())).requires_grad_()
    found: list[np.ndarray] = []
    for turn in range(3):
        result = form(x, w).sin()
        if turn == 2:
            x.grad = None
            result.sum().backward(retain_graph=True)
        result.sum().backward()
        found += [leaf.grad.numpy().copy() for leaf in (x, w) if leaf.grad is not None]
    return found


@pytest.mark.parametrize("name", FORMS)
def test_gradients_are_those_of_a_product_and_a_sum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for dtype, turned in ((np.float32, False), (np.float64, True)):
        here = gradients(FORMS[name], dtype, turned)
        with monkeypatch.context() as patched:
            patched.setattr(compiled, "fast", None)
            expected = gradients(FORMS[name], dtype, turned)
        assert len(here) == len(expected) >= 3
        for found, wanted in zip(here, expected, strict=True):
            assert found.dtype == wanted.dtype and found.strides == wanted.strides
            error = np.abs(found - wanted).max() / np.abs(wanted).max()
            assert error < 100 * np.finfo(dtype).eps


def test_the_gradient_stays_one_object_over_one_memory() -> None:
    x, w = leaves()
    for _ in range(2):
        add_gradients(x.detach() @ w.t())
    grad, array = w.grad, w.grad.array
    counts = sys.getrefcount(array), sys.getrefcount(grad), sys.getrefcount(w)
    for turn in range(2, 20):
        add_gradients(x.detach() @ w.t())
        assert w.grad is grad and grad.array is array and grad._version == turn
    assert counts == (sys.getrefcount(array), sys.getrefcount(grad), sys.getrefcount(w))
    assert np.allclose(array, 20 * x.detach().numpy().sum(0), rtol=1e-4, atol=1e-3)


def test_what_a_user_set_is_added_to_as_it_lies() -> None:
    x, w = leaves()
    x = x.detach()
    once = np.broadcast_to(x.numpy().sum(0), w.shape)
    zeros = np.zeros((2, MADE, 99), np.float32)
    for mine in (zeros[0, :, :WIDTH].copy(), zeros[0, :WIDTH, :MADE].copy().T, zeros[1, :, :WIDTH]):
        w.grad = opwright.from_numpy(mine)
        for times in (1, 2):
            add_gradients(x @ w.t())
            assert np.allclose(mine, times * once, rtol=1e-4, atol=1e-3)
        w.grad.zero_()
        add_gradients(x @ w.t())
        assert np.allclose(mine, once, rtol=1e-4, atol=1e-3)
    with pytest.raises(RuntimeError, match="dtype"):
        w.grad = opwright.zeros(*w.shape, dtype=opwright.float64)


def test_memory_in_common_with_an_operand_is_read_before_it_is_written() -> None:
    found = []
    for is_apart in (False, True):
        _, w = leaves()
        w.grad = opwright.from_numpy(np.linspace(-1, 1, MADE * WIDTH, dtype=np.float32).reshape(MADE, WIDTH))
        rows = w.grad.detach()[:ROWS]
        (rows.clone() if is_apart else rows).matmul(w.t()).square().sum().backward()
        found.append(w.grad.numpy())
    assert np.allclose(*found, rtol=1e-4, atol=1e-3)


class Watch(opwright.autograd.Function):
    """The same tensor, and a look at a leaf's gradient when a pass comes by."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, look: Callable[[], None]) -> Tensor:
        ctx.look = look
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        ctx.look()
        return grad, None


def test_nobody_sees_a_part_of_a_gradient() -> None:
    x, w = leaves()
    seen: list[np.ndarray] = []
    w.grad = opwright.zeros(*w.shape)

    def look() -> None:
        seen.append(w.grad.numpy().copy())

    def through(turned: Tensor) -> Tensor:
        return Watch.apply(Watch.apply(x, look) @ turned, look) @ w @ turned

    turned = w.t()
    for form in (lambda: through(turned), lambda: through(w.t())) * 2:  # the first tensors are made by the Python
        add_gradients(form())
        whole = w.grad.numpy().copy()
        assert len(seen) == 2 and not any(each.any() for each in seen) and whole.any()
        seen.clear()
        w.grad = opwright.zeros(*w.shape)


def test_hooks_are_shown_whole_gradients() -> None:
    x, w = leaves()
    shown: list[tuple[str, float]] = []
    expected = float(x.detach().numpy().sum() * MADE)

    def run(tensor: Tensor) -> None:
        add_gradients(x.detach() @ tensor + x.detach() @ tensor)

    w.grad = opwright.zeros(*w.shape)
    turned = w.t()
    turned.register_hook(lambda grad: shown.append(("view", 2 * float(grad.sum()))))
    add_gradients(x.detach() @ turned)
    kept = w.t()
    kept.retain_grad()
    run(kept)
    shown.append(("retained", float(kept.grad.sum())))
    removed = w.register_hook(lambda grad: shown.append(("leaf", float(grad.sum()))))
    run(w.t())
    removed.remove()
    w.register_post_accumulate_grad_hook(lambda leaf: shown.append(("post", float(leaf.grad.sum()) / 3.5)))
    run(w.t())
    assert [name for name, _ in shown] == ["view", "retained", "leaf", "post"]
    assert all(np.isclose(value, 2 * expected, rtol=1e-3) for _, value in shown)


def test_gradients_that_somebody_has_are_not_written_to() -> None:
    x, w = leaves()
    square = w.detach()[:WIDTH]
    for view in (lambda y: y, lambda y: y.view(-1).view(*x.shape), lambda y: y.t().t()):
        for _ in range(2):
            seen: list[Tensor] = []
            y = x * 1
            product = y @ square  # older than what comes before it in the pass
            other = view(y)
            if other is not y:
                other.register_hook(seen.append)
            given = opwright.ones(*x.shape)
            (product * 2 + other).backward(given)
            assert all((each.numpy() == 1).all() for each in (given, *seen))


def test_what_python_computes_is_added_once() -> None:
    def doubled(array: Any) -> Any:
        return array.clone()

    found = []
    for packs in (False, True):
        x, w = leaves()
        with saved_tensors_hooks(doubled, doubled) if packs else opwright.enable_grad():
            product = x @ w.t()
        ((x @ w.t()).sin() + product.cos()).sum().backward()
        found.append((x.grad.numpy(), w.grad.numpy()))
    for one, other in zip(*found, strict=True):
        assert np.allclose(one, other, rtol=1e-4, atol=1e-3)


def test_a_node_that_fails_adds_nothing() -> None:
    x, w = leaves()
    w.grad = opwright.zeros(*w.shape)
    y, turned = x * 1, w.t()
    product = y @ turned
    with opwright.no_grad():
        turned.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        add_gradients(product)
    assert not w.grad.numpy().any()


def test_errors_that_numpy_is_to_raise_are_raised() -> None:
    x, w = leaves()
    large = opwright.full((ROWS, MADE), 3e38)
    (x.detach() @ w.t()).backward(large * 0)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        (x.detach() @ w.t()).backward(large)
    (x.detach() @ w.t()).backward(large)
    assert np.isinf(w.grad.numpy()).any()


def test_threads_add_to_one_leaf() -> None:
    x, w = leaves()
    x = x.detach()
    once = np.broadcast_to(x.numpy().sum(0), w.shape)
    add_gradients(x @ w.t())
    failed: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(10):
                add_gradients(x @ w.t())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert np.allclose(w.grad.numpy(), 161 * once, rtol=1e-3, atol=1e-2)
