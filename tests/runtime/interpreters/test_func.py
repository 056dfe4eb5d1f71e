"""`opwright.func`: levels that nest, what they refuse, and what tensors of a level show."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.autograd import Function, forward_ad
from opwright.func import (
    debug_unwrap,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from opwright_core.state import active_modes

X = opwright.tensor([0.3, -1.2, 2.0], dtype=opwright.float64)
ONES = opwright.ones(3, dtype=opwright.float64)


def close(found: Any, expected: Any) -> bool:
    return found.shape == expected.shape and np.allclose(found.detach().numpy(), expected.detach().numpy())


def cubes(x: Any) -> Any:
    return (x * x * x).sum()


def test_derivatives_of_derivatives() -> None:
    assert close(grad(cubes)(X), 3 * X * X)
    assert close(grad(lambda x: grad(cubes)(x).sum())(X), 6 * X)
    assert close(jvp(grad(cubes), (X,), (ONES,))[1], 6 * X)
    assert close(grad(lambda x: jvp(cubes, (x,), (ONES,))[1])(X), 6 * X)
    assert close(jvp(lambda x: jvp(cubes, (x,), (ONES,))[1], (X,), (ONES,))[1], (6 * X).sum())
    for outer in (jacrev, jacfwd):
        for inner in (jacrev, jacfwd):
            assert close(outer(inner(cubes))(X), opwright.diag(6 * X))
    assert close(hessian(cubes)(X), opwright.diag(6 * X))


def test_linearize() -> None:
    output, product = linearize(lambda x, y: (x * y, x), X, 2 * X)
    assert close(output[0], 2 * X * X)
    found = product(ONES, ONES)
    assert close(found[0], 3 * X) and close(found[1], ONES)


def test_perturbations_are_not_confused() -> None:
    one, two = opwright.tensor(1.0), opwright.tensor(2.0)
    assert grad(lambda x: x * grad(lambda y: x + y)(two))(one).item() == 1
    assert jvp(lambda x: x * jvp(lambda y: x + y, (two,), (one,))[1], (one,), (one,))[1].item() == 1
    assert grad(lambda x: x * jvp(lambda y: x * y, (two,), (one,))[1])(two).item() == 4
    assert jvp(lambda x: grad(lambda y: x * y * y)(two) * x, (two,), (one,))[1].item() == 16


def test_dual_levels_nest() -> None:
    one = opwright.tensor(1.0)
    with forward_ad.dual_level() as outer:
        first = forward_ad.make_dual(opwright.tensor(3.0), one)
        with forward_ad.dual_level() as inner:
            assert (outer, inner) == (0, 1)
            second = forward_ad.make_dual(first, one)
            primal, tangent = forward_ad.unpack_dual(second**3)
            with pytest.raises(RuntimeError, match="innermost that this thread is in has the number 1"):
                forward_ad.unpack_dual(second, level=0)
        assert [each.item() for each in forward_ad.unpack_dual(primal)] == [27, 27]
        assert tangent is not None and [each.item() for each in forward_ad.unpack_dual(tangent)] == [27, 18]  # type: ignore[union-attr]
    assert active_modes() is None


def test_recording_around_a_transform_and_within() -> None:
    x = X.clone().requires_grad_()
    found = grad(cubes)(x)
    found.sum().backward()
    assert close(x.grad, 6 * X)
    with opwright.no_grad():
        assert close(grad(cubes)(x), 3 * X * X)
        assert not grad(cubes)(x).requires_grad

    def partly(x: Any) -> Any:
        with opwright.no_grad():
            scale = x * 2
        return (scale * x).sum()

    assert close(grad(partly)(X), 2 * X)
    assert close(grad(lambda x: (x * x.detach()).sum())(X), X)

    def within(x: Any) -> Any:
        (found,) = opwright.autograd.grad(cubes(x), x, create_graph=True)
        return found.sum()

    assert close(grad(within)(X), 6 * X)


def test_writes_to_what_the_function_made_are_recorded_and_to_others_refused() -> None:
    def writes(x: Any) -> Any:
        made = opwright.zeros(3, dtype=opwright.float64)
        made.copy_(x)
        made[1:].mul_(x[:2])
        return made.sum()

    assert close(grad(writes)(X), opwright.tensor([-0.2, 2.3, -1.2], dtype=opwright.float64))
    captured = opwright.zeros(3)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        grad(lambda x: captured.add_(x).sum())(opwright.ones(3))
    assert captured.tolist() == [0, 0, 0]


def test_values_of_a_derivative_can_be_read() -> None:
    seen = []

    def reads(x: Any) -> Any:
        seen.append((x.tolist(), float(x[0]), bool(x[0] > 0), x.numpy().sum(), repr(x)))
        return x.sum() if x[0] > 0 else -x.sum()

    assert close(grad(reads)(X), ONES)
    numbers, first, positive, total, text = seen[0]
    assert numbers == X.tolist() and first == 0.3 and positive and np.isclose(total, 1.1)
    assert (
        text
        == "GradTrackingTensor(lvl=1, value=\n    tensor([ 0.3000, -1.2000,  2.0000], dtype=torch.float64)\n)".replace(
            "torch.", text[text.index("dtype=") + 6 : text.index("float64")]
        )
    )


def test_samples_have_no_numbers() -> None:
    for read, said in (
        (lambda x: x.sum().item(), "calling .item"),
        (lambda x: bool(x.sum() > 0), "data-dependent control flow"),
        (lambda x: x.numpy(), "numpy"),
        (lambda x: x.tolist(), "tolist"),
        (lambda x: x.requires_grad_(), "requires_grad_"),
    ):
        with pytest.raises(RuntimeError, match=said):
            vmap(read)(opwright.ones(2, 3))
    shown: list[str] = []
    vmap(lambda x: (shown.append(repr(x)), x)[1])(opwright.ones(2, 3))
    assert shown[0].startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 1., 1.],")


def test_tensors_that_outlive_their_transform() -> None:
    kept: list[Any] = []
    grad(lambda x: (kept.append(x * 2), x.sum())[1])(X)
    assert close(kept[0] + 1, 2 * X + 1)  # what it stands for is known
    vmap(lambda x: (kept.append(x * 2), x)[1])(X)
    with pytest.raises(RuntimeError, match="after the transform has ended"):
        kept[1] + 1

    def hands_out(x: Any) -> Any:
        errors: list[BaseException] = []

        def use() -> None:
            try:
                x + 1
            except RuntimeError as error:
                errors.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert "is used where this transform is not on" in str(errors[0])
        return x.sum()

    grad(hands_out)(X)


def test_the_key_of_transforms_included_by_hand() -> None:
    with opwright.dispatch.include_keys("FrontMode"):
        assert (X + X).tolist() == [0.6, -2.4, 4.0]


def test_tensors_of_a_level_are_not_copied_by_pickle() -> None:
    def copies(x: Any) -> Any:
        for copied in (pickle.dumps, copy.deepcopy):
            with pytest.raises(RuntimeError, match="neither pickled nor copied"):
                copied(x.detach())
        return x.sum()

    grad(copies)(X)


def test_trees_of_arguments_and_auxiliary_results() -> None:
    def loss(params: Any, scale: Any) -> Any:
        return (params["w"] * scale).sum() + params["b"][0].sum(), {"kept": scale * 2}

    params = {"w": X, "b": (X * 2,)}
    (found, aux) = grad(loss, has_aux=True)(params, X)
    assert close(found["w"], X) and close(found["b"][0], ONES) and close(aux["kept"], 2 * X)
    both, (value, aux) = grad_and_value(loss, argnums=(0, 1), has_aux=True)(params, X)
    assert len(both) == 2 and close(both[1], X) and value.ndim == 0 and close(aux["kept"], 2 * X)
    output, pullback, aux = vjp(lambda x, y: ((x * y, x + y), y), X, ONES, has_aux=True)
    assert [close(*pair) for pair in zip(pullback((ONES, ONES)), (ONES + 1, X + 1), strict=True)] == [True, True]
    assert close(output[0], X) and close(aux, ONES)
    jacobian = jacrev(lambda tree: {"sum": tree["x"].sum(), "same": tree["x"]})({"x": X})
    assert close(jacobian["sum"]["x"], ONES) and close(jacobian["same"]["x"], opwright.eye(3, dtype=opwright.float64))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: grad(lambda x: x)(X), "scalar tensor"),
        (lambda: grad(lambda x: 3)(X), "return a Tensor, but it returned int"),
        (lambda: grad(cubes, argnums=1)(X), "only 1 positional"),
        (lambda: grad(cubes, argnums=(0, 0))(X), "unique"),
        (lambda: grad(cubes, argnums=())(X), "must be non-empty"),
        (lambda: grad(cubes, argnums=[0])(X), "argnums must be int or Tuple"),
        (lambda: grad(cubes)(opwright.arange(3)), "grad: a Tensor of int64 has no gradient"),
        (lambda: grad(cubes, has_aux=True)(X), "function f should be a tuple \\(output, aux\\)"),
        (lambda: jvp(cubes, X, X), "Expected primals to be a tuple"),
        (lambda: jvp(cubes, (X,), X), "Expected tangents to be a tuple"),
        (lambda: jvp(cubes, (), ()), "at least one Tensor"),
        (lambda: jvp(cubes, (X,), (X, X)), "same python structure"),
        (lambda: jvp(cubes, (X,), (opwright.ones(2),)), "a tangent has the shape of its tensor"),
        (lambda: jvp(lambda x: ONES, (X,), (X,), strict=True), "independent of the inputs"),
        (lambda: vjp(lambda x: 1, X), "return only tensors, got unsupported type <class 'int'>"),
        (lambda: vjp(lambda x: (), X), "vjp.*non-empty output"),
        (lambda: jvp(lambda x: None, (X,), (X,)), "jvp.*non-empty output"),
        (lambda: jvp(lambda x: [x, 1], (X,), (X,)), "return only tensors"),
        (lambda: jacfwd(lambda x: ())(X), "jvp.*non-empty output"),
        (lambda: jacrev(lambda x: [])(X), "vjp.*non-empty output"),
        (lambda: vjp(lambda x: (x, x), X)[1](X), "structure of cotangents"),
        (lambda: jacrev(lambda x: 1)(X), "return only tensors"),
        (lambda: jacfwd(cubes)(3), "only Tensors"),
    ],
)
def test_wrong_calls(call: Any, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        call()
    assert active_modes() is None


class Cube(Function):
    """Derivatives of its own tell where they are used."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, scale: float = 1.0) -> Any:
        return x * x * x * scale

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 7 * x * x, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, scale: Any) -> Any:
        (x,) = ctx.saved_tensors
        return tangent * 5 * x * x


