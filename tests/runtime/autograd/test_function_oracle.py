"""Function against PyTorch's: the same classes, programmes and errors."""

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


def square(t: Any) -> Any:
    class Square(t.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * 2.0

    return Square


def function(t: Any, forward: Any, backward: Any, setup: Any = None) -> Any:
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if setup is not None:
        members["setup_context"] = staticmethod(setup)
    return type("Made", (t.autograd.Function,), members)


def test_saved_tensors_and_double_backward() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = square(t).apply(x)
        (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = t.autograd.grad(first.sum(), x)
        return y, first, second, y.grad_fn.name(), y.requires_grad, first.requires_grad

    check(programme)


def test_setup_context_and_needs_input_grad() -> None:
    def programme(t: Any) -> Any:
        seen = []

        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            a, _, scale = inputs
            ctx.save_for_backward(a, None, output)
            ctx.scale = scale
            seen.append((ctx.needs_input_grad, output.requires_grad))

        def backward(ctx: Any, grad: Any) -> Any:
            a, nothing, output = ctx.saved_tensors
            seen.append((nothing, output.requires_grad, ctx.needs_input_grad))
            return grad * ctx.scale, grad * a, None

        made = function(t, lambda a, b, scale: a * b * scale, backward, setup)
        x, w = leaf(t), t.ones(3)
        made.apply(x, w, 3.0).sum().backward()
        with t.no_grad():
            result = made.apply(x, w, 2.0)
        return seen, x.grad, w.grad, result.requires_grad

    check(programme)


def test_a_saved_output() -> None:
    def programme(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        made = function(t, forward, lambda ctx, grad: grad * ctx.saved_tensors[0])
        x = leaf(t)
        y = made.apply(x)
        (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = t.autograd.grad(first.sum(), x, retain_graph=True)
        return first, second, y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn

    check(programme)


def test_several_outputs_and_what_is_not_defined() -> None:
    def programme(t: Any, materialize: bool) -> Any:
        seen = []

        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2.0, x * 3.0, 5, None

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return sum(grad * factor for grad, factor in zip(grads, (2.0, 3.0), strict=False) if grad is not None)

        made = function(t, forward, backward)
        x = leaf(t)
        a, b, five, nothing = made.apply(x)
        a.sum().backward(retain_graph=True)
        (a * b).sum().backward()
        return seen, x.grad, five, nothing, a.output_nr, b.output_nr, a.grad_fn is b.grad_fn

    for materialize in (True, False):
        check(lambda t, m=materialize: programme(t, m))  # type: ignore[misc]


def test_outputs_without_gradient() -> None:
    def programme(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            index, rest = t.argmax(x), x * 0.5
            ctx.mark_non_differentiable(rest)
            return x * 2.0, index, rest

        made = function(t, forward, lambda ctx, a, b, c: a * 2.0)
        x = leaf(t)
        y, index, rest = made.apply(x)
        y.sum().backward()
        return x.grad, index, rest, index.requires_grad, rest.requires_grad, rest.grad_fn

    check(programme)


@pytest.mark.parametrize("materializes", [True, False])
def test_what_has_no_gradient_gets_zeros_of_its_dtype(materializes: bool) -> None:
    def programme(t: Any) -> Any:
        seen = []

        class Several(t.autograd.Function):  # type: ignore[name-defined,misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                marked, order = x * 3, x.argsort()
                ctx.mark_non_differentiable(marked)
                ctx.set_materialize_grads(materializes)
                return marked, x * 2, order, x * 4, None, "text"

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                seen.append(grads)
                return grads[1] * 2

        x = t.tensor([1.0, 2.0], requires_grad=True)
        found = Several.apply(x)
        found[1].sum().backward()
        return seen, x.grad, [each.requires_grad for each in found[:4]]

    check(programme)


def test_dirty_inputs() -> None:
    def writing(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x.mul_(t.full([], 3.0))
            return x

        return function(t, forward, lambda ctx, grad: grad * 3.0)

    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * 1.0
        before = y._version
        z = writing(t).apply(y)
        z.sum().backward()
        return z is y, y._version > before, x.grad, y.grad_fn.name()

    def unreturned(t: Any) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x * 1.0

        return function(t, forward, lambda ctx, grad: grad).apply(leaf(t) * 1.0)

    def on_view(t: Any) -> Any:
        x = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = x * 1.0
        writing(t).apply(y.select(0, 1))
        (y * y).sum().backward()
        return y, x.grad

    check(programme)
    check(on_view)
    assert "marked as dirty" in message(unreturned)
    assert "leaf" in message(lambda t: writing(t).apply(leaf(t)))


def test_an_input_returned_as_it_is() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = function(t, lambda ctx, a: a, lambda ctx, grad: grad * 5.0).apply(x)
        y.sum().backward()
        return y is x, y.requires_grad, x.grad, y.is_leaf

    def written(t: Any) -> Any:
        y = function(t, lambda ctx, a: a, lambda ctx, grad: grad).apply(leaf(t) * 1.0)
        y.mul_(t.ones(3))

    check(programme)
    assert "Function" in message(written)


def test_a_saved_tensor_written_to() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t) * 1.0
        y = square(t).apply(x)
        x.select(0, 0).add_(t.ones([]))
        y.sum().backward()

    text = message(programme)
    assert "is at version 1; expected version 0" in text
    assert "shape [3]" in text
    assert "MulBackward1" in text or "CopySlices" in text


def test_a_graph_is_freed() -> None:
    def programme(t: Any) -> Any:
        y = square(t).apply(leaf(t)).sum()
        y.backward()
        y.backward()

    assert "second time" in message(programme)


def test_once_differentiable() -> None:
    def made(t: Any) -> Any:
        once = t.autograd.function.once_differentiable
        return function(t, lambda ctx, x: x * 2.0, once(lambda ctx, grad: grad * 2.0))

    def first(t: Any) -> Any:
        x = leaf(t)
        (grad,) = t.autograd.grad(made(t).apply(x).sum(), x)
        return grad, grad.requires_grad

    def twice(t: Any) -> Any:
        x = leaf(t)
        y = made(t).apply(x) * x
        (grad,) = t.autograd.grad(y.sum(), x, create_graph=True)
        grad.sum().backward()

    check(first)
    assert "once_differentiable" in message(twice)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda t, grad: (grad, grad), "incorrect number of gradients"),
        (lambda t, grad: t.ones(2), "invalid gradient at index 0"),
        (lambda t, grad: 3.0, ""),
    ],
)
def test_wrong_gradients(returned: Any, words: str) -> None:
    def programme(t: Any) -> Any:
        made = function(t, lambda ctx, x: x * 2.0, lambda ctx, grad: returned(t, grad))
        made.apply(leaf(t)).sum().backward()

    assert words in message(programme)


def test_gradients_that_fit() -> None:
    def programme(t: Any) -> Any:
        wide = function(t, lambda ctx, x: x * 2.0, lambda ctx, grad: (t.ones(2, 3), None, None))
        x = leaf(t)
        wide.apply(x).sum().backward()
        double = function(t, lambda ctx, x: x * 2.0, lambda ctx, grad: grad.double())
        w = leaf(t)
        double.apply(w).sum().backward()
        return x.grad, w.grad

    check(programme)


def test_a_gradient_of_what_is_no_tensor() -> None:
    def programme(t: Any) -> Any:
        made = function(t, lambda ctx, x, n: x * n, lambda ctx, grad: (grad, grad))
        made.apply(leaf(t), 2.0).sum().backward()

    assert "position 2" in message(programme)


def test_a_function_is_not_instantiated() -> None:
    with pytest.raises(RuntimeError, match="should not be instantiated"):
        square(opwright)()


def test_missing_parts() -> None:
    class Bare:
        def __new__(cls, t: Any) -> Any:
            return type("Bare", (t.autograd.Function,), {})

    message(lambda t: Bare(t).apply(leaf(t)))
    message(lambda t: function(t, lambda ctx, x: ctx.save_for_backward(3) or x * 1.0, None).apply(leaf(t)))
    message(
        lambda t: (
            type("NoBackward", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2.0)})
            .apply(leaf(t))
            .sum()
            .backward()
        )
    )


def test_saved_tensors_hooks() -> None:
    def programme(t: Any) -> Any:
        packed = []

        def pack(tensor: Any) -> Any:
            packed.append(tensor)
            return tensor.detach().clone()

        x = leaf(t)
        with t.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept * 2.0):
            y = square(t).apply(x)
        y.sum().backward()
        return packed, x.grad

    check(programme)
