"""`grad(is_grads_batched=True)` against PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from both import check, message  # noqa: E402
from functions import leaf  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

pytestmark = pytest.mark.oracle


def batch(t: Any, *shape: int) -> Any:
    return t.arange(0, 12, dtype=t.float64)[: torch.Size(shape).numel()].reshape(shape)


def test_each_sample_is_a_backward_pass() -> None:
    def programme(t: Any) -> Any:
        x, y = leaf(t, 3), leaf(t, 3, seed=1)
        return t.autograd.grad(x * y.exp(), (x, y), batch(t, 4, 3), is_grads_batched=True)

    assert check(programme)[0][2] == (4, 3)


def test_several_outputs_and_the_graph_afterwards() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t, 3)
        outputs = x * x, (x * x).sum()
        grads = batch(t, 2, 3), batch(t, 2)
        first = t.autograd.grad(outputs, x, grads, is_grads_batched=True, retain_graph=True)
        return first, t.autograd.grad(outputs, x, grads, is_grads_batched=True)

    check(programme)


def test_the_graph_is_freed() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t, 3)
        y = x * x
        t.autograd.grad(y, x, batch(t, 2, 3), is_grads_batched=True)
        t.autograd.grad(y, x, batch(t, 2, 3), is_grads_batched=True)

    assert check(programme) == ("raises", "RuntimeError")


def test_unused_inputs() -> None:
    def programme(t: Any, **options: Any) -> Any:
        x, y = leaf(t, 3), leaf(t, 3)
        return t.autograd.grad(x * x, (x, y), batch(t, 2, 3), is_grads_batched=True, **options)

    assert check(programme) == ("raises", "RuntimeError")
    assert check(lambda t: programme(t, allow_unused=True))[1] is None
    assert check(lambda t: programme(t, materialize_grads=True))[1][2] == (3,)


def test_what_is_no_batch() -> None:
    def programme(t: Any, *shapes: Any) -> Any:
        x = leaf(t, 3)
        grads = [None if shape is None else batch(t, *shape) for shape in shapes]
        return t.autograd.grad((x * x, (x * x).sum()), x, grads, is_grads_batched=True)

    assert "grad_output[0] has a shape of [2, 4]" in message(lambda t: programme(t, (2, 4), (2,)))
    assert "grad_output[1] has a shape of [2, 3]" in message(lambda t: programme(t, (2, 3), (2, 3)))
    assert "2 in grad_output[0], 3 in grad_output[1]" in message(lambda t: programme(t, (2, 3), (3,)))
    assert "the batch is empty" in message(lambda t: programme(t, (0, 3), (0,)))
