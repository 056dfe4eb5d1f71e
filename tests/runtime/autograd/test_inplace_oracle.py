"""Writes, views and versions against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from both import check, message  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

import opwright  # noqa: E402

pytestmark = pytest.mark.oracle


def leaf(t: Any, *values: float) -> Any:
    return t.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def matrix(t: Any) -> Any:
    return t.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


def test_leaves_are_not_written() -> None:
    assert "leaf Variable" in message(lambda t: leaf(t).add_(t.ones(3)))
    assert "view of a leaf" in message(lambda t: matrix(t).select(0, 1).mul_(t.ones(3)))

    def unchanged(t: Any) -> Any:
        x = matrix(t)
        for target in (x, x.select(0, 0)):
            try:
                target.mul_(t.zeros(3))
            except RuntimeError:
                continue
        with t.no_grad():
            x.select(0, 0).add_(t.ones(3))
            x.mul_(t.full([], 2.0))
        return x, x.is_leaf, x._version

    check(unchanged)


def test_a_write_to_what_an_operator_made() -> None:
    def programme(t: Any) -> Any:
        x, w = leaf(t), leaf(t)
        y = x * 2.0
        y.mul_(w)
        y.add_(x)
        z = y.exp_()
        z.sum().backward()
        return z is y, x.grad, w.grad, y._version

    check(programme)


def test_a_write_makes_a_plain_tensor_require_grad() -> None:
    def programme(t: Any) -> Any:
        buffer, w = t.zeros(2, 3), leaf(t)
        first, second = buffer.select(0, 0), buffer.select(0, 1).select(0, 2)
        before = first.requires_grad, buffer.is_leaf
        buffer.select(0, 0).add_(w)
        after = first.requires_grad, buffer.is_leaf, first.is_leaf, second.requires_grad, first.grad_fn.name()
        (first * first).sum().backward(retain_graph=True)
        half = w.grad.clone()
        (buffer * buffer).sum().backward()
        return before, after, half, w.grad, buffer

    check(programme)


def test_the_base_sees_a_write_to_its_view() -> None:
    def programme(t: Any) -> Any:
        x, w = matrix(t), leaf(t)
        y = x * 1.0
        row = y.select(0, 1)
        row.mul_(w)
        name = y.grad_fn.name(), row.grad_fn.name()
        (y * y).sum().backward()
        return name, y, x.grad, w.grad

    check(programme)


def test_a_view_sees_a_write_to_its_base_and_to_other_views() -> None:
    def programme(t: Any) -> Any:
        x, w = matrix(t), leaf(t)
        y = x * 1.0
        turned = y.t()
        row = y.select(0, 0)
        inner = turned.select(0, 1)
        y.mul_(w)
        row.add_(w)
        names = turned.grad_fn.name(), inner.grad_fn.name()
        (turned * turned).sum().backward(retain_graph=True)
        first = x.grad.clone(), w.grad.clone()
        (inner * inner).sum().backward()
        return names, first, x.grad, w.grad

    check(programme)


def test_a_write_to_a_view_of_a_view() -> None:
    def programme(t: Any) -> Any:
        x, w = matrix(t), t.tensor(3.0, requires_grad=True)
        y = x * 1.0
        y.t().select(0, 2).select(0, 1).mul_(w)
        (y * y).sum().backward()
        return y, x.grad, w.grad

    check(programme)


def test_several_writes_to_several_views() -> None:
    def programme(t: Any) -> Any:
        x, w = matrix(t), leaf(t)
        y = x * 1.0
        for row in (0, 1, 0):
            y.select(0, row).mul_(w)
            y.add_(x)
        (y * y).sum().backward()
        return y, x.grad, w.grad

    check(programme)


def test_views_made_in_no_grad() -> None:
    def view_written(t: Any) -> Any:
        y = matrix(t) * 1.0
        with t.no_grad():
            row = y.select(0, 0)
        row.mul_(t.ones(3))

    def base_written(t: Any) -> Any:
        y = matrix(t) * 1.0
        with t.no_grad():
            row = y.select(0, 0)
        y.mul_(t.ones(3))
        return row.grad_fn

    def both_inside(t: Any) -> Any:
        x = matrix(t)
        y = x * 1.0
        with t.no_grad():
            y.select(0, 0).mul_(t.zeros(3))
        (y * 2.0).sum().backward()
        return y, x.grad

    assert "no_grad" in message(view_written)
    assert "no_grad" in message(base_written)
    check(both_inside)


def test_one_of_several_views_is_not_written() -> None:
    def programme(t: Any) -> Any:
        first, _ = (matrix(t) * 1.0).unbind(0)
        first.mul_(t.ones(3))

    assert "multiple views" in message(programme)


@pytest.mark.parametrize(
    "write",
    [
        lambda t, x: x.add_(t.ones(3)),
        lambda t, x: x.select(0, 0).add_(t.ones([])),
        lambda t, x: x.detach().add_(t.ones(3)),
    ],
)
def test_a_saved_operand_written_to(write: Any) -> None:
    def programme(t: Any) -> Any:
        x = leaf(t) * 1.0
        y = x * x.detach()
        write(t, x)
        y.sum().backward()

    text = message(programme)
    assert "version 1; expected version 0" in text


def test_a_saved_result_written_to() -> None:
    def saved(t: Any) -> Any:
        y = leaf(t).exp()
        y.mul_(t.ones(3))
        y.sum().backward()

    def not_saved(t: Any) -> Any:
        x = leaf(t)
        y = x + t.ones(3)
        y.mul_(t.full([3], 2.0))
        y.sum().backward()
        return x.grad

    def by_itself(t: Any) -> Any:
        x = leaf(t) * 1.0
        x.mul_(x)
        x.sum().backward()

    assert "output 0 of ExpBackward0" in message(saved)
    check(not_saved)
    message(by_itself)


def test_versions() -> None:
    def programme(t: Any) -> Any:
        x = t.ones(2, 3)
        row, alias = x.select(0, 0), x.detach()
        x.add_(t.ones(3))
        row.mul_(t.ones(3))
        with t.no_grad():
            alias.add_(t.ones(3))
        return x._version, row._version, alias._version, x.clone()._version, alias._base is None

    check(programme)


def test_a_backward_from_a_view_of_a_written_base() -> None:
    def programme(t: Any) -> Any:
        x, w = matrix(t), leaf(t)
        y = x * 1.0
        row = y.select(0, 0)
        y.mul_(w)
        row.retain_grad()
        row.backward(t.ones(3), retain_graph=True)
        (found,) = t.autograd.grad(row, y, t.ones(3), retain_graph=True)
        y.add_(x)
        (w * y).sum().backward()
        return x.grad, w.grad, found

    check(programme)


def test_data() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * 1.0
        z = y * y
        y.data.add_(t.ones(3))
        x.data.mul_(t.full([3], 2.0))
        z.sum().backward()
        seen = x.grad, x, y, y.data.requires_grad, x._version, y._version
        w = leaf(t)
        w.data = t.ones(2)
        (w * w).sum().backward()
        return *seen, w, w.grad, w.is_leaf

    check(programme)


def test_detach() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * 2.0
        d = y.detach()
        kept = y.requires_grad, d.requires_grad, d.is_leaf, d._base is None
        buffer = t.zeros(3)
        alias = buffer.detach()
        buffer.add_(x)
        return kept, alias.requires_grad, y.detach_() is y, y.requires_grad, y.is_leaf, y.grad_fn

    check(programme)
    assert "view" in message(lambda t: (matrix(t) * 1.0).select(0, 0).detach_())


def test_retain_grad_and_hooks_across_a_write() -> None:
    def programme(t: Any) -> Any:
        seen = []
        x = leaf(t)
        y = x * 2.0
        y.retain_grad()
        y.register_hook(lambda grad: seen.append(grad.clone()))
        y.mul_(t.full([3], 5.0))
        y.register_hook(lambda grad: seen.append(grad.clone()))
        y.sum().backward()
        return seen, y.grad, x.grad

    check(programme)


def test_a_write_to_an_overlapping_view_of_a_base() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * 1.0
        wide = y.expand(2, 3)
        y.mul_(t.full([3], 2.0))
        wide.sum().backward()
        return x.grad, wide.grad_fn.name()

    check(programme)


def test_a_write_to_a_view_can_be_differentiated_twice() -> None:
    x = leaf(opwright)
    w = leaf(opwright, 2.0, 3.0, 4.0)
    y = x * 1.0
    y.mul_(w)
    (first,) = opwright.autograd.grad((y * y).sum(), w, create_graph=True)
    (second,) = opwright.autograd.grad(first.sum(), w)
    assert second.tolist() == [2.0, 8.0, 18.0]


def test_a_saved_result_of_a_write_to_a_view_can_be_differentiated() -> None:
    def programme(t: Any, write: Any) -> Any:
        x = matrix(t)
        y = x * 1.0
        write(y.select(0, 1))
        (first,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
        (first * first).sum().backward()  # frees each node once: none may be reached by two ways
        return first, x.grad

    def by_function(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0]

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type("Exp", (t.autograd.Function,), members).apply

    check(lambda t: programme(t, lambda part: part.exp_()))
    check(lambda t: programme(t, by_function(t)))
