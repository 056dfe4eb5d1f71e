"""The engine against PyTorch: the same programmes, values, order of hooks, errors."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from both import check, message  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

from opwright_core.core import fast  # noqa: E402

pytestmark = pytest.mark.oracle


def leaf(t: Any, *values: float) -> Any:
    return t.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def test_a_chain_with_broadcasting_and_repeated_use() -> None:
    def programme(t: Any) -> Any:
        x, b = leaf(t), leaf(t, 2.0)
        y = (x * b + x) * x
        y.sum().backward()
        return x.grad, b.grad, y.requires_grad, y.is_leaf, x.is_leaf

    check(programme)


def test_backward_accumulates_and_a_freed_graph_is_an_error() -> None:
    def twice(t: Any) -> Any:
        x = leaf(t)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    def thrice(t: Any) -> Any:
        x = leaf(t)
        y = (x * x).sum()
        y.backward()
        y.backward()

    def nothing_saved(t: Any) -> Any:
        x = leaf(t)
        y = (x + x).sum()
        y.backward()
        y.backward()
        return x.grad

    check(twice)
    check(nothing_saved)
    assert "second time" in message(thrice)


def test_gradients_of_several_roots() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y, z = x * 2.0 * x, x.exp()
        t.autograd.backward([y, z, y], [t.ones(3), t.ones(3) * x.detach(), None or t.ones(3)])
        return x.grad

    check(programme)


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_grad_leaves_grad_alone() -> None:
    def programme(t: Any) -> Any:
        x, w, u = leaf(t), leaf(t), leaf(t)
        y = x * w
        z = y.exp()
        got = t.autograd.grad(z.sum(), [x, y, u], allow_unused=True, retain_graph=True)
        zeros = t.autograd.grad(z.sum(), [u, w], materialize_grads=True)
        return got, zeros, x.grad, w.grad, y.grad

    check(programme)


def test_second_and_third_derivatives() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = (x * x * x).sum()
        (first,) = t.autograd.grad(y, x, create_graph=True)
        (second,) = t.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = t.autograd.grad(second.sum(), x)
        e = (x.exp() * x).sum()
        e.backward(create_graph=True)
        kept = x.grad
        x.grad = None
        (again,) = t.autograd.grad(kept.sum(), x)
        return first, second, third, kept, again, kept.requires_grad

    check(programme)


def test_backward_into_named_inputs() -> None:
    def programme(t: Any) -> Any:
        x, w = leaf(t), leaf(t)
        y = x * w
        z = (y * x).sum()
        z.backward(inputs=[x, y], retain_graph=True)
        z.backward(inputs=[x])
        return x.grad, w.grad, y.grad

    check(programme)
    assert "empty" in message(lambda t: (leaf(t) * 1.0).sum().backward(inputs=[]))


def test_no_gradient_still_reaches_the_nodes_behind() -> None:
    def programme(t: Any) -> Any:
        seen: list[Any] = []

        class Nothing(t.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                return a * 1.0

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return None

        class Double(t.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                return a * 2.0

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                seen.append(grad)
                return grad * 2.0

        x, w = leaf(t), leaf(t)
        y = Double.apply(x)
        y.register_hook(lambda grad: seen.append(grad))
        Nothing.apply(y).sum().backward()
        w.register_hook(lambda grad: seen.append(grad))
        Nothing.apply(w * w).sum().backward()
        return seen, x.grad, w.grad

    check(programme)


def test_order_of_hooks() -> None:
    def programme(t: Any) -> Any:
        seen: list[str] = []

        def watch(tensor: Any, name: str) -> Any:
            tensor.register_hook(lambda grad: seen.append(name))
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_hook(lambda a, b: seen.append(f"{name}.node"))
                tensor.grad_fn.register_prehook(lambda a: seen.append(f"{name}.pre"))
            else:
                tensor.register_post_accumulate_grad_hook(lambda leaf: seen.append(f"{name}.post"))
            return tensor

        a, b, c = (watch(leaf(t), name) for name in "abc")
        d = watch(a * b, "d")
        e = watch(c * d, "e")
        f = watch(d.exp(), "f")
        g = watch(e + f * a, "g")
        g.sum().backward()
        return seen, a.grad, b.grad, c.grad

    check(programme)


def test_hooks_put_other_gradients_in_place() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * x
        y.retain_grad()
        handle = y.register_hook(lambda grad: grad * 10.0)
        y.register_hook(lambda grad: grad + 1.0)
        x.register_hook(lambda grad: grad * 2.0)
        y.grad_fn.register_prehook(lambda grads: (grads[0] * 3.0,))
        y.grad_fn.register_hook(lambda results, grads: tuple(None if r is None else r * 0.5 for r in results))
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        return x.grad, y.grad, y.retains_grad, x.retains_grad

    check(programme)


@pytest.mark.parametrize("bad", [lambda t: t.ones(4), lambda t: t.ones(3, dtype=t.float64), lambda t: 3.0])
def test_a_hook_must_return_a_gradient_of_the_same_kind(bad: Any) -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        x.register_hook(lambda grad: bad(t))
        x.sum().backward()

    message(programme)


def test_nodes_can_be_looked_at() -> None:
    def programme(t: Any) -> Any:
        x, w = leaf(t), t.ones(3)
        y = x * w + x
        (product, first), (accumulate, second) = y.grad_fn.next_functions
        (_, _), (nothing, _) = product.next_functions
        return (
            y.grad_fn.name(), product.name(), first, accumulate.name(), second, nothing,
            accumulate.variable is x, x.grad_fn, product.next_functions[0][0] is accumulate,
        )  # fmt: skip

    check(programme)


@pytest.mark.skipif(fast is None, reason="the Python engine copies gradients: it does not know who else has one")
def test_hooks_of_leaves_are_shown_the_gradient_that_the_leaf_keeps() -> None:
    def programme(t: Any) -> Any:
        seen = []
        for x in (leaf(t), t.ones(2, 3).t().requires_grad_()):
            for product in (x * 2, x * x + x, x.clone(), (x * 3).exp() * t.ones_like(x)):
                x.grad = None
                end = (x * 1).grad_fn.next_functions[0][0]
                handle = end.register_hook(
                    lambda none, grads, x=x: seen.append((len(none), grads[0].data_ptr() == x.grad.data_ptr(), grads))
                )
                product.backward(t.ones_like(x) * 2)
                (x * 2).sum().backward()
                handle.remove()
        return seen

    check(programme)


def test_leaves_that_are_roots_run_after_those_that_were_complete_before() -> None:
    def programme(t: Any) -> Any:
        seen: list[str] = []
        x, y = leaf(t), leaf(t)
        for name, each in (("x", x), ("y", y)):
            each.register_hook(lambda grad, name=name: seen.append(name))
            each.register_post_accumulate_grad_hook(lambda each, name=name: seen.append(f"{name} has it"))
        for roots in ([y.sum(), (x + y).sum()], [(x + y).sum(), y.sum()], [x.sum(), (y + x).sum()]):
            t.autograd.backward(roots)
        return seen, x.grad, y.grad

    check(programme)


def test_what_hooks_of_leaves_write_to_is_the_gradient() -> None:
    def programme(t: Any) -> Any:
        x, seen = leaf(t), []
        y = (x * 2).exp()
        y.register_hook(lambda grad: seen.append(("y", grad)))
        x.register_hook(lambda grad: grad * 3)
        end = (x * 1).grad_fn.next_functions[0][0]
        end.register_prehook(lambda grads: seen.append(("before", grads)))
        x.register_post_accumulate_grad_hook(lambda x: seen.append(("accumulated", x.grad.clone())))
        end.register_hook(lambda _, grads: grads[0].mul_(10))
        (y + x).sum().backward()
        given = t.ones(3)
        x.backward(given)
        return seen, x.grad, given

    check(programme)


def test_gradients_take_the_dtype_of_what_they_belong_to() -> None:
    def programme(t: Any) -> Any:
        x = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
        w = t.tensor([[1.0], [2.0]], dtype=t.float32, requires_grad=True)
        (x * w).sum().backward()
        return x.grad, w.grad

    check(programme)


def test_gradients_of_factors_lie_as_the_factors() -> None:
    def programme(t: Any) -> Any:
        found = []
        for turned in ((False, False), (True, False), (False, True), (True, True)):
            shapes = zip(((3, 4), (4, 5)), turned, strict=True)
            x, y = (t.ones(shape[::-1]).t() if way else t.ones(shape) for shape, way in shapes)
            x, y = x.requires_grad_(), y.requires_grad_()
            for product in (t.mm(x, y), t.addmm(t.ones(5), x, y), t.addmm(y[0], x, y, alpha=2)):
                grads = t.autograd.grad(product.sum(), (x, y))
                found += [(grad.stride(), grad) for grad in grads]
        return found

    check(programme)


def test_strides_of_gradients_follow_the_leaf() -> None:
    def programme(t: Any) -> Any:
        x = t.ones(2, 3).t().clone().requires_grad_()
        grad = t.ones(3, 2)
        (x * 2.0).backward(grad)
        y = t.ones(3, 2).t()
        y = y.detach().requires_grad_()
        (y * t.ones(2, 3)).sum().backward()
        z = t.ones(3).requires_grad_()
        (z + t.ones(3)).sum().backward()
        wide = t.ones(1).expand(3).detach().requires_grad_()
        (wide * 2.0).sum().backward()
        return x.grad.stride(), y.grad.stride(), z.grad.stride(), z.grad, wide.grad.stride()

    check(programme)


def test_stored_gradients_share_no_memory() -> None:
    def programme(t: Any) -> Any:
        x, w = leaf(t), leaf(t)
        given = t.ones(3)
        (x + w).backward(given)
        x.grad.add_(t.ones(3))
        return x.grad, w.grad, given

    check(programme)


def test_a_gradient_that_a_hook_kept_does_not_change() -> None:
    def programme(t: Any) -> Any:
        kept = []
        x, w = leaf(t), leaf(t)
        y = x * 3.0
        y.register_hook(kept.append)
        w.register_hook(kept.append)
        for _ in range(3):
            (y * w).backward(t.ones(3), retain_graph=True)
        first = x.grad
        x.grad = None
        (y * w).backward(t.ones(3))
        return kept, first, x.grad, w.grad

    check(programme)


def test_errors() -> None:
    assert "scalar" in message(lambda t: (leaf(t) * 1.0).backward())
    assert "does not require grad" in message(lambda t: t.ones(1).backward())
    assert "not have been used" in message(lambda t: t.autograd.grad(leaf(t).sum(), leaf(t)))
    assert "does not require grad" in message(lambda t: t.autograd.grad(leaf(t).sum(), t.ones(3)))
    assert "shape" in message(lambda t: leaf(t).backward(t.ones(4)))
    assert "dtype" in message(lambda t: leaf(t).backward(t.ones(3, dtype=t.complex64)))
    message(lambda t: t.autograd.backward([leaf(t), leaf(t)], [t.ones(3)]))
    message(lambda t: t.ones(3).retain_grad())
    message(lambda t: t.ones(3).register_hook(print))
    message(lambda t: (leaf(t) * 1.0).register_post_accumulate_grad_hook(print))
    message(lambda t: (leaf(t) * 1.0).requires_grad_(False))
    message(lambda t: t.ones(3, dtype=t.int64).requires_grad_())
    check(lambda t: leaf(t).retain_grad())


@pytest.mark.parametrize(
    "value", [lambda t, x: t.ones(4), lambda t, x: 3, lambda t, x: x, lambda t, x: t.ones(3).double()]
)
def test_what_cannot_be_assigned_to_grad(value: Any) -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        x.grad = value(t, x)

    message(programme)


def test_a_backward_within_a_backward() -> None:
    def programme(t: Any) -> Any:
        inner = leaf(t, 4.0)

        class Nested(t.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                return a * 2.0

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                with t.enable_grad():
                    (inner * inner).sum().backward()
                return grad * 2.0

        x = leaf(t)
        Nested.apply(Nested.apply(x)).sum().backward()
        return x.grad, inner.grad

    check(programme)


def test_several_outputs() -> None:
    def programme(t: Any) -> Any:
        x = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        a, b = (x * x).unbind(0)
        (a * 3.0).sum().backward(retain_graph=True)
        first = x.grad.clone()
        (a * b).sum().backward()
        return first, x.grad, a.output_nr, b.output_nr, a.grad_fn is b.grad_fn

    check(programme)