class ByHand(Cube):
    """The same, with a rule for batches."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, scale: float) -> Any:
        assert info.batch_size == x.shape[in_dims[0]] and info.randomness == "error" and in_dims[1] is None
        return ByHand.apply(x, scale), in_dims[0]


@pytest.mark.parametrize("function", [Cube, ByHand])
def test_functions_under_transforms(function: Any) -> None:
    apply = function.apply
    rows = opwright.stack([X, 2 * X])
    assert close(grad(lambda x: apply(x).sum())(X), 7 * X * X)
    assert close(grad(lambda x: grad(lambda y: apply(y).sum())(x).sum())(X), 14 * X)
    assert close(jvp(apply, (X,), (ONES,))[1], 5 * X * X)
    assert close(vmap(apply)(rows), rows**3)
    assert close(vmap(apply, in_dims=1, out_dims=1)(rows), rows**3)
    assert close(vmap(vmap(apply))(rows), rows**3)
    assert close(vmap(grad(lambda x: apply(x).sum()))(rows), 7 * rows * rows)
    assert close(grad(lambda x: vmap(apply)(x).sum())(rows), 7 * rows * rows)
    assert close(vmap(lambda x: jvp(apply, (x,), (ONES,))[1])(rows), 5 * rows * rows)
    assert close(jvp(vmap(apply), (rows,), (rows,))[1], 5 * rows**3)
    recorded = rows.clone().requires_grad_()
    vmap(apply)(recorded).sum().backward()
    assert close(recorded.grad, 7 * rows * rows)


def test_gradients_of_what_is_the_same_for_all_samples() -> None:
    class Times(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    rows = opwright.stack([X, 2 * X])
    found = grad(lambda x, y: vmap(Times.apply, in_dims=(0, None))(x, y).sum(), argnums=(0, 1))(rows, X)
    assert close(found[0], opwright.stack([X, X])) and close(found[1], 3 * X)


def test_functions_that_say_not_how() -> None:
    class Old(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    class Without(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        grad(lambda x: Old.apply(x).sum())(X)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(Without.apply)(X)
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden"):
        vmap(type("Both", (ByHand,), {"generate_vmap_rule": True}).apply)(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: vmap(lambda y: y * 2)(x),
        lambda x: grad(cubes)(x),
        lambda x: vmap(grad(cubes))(opwright.stack([x, x])),
        lambda x: jvp(cubes, (x,), (x,)),
        lambda x: hessian(cubes)(x),
        lambda x: functionalize(lambda y: y.clone().mul_(2).sum())(x),
    ],
)
def test_nothing_waits_for_the_garbage_collector(call: Any) -> None:
    call(X)
    gc.collect()
    gc.disable()
    try:
        call(X)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("aux", [1, "text", None, [1, {"a": 2.0}]])
def test_what_comes_beside_the_output_may_be_no_tensor(aux: Any) -> None:
    def function(x: Any) -> Any:
        return (x * x).sum(), (aux, x + 1)

    for transform in (grad, jacrev, jacfwd):
        assert close(transform(function, has_aux=True)(X)[0], 2 * X)
        found = transform(function, has_aux=True)(X)[1]
        assert found[0] == aux and close(found[1], X + 1)
    assert vjp(function, X, has_aux=True)[2][0] == jvp(function, (X,), (X,), has_aux=True)[2][0] == aux


def test_debug_unwrap_gives_what_is_behind_a_tensor() -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.extend([debug_unwrap(x), debug_unwrap(x, recurse=False), debug_unwrap(ONES)])
        return x.sin().sum()

    x = opwright.ones(2, 3, dtype=opwright.float64)
    vmap(grad(function))(x)
    assert seen[0] is x and seen[2] is ONES
    assert debug_unwrap(seen[1]) is x and seen[1] is not x
