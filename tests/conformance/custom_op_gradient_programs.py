"""Programs over custom operators that are recorded: see custom_op_programs.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from custom_op_programs import Side, program

if TYPE_CHECKING:
    from opwright import Tensor


def sine(side: Side) -> Any:
    """An operator with a formula."""

    def f(x: Tensor, scale: float = 1.0) -> Tensor:
        return side.lib.from_numpy(np.sin(side.array(x)) * np.float32(scale))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * x.cos() * ctx.scale, None

    op = side.op(f)
    op.register_autograd(backward, setup_context=setup_context)
    return op


def double(side: Side, backward: Any, name: str = "f", **options: Any) -> Any:
    """An operator of two Tensors and a number, with this backward."""

    def f(x: Tensor, y: Tensor, n: int = 2) -> Tensor:
        return x * y * n

    op = side.op(f, name)
    op.register_autograd(backward, **options)
    return op


def gradients(side: Side, op: Any, *args: Any) -> Any:
    """Those of two leaves, or the error."""
    x, y = side.tensor(1, 2, grad=True), side.tensor(3, 4, grad=True)
    found = side.error(lambda: op(x, y, *args).sum().backward())
    return found or (x.grad, y.grad)


@program
def a_formula(side: Side) -> Any:
    op, x = sine(side), side.tensor(0.0, 0.5, 1.0, grad=True)
    y = op(x, 2)
    y.sum().backward()
    with side.lib.no_grad():
        unrecorded = op(x)
    return y, y.requires_grad, y.is_leaf, x.grad, unrecorded.requires_grad, op(x.detach()).requires_grad


@program
def gradients_twice(side: Side) -> Any:
    op, x = sine(side), side.tensor(0.0, 0.5, grad=True)
    (first,) = side.lib.autograd.grad(op(x).sum(), x, create_graph=True)
    (second,) = side.lib.autograd.grad(first.sum(), x)
    return first, first.requires_grad, second


@program
def a_graph_is_freed(side: Side) -> Any:
    op, x = sine(side), side.tensor(1.0, grad=True)
    y = op(x).sum()
    y.backward()
    kept = op(x).sum()
    kept.backward(retain_graph=True)
    kept.backward()
    return side.error(y.backward), x.grad


@program
def no_formula(side: Side) -> Any:
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x > 0

    y, z = side.op(f)(side.tensor(1.0, grad=True))
    return y.requires_grad, z.requires_grad, side.error(y.sum().backward)


@program
def one_gradient_or_a_tuple(side: Side) -> Any:
    found = []
    for backward in (lambda ctx, g: g * 2, lambda ctx, g: (g * 3,), lambda ctx, g: None):

        def f(x: Tensor) -> Tensor:
            return x.clone()

        op, x = side.op(f, f"f{len(found)}"), side.tensor(1.0, grad=True)
        op.register_autograd(backward)
        op(x).sum().backward()
        found.append(x.grad)
    return found


@program
def a_wrong_number_of_gradients(side: Side) -> Any:
    backwards = [lambda ctx, g: (g,), lambda ctx, g: (g, g, None, g)]  # (more that are None: test_autograd's counts)
    return [gradients(side, double(side, backward, f"f{n}"), 3) for n, backward in enumerate(backwards)]


@program
def a_gradient_of_a_number(side: Side) -> Any:
    return gradients(side, double(side, lambda ctx, g: (g, g, g)), 3)


@program
def what_is_no_gradient(side: Side) -> Any:
    return gradients(side, double(side, lambda ctx, g: (g, "a", None)), 3)


@program
def gradients_of_other_shapes(side: Side) -> Any:
    def wide(ctx: Any, g: Any) -> Any:
        return g.expand(3, 2), g * 1, None

    def wrong(ctx: Any, g: Any) -> Any:
        return g, side.lib.ones(5), None

    return gradients(side, double(side, wide), 3), gradients(side, double(side, wrong, "g"), 3)


@program
def gradients_of_other_dtypes(side: Side) -> Any:
    return gradients(side, double(side, lambda ctx, g: (g.to(side.lib.float64), g, None)))


@program
def needs_input_grad(side: Side) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(list(ctx.needs_input_grad))
        return g, g, None

    op = double(side, backward)
    x, y = side.tensor(1, grad=True), side.tensor(2, grad=True)
    for args in ((x, y, 1), (x, y.detach(), 1), (x.detach(), y, 1)):
        op(*args).sum().backward()
    return seen


@program
def what_setup_context_sees(side: Side) -> Any:
    seen: list[Any] = []

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, _, n = inputs
        z = x * 2
        seen.extend([n, x.requires_grad, z.requires_grad, output.requires_grad, type(inputs).__name__])
        ctx.anything = n

    op = double(side, lambda ctx, g: (g * ctx.anything, None, None), setup_context=setup_context)
    found = gradients(side, op)
    op(side.tensor(1), side.tensor(2))  # not recorded: it is not called
    return seen, found


@program
def results_and_nothing_saved(side: Side) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output, None, inputs[1])

    def backward(ctx: Any, g: Any) -> Any:
        result, nothing, y = ctx.saved_tensors
        return g * result + (0 if nothing is None else 1), g * y, None

    return gradients(side, double(side, backward, setup_context=setup_context))


@program
def what_cannot_be_saved(side: Side) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], 3)

    return gradients(side, double(side, lambda ctx, g: (g, g, None), setup_context=setup_context))


@program
def a_saved_tensor_that_is_written_to(side: Side) -> Any:
    op, x = sine(side), side.tensor(1.0, 2.0, grad=True)
    middle = x * 1
    y = op(middle).sum()
    middle.add_(1)
    return side.error(y.backward)


@program
def errors_in_a_formula(side: Side) -> Any:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("by design")

    late = double(side, lambda ctx, g: (g, g, None), "g", setup_context=fails)
    return gradients(side, double(side, fails)), gradients(side, late)


def _parts(side: Side) -> Any:
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x * 3

    return side.op(f)


@program
def unused_results(side: Side) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend(grads)
        return sum(g for g in grads if g is not None)

    op, x = _parts(side), side.tensor(1.0, grad=True)
    op.register_autograd(backward)
    op(x)[1].sum().backward()
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False))
    op(x)[0].sum().backward()
    return seen, x.grad


@program
def results_without_gradient(side: Side) -> Any:
    op, x = _parts(side), side.tensor(1.0, grad=True)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])

    op.register_autograd(lambda ctx, a, b: a * 2, setup_context=setup_context)
    first, second = op(x)
    first.sum().backward()
    return first.requires_grad, second.requires_grad, x.grad


@program
def gradients_of_lists(side: Side) -> Any:
    seen: list[Any] = []

    def f(xs: Sequence[Tensor], y: Tensor) -> Tensor:
        return sum(xs) * y

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return [g * 2, None, g * 3], g

    op = side.op(f)
    op.register_autograd(backward)
    leaves = [side.tensor(1.0, grad=n != 1) for n in range(3)]
    op(leaves, side.tensor(1.0)).sum().backward()
    op.register_autograd(lambda ctx, g: ([g], g))
    return (
        [[list(each) if isinstance(each, list) else each for each in needs] for needs in seen],
        [leaf.grad for leaf in leaves],
        side.error(lambda: op(leaves, side.tensor(1.0)).sum().backward()),
    )


@program
def lists_of_results(side: Side) -> Any:
    def f(x: Tensor, n: int) -> list[Tensor]:
        return [x * each for each in range(1, n + 1)]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.kind = type(output).__name__

    def backward(ctx: Any, grads: Any) -> Any:
        return sum(g * (n + 1) for n, g in enumerate(grads)), None

    op, x = side.op(f), side.tensor(1.0, 2.0, grad=True)
    op.register_autograd(backward, setup_context=setup_context)
    found = op(x, 3)
    (found[0] + found[2]).sum().backward()
    return found, x.grad


@program
def keyword_only_arguments(side: Side) -> Any:
    seen: list[Any] = []

    def f(x: Tensor, *, scale: float = 1.0, shift: float) -> Tensor:
        return x * scale + shift

    def setup_context(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        seen.append((len(inputs), dict(keyword_only_inputs)))
        ctx.scale = keyword_only_inputs["scale"]

    op, x = side.op(f), side.tensor(1.0, grad=True)
    op.register_autograd(lambda ctx, g: g * ctx.scale, setup_context=setup_context)
    op(x, shift=1.0).sum().backward()
    op(x, scale=3, shift=0.5).sum().backward()
    return seen, x.grad


@program
def formulas_that_cannot_be(side: Side) -> Any:
    def writes(x: Tensor) -> None:
        pass

    def nothing(x: Tensor) -> None:
        pass

    ops = [side.op(writes, "w", mutates_args={"x"}), side.op(nothing, "n")]
    return [side.error(lambda op=op: op.register_autograd(lambda ctx, g: g)) for op in ops]
